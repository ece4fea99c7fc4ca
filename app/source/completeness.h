/* Checks if a file was read completely, by what its muxer stored in it: an index, a number of frames or a duration; and
 * by the file's size. FFmpeg's estimates, from a bit rate or the end of the file, are not used. */
#ifndef APP_SOURCE_COMPLETENESS_H
#define APP_SOURCE_COMPLETENESS_H

#include <stdbool.h>

#include <libavformat/avformat.h>
#include <libavutil/frame.h>

#include "unet/base/error.h"

struct completeness {
  AVFormatContext *input; /* input: the file. stream: the video in it whose packets are counted. Neither is owned. */
  const AVStream *stream;
  int64_t bytes;    /* size of the file in bytes when it was opened; 0: unknown */
  double promised;  /* time of the end that the header states, in seconds from time 0; 0: unknown */
  bool whole_file;  /* true: `promised`, the end that the header states, is the end of the file's longest stream, which
                     * need not be the video */
  long frames;      /* number of video frames that the header states; 0: unknown */
  double end;       /* latest end of a packet read so far, in seconds */
  double longest;   /* longest time between two consecutive packets of video so far, in seconds */
  double last_time; /* time of the last packet of video, in seconds */
  /* highest decoding time of the packets of video so far, in the stream's time base; AV_NOPTS_VALUE before the first */
  int64_t last_dts;
  int64_t last_pos; /* byte offset of the last packet in the file; -1: unknown */
  bool cut;         /* true: the last packet of video is incomplete */
  /* True: the codec makes one picture of each packet. Then packets and pictures are counted, from the first key frame
   * on. */
  bool one_each;
  int64_t first_pts; /* time of the first key frame, in the stream's time base; AV_NOPTS_VALUE until one has come */
  long sent, given;  /* sent: number of packets sent to the decoder; given: number of pictures that the decoder gave */
};

/* Starts to count packets and pictures. Must be called when the streams of `input` are known. */
void completeness_begin(struct completeness *completeness, AVFormatContext *input, const AVStream *stream);
/* True if the header's duration is that of the whole file (whole_file), which may end with the sound instead of the
 * video. Then the packets of all streams must be read and counted to check that the file is complete. */
bool completeness_wants_all(const struct completeness *completeness);
/* Counts a packet of any stream that was read. */
void completeness_add(struct completeness *completeness, const AVPacket *packet);
/* Counts a picture that came from the decoder. */
void completeness_give(struct completeness *completeness, const AVFrame *frame);
/* Forgets packets that were in the decoder and whose pictures will not come. Must be called after the decoder was
 * flushed. */
void completeness_restart(struct completeness *completeness);
/* Returns the number of packets that gave no picture, because some decoders drop pictures without an error. Returns 0
 * for codecs in which packets and pictures may differ in number. Call it only after the decoder's last picture. */
long completeness_missing(const struct completeness *completeness);
/* Checks that the file was read completely. Three things must hold: all that the file's header states was read, the
 * file has not become shorter, and the last packet of video is complete. name: name of the input in messages. Returns
 * 0, or -1 with err, which says what is missing. Must be called at the end of the input. */
int completeness_check(const struct completeness *completeness, const char *name, struct error *err);

#endif
