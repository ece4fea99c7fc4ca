/* Writes picture files that are complete or not there. FFmpeg's muxer of pictures ignores errors, so that a full disk
 * would leave the last picture cut off. So each file is written under another name in the same folder, and renamed once
 * it is complete. */
#ifndef APP_SINK_WHOLE_FILES_H
#define APP_SINK_WHOLE_FILES_H

#include <libavformat/avformat.h>

struct whole_files;

/* Makes output open its files in this way; output must not use its opaque pointer otherwise. Returns NULL if memory is
 * short. All files of output must be closed before whole_files_close. */
struct whole_files *whole_files_open(AVFormatContext *output);
/* Returns the FFmpeg error code of the first picture that could not be written; 0: all were. Accepts NULL. */
int whole_files_failure(const struct whole_files *files);
void whole_files_close(struct whole_files **files); /* stores NULL; accepts NULL */

#endif
