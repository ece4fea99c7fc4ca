/* Checks if as much of a file was read as its container says it holds. What counts is an index, a number of frames or a
 * duration that the muxer wrote into the header, and the file's size. FFmpeg's own estimates, from a bit rate or from
 * the end of the file, do not count. */
#ifndef APP_SOURCE_COMPLETENESS_H
#define APP_SOURCE_COMPLETENESS_H

#include <stdbool.h>

#include <libavformat/avformat.h>
#include <libavutil/frame.h>

#include "unet/base/error.h"

struct completeness {
  AVFormatContext *input; /* input: the file. stream: the video in it whose packets are counted. Neither is owned. */
  const AVStream *stream;
  int64_t bytes;    /* size of the file at opening; 0: unknown */
  double promised;  /* time of the end that the header states, in seconds from time 0; 0: unknown */
  bool whole_file;  /* promised is the end of the file's longest stream, which need not be the video */
  long frames;      /* number of video frames that the header states; 0: unknown */
  double end;       /* latest end of a packet read so far, in seconds */
  double longest;   /* longest time between two pictures so far, in seconds */
  double last_time; /* time of the last picture, in seconds */
  int64_t last_dts; /* decoding time of the last packet of video; AV_NOPTS_VALUE before the first */
  int64_t last_pos; /* byte offset of the last packet in the file; -1: unknown */
  bool cut;         /* the last packet of video is incomplete */
  /* The codec makes one picture of each packet. Then packets and pictures are counted from the first key frame on. */
  bool one_each;
  int64_t first_pts; /* time of the first key frame; AV_NOPTS_VALUE before it */
  long sent, given;  /* numbers of packets sent to the decoder, and of pictures that it gave */
};

/* Begins to count. Called when input's streams are known. */
void completeness_begin(struct completeness *completeness, AVFormatContext *input, const AVStream *stream);
/* True if the stated end may be that of another stream (whole_file), so that the packets of all streams must be
 * read. */
bool completeness_wants_all(const struct completeness *completeness);
/* Counts a packet of any stream that was read. */
void completeness_add(struct completeness *completeness, const AVPacket *packet);
/* Counts a picture that came from the decoder. */
void completeness_give(struct completeness *completeness, const AVFrame *frame);
/* Stops waiting for the pictures of packets that were in the decoder. Called after the decoder was flushed. */
void completeness_restart(struct completeness *completeness);
/* Returns of how many packets the decoder made no picture, as some decoders drop pictures without an error; 0 also if
 * the codec's packets and pictures need not be equal in number. Called after the decoder has given its last picture. */
long completeness_missing(const struct completeness *completeness);
/* Returns 0, or -1 with err, which names the promised number and the one that was read. Called at the end of the
 * input. */
int completeness_check(const struct completeness *completeness, const char *name, struct error *err);

#endif
