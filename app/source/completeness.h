/* Whether all came that a container promised. Only firm promises count: an index, a number of frames or a length that
 * the muxer wrote into the header, the file's size. What FFmpeg estimates from a bit rate or found by reading the end
 * of the same file promises nothing. */
#ifndef APP_SOURCE_COMPLETENESS_H
#define APP_SOURCE_COMPLETENESS_H

#include <stdbool.h>

#include <libavformat/avformat.h>
#include <libavutil/frame.h>

#include "unet/base/error.h"

struct completeness {
  AVFormatContext *input; /* whose video is `stream`; neither belongs to this */
  const AVStream *stream;
  int64_t bytes;    /* of the file at opening; 0: unknown */
  double promised;  /* seconds from time 0 to the end; 0: unknown */
  bool whole_file;  /* promised is of the longest stream, not of this one */
  long frames;      /* that the header names; 0: unknown */
  double end;       /* of all packets so far, in seconds */
  double longest;   /* between two pictures so far, in seconds */
  double last_time; /* of a picture in seconds */
  int64_t last_dts; /* of the packets of video; AV_NOPTS_VALUE before the first */
  int64_t last_pos; /* where in the file the last packet was; -1: unknown */
  bool cut;         /* the last packet of video is not all there */
  /* Of codecs that make one picture of each packet, from the first key frame on */
  bool one_each;
  int64_t first_pts; /* of that key frame; AV_NOPTS_VALUE before it */
  long sent, given;  /* packets to the decoder, pictures out of it */
};

/* After the streams were found. */
void completeness_begin(struct completeness *completeness, AVFormatContext *input, const AVStream *stream);
/* Whether the promise is about all streams, so that their packets are to be read, too. */
bool completeness_wants_all(const struct completeness *completeness);
void completeness_add(struct completeness *completeness, const AVPacket *packet);
/* A picture that came out of the decoder. */
void completeness_give(struct completeness *completeness, const AVFrame *frame);
/* After the decoder was told to forget what it holds. */
void completeness_restart(struct completeness *completeness);
/* At the end of the decoder: returns how many of completeness->sent it kept for itself. Some drop a picture without an
 * error. */
long completeness_missing(const struct completeness *completeness);
/* At the end of the input: 0, or -1 with a line that has both numbers. */
int completeness_check(const struct completeness *completeness, const char *name, struct error *err);

#endif
