/* Handles the directives inpoint and outpoint of FFmpeg's lists of files, which select a part of a file. FFmpeg's
 * demuxer begins at the key frame before the inpoint and ends by decoding times, so it also gives pictures from outside
 * that part. */
#ifndef APP_SOURCE_LIST_CUTS_H
#define APP_SOURCE_LIST_CUTS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

/* One of the files that an FFmpeg list of files (demuxer concat) names. */
struct list_part {
  int64_t begin_us; /* time in the list at which the file begins, in microseconds; AV_NOPTS_VALUE until it is known */
  /* length that the list's directives give the file, in microseconds; AV_NOPTS_VALUE: they give none */
  int64_t length_us;
  /* begins: true if the file has an inpoint. ends: true if the file has an outpoint, and no duration that overrides
   * it. */
  bool begins, ends;
};

/* The files of a list. Zero-initialise to start; all zero for every input that is no list. */
struct list_cuts {
  bool any; /* true: a file of the list has an inpoint or an outpoint */
  struct list_part *parts;
  int count;
};

/* Adds an option to `wishes`, with which FFmpeg's concat demuxer will be opened. The option makes the demuxer attach to
 * each packet the inpoint and outpoint of the file that the packet is from. Returns an FFmpeg code. */
int list_cuts_ask(AVDictionary **wishes);
/* Reads the inpoint, outpoint and duration directives of the list of files from which `input` was opened. Returns 0,
 * or -1 if memory is short. */
int list_cuts_read(struct list_cuts *cuts, const AVFormatContext *input);
void list_cuts_free(struct list_cuts *cuts);
/* Marks a packet as discarded (decoded, but not seen or heard) if it is outside the part of its file that the list
 * uses. A file that is a single picture gets the duration stated in the list; without it, FFmpeg would show the list's
 * last picture only for a moment. The caller passes all packets, in the demuxer's order. */
void list_cuts_mark(struct list_cuts *cuts, const AVFormatContext *input, AVPacket *packet);

#endif
