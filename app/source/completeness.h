/* Checks if everything that a container promises was read. Only firm promises count: an index, a number of frames or a
 * duration that the muxer wrote into the header, and the file's size. FFmpeg's estimates from a bit rate or from the
 * end of the file promise nothing. */
#ifndef APP_SOURCE_COMPLETENESS_H
#define APP_SOURCE_COMPLETENESS_H

#include <stdbool.h>

#include <libavformat/avformat.h>
#include <libavutil/frame.h>

#include "unet/base/error.h"

struct completeness {
  AVFormatContext *input; /* the input that has stream; neither is owned */
  const AVStream *stream;
  int64_t bytes;    /* size of the file at opening; 0: unknown */
  double promised;  /* time of the end in seconds from time 0; 0: unknown */
  bool whole_file;  /* promised is that of the longest stream, not of this one */
  long frames;      /* number in the header; 0: unknown */
  double end;       /* end of all packets so far, in seconds */
  double longest;   /* longest time between two pictures so far, in seconds */
  double last_time; /* time of the last picture, in seconds */
  int64_t last_dts; /* decoding time of the last packet of video; AV_NOPTS_VALUE before the first */
  int64_t last_pos; /* place of the last packet in the file; -1: unknown */
  bool cut;         /* the last packet of video is incomplete */
  /* Only codecs that make one picture of each packet, from the first key frame on. */
  bool one_each;
  int64_t first_pts; /* time of that key frame; AV_NOPTS_VALUE before it */
  long sent, given;  /* number of packets to the decoder, of pictures from it */
};

/* Begins to count. Called when input's streams are known. */
void completeness_begin(struct completeness *completeness, AVFormatContext *input, const AVStream *stream);
/* True if the promise is about all streams, so that their packets must be read, too. */
bool completeness_wants_all(const struct completeness *completeness);
/* Counts a packet of any stream that was read. */
void completeness_add(struct completeness *completeness, const AVPacket *packet);
/* Counts a picture that came from the decoder. */
void completeness_give(struct completeness *completeness, const AVFrame *frame);
/* Forgets which packets are in the decoder, after it was flushed. */
void completeness_restart(struct completeness *completeness);
/* Returns how many packets the decoder made no picture of: some drop pictures without an error. Called at the decoder's
 * end. */
long completeness_missing(const struct completeness *completeness);
/* Returns 0, or -1 with err, which names the promised number and the one that was read. Called at the end of the
 * input. */
int completeness_check(const struct completeness *completeness, const char *name, struct error *err);

#endif
