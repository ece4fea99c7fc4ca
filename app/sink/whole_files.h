/* The files that FFmpeg's writer of pictures makes. It takes no note of what fails: a full disk would leave the last
 * picture cut off. So each is written under another name beside its place, and gets its own name once it is whole. */
#ifndef APP_SINK_WHOLE_FILES_H
#define APP_SINK_WHOLE_FILES_H

#include <libavformat/avformat.h>

struct whole_files;

/* From now on output, which has no opaque of its own, opens its files so. Returns NULL without memory. The output's are
 * all closed before the caller closes this. */
struct whole_files *whole_files_open(AVFormatContext *output);
/* FFmpeg's code of what the first picture that could not be written failed with; 0: all are whole. Takes NULL. */
int whole_files_failure(const struct whole_files *files);
void whole_files_close(struct whole_files **files); /* stores NULL; takes NULL */

#endif
