/* Writes picture files so that each is either complete or absent. FFmpeg's muxer of pictures ignores errors, so that a
 * full disk would leave the last picture cut off. Therefore each file is written under another name in the same folder,
 * and renamed once it is complete. */
#ifndef APP_SINK_WHOLE_FILES_H
#define APP_SINK_WHOLE_FILES_H

#include <libavformat/avformat.h>

struct whole_files;

/* Makes FFmpeg's muxer write each file of output under another name first; the caller must not use output->opaque.
 * Returns NULL if memory is short. All files of output must be closed before whole_files_close. */
struct whole_files *whole_files_open(AVFormatContext *output);
/* Returns the FFmpeg error code of the first picture that could not be written; 0: all were written, or files is
 * NULL. */
int whole_files_failure(const struct whole_files *files);
/* Frees the table of files; *files becomes NULL; does nothing if it is NULL. */
void whole_files_close(struct whole_files **files);

#endif
