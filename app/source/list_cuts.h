/* Handles the inpoint and outpoint directives of FFmpeg's lists of files. FFmpeg's demuxer begins each file at the key
 * frame before the inpoint and ends it by decoding times, so that pictures before and after the part come with it. */
#ifndef APP_SOURCE_LIST_CUTS_H
#define APP_SOURCE_LIST_CUTS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

/* Directives in the list. Both are false for any other input. */
struct list_cuts {
  bool begins, ends;
};

/* Asks the demuxer of a list, before it is opened, to attach the part's times to each packet. Returns an FFmpeg
 * code. */
int list_cuts_ask(AVDictionary **wishes);
/* Returns the directives of the list from which input was opened. */
struct list_cuts list_cuts_of(const AVFormatContext *input);
/* Marks a packet outside its part as discarded: it is decoded, but not seen or heard. */
void list_cuts_mark(const struct list_cuts *cuts, const AVFormatContext *input, AVPacket *packet);

#endif
