/* The inpoint and outpoint directives of FFmpeg's lists of files. Its reader begins each file at the key frame before
 * the inpoint, and ends it by the times of decoding: pictures before the part and behind it come with the part. */
#ifndef APP_SOURCE_LIST_CUTS_H
#define APP_SOURCE_LIST_CUTS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

/* Directives that the list has; false for every other input. */
struct list_cuts {
  bool begins, ends;
};

/* Asks the reader of a list that is about to be opened to say of each packet which part it is of. */
int list_cuts_ask(AVDictionary **wishes);
/* Looks at the list that input has been opened from. */
struct list_cuts list_cuts_of(const AVFormatContext *input);
/* Marks a packet that lies outside its part as discarded: it is decoded, and neither seen nor heard. */
void list_cuts_mark(const struct list_cuts *cuts, const AVFormatContext *input, AVPacket *packet);

#endif
