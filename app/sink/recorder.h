/* Watches a sink's encoder to find where its stream can be cut into segments. A segment begins with a key frame before
 * which the encoder has given out all earlier pictures. The encoder itself is not interrupted there, so segments cost
 * nothing; a resumed render begins there with a new encoder. Writes pictures and segments into a manifest. One thread
 * at a time uses a recorder. */
#ifndef APP_SINK_RECORDER_H
#define APP_SINK_RECORDER_H

#include <libavcodec/avcodec.h>

#include "app/job/manifest.h"

/* Zero-initialise to start. Pictures are numbered from 0 on, in the order in which they are sent and shown. */
struct recorder {
  /* the manifest in which segments (pictures that can be decoded without the others) are listed; NULL: none is
   * written */
  struct manifest *manifest;
  bool segments;  /* true: the manifest also lists segments (decodable parts); false: pictures only */
  int64_t *times; /* times of the pictures from number `first` to `sent` - 1, in ticks of the encoder */
  size_t capacity;
  int64_t first, sent;
  int64_t out;    /* number of packets that the encoder gave out */
  int64_t latest; /* latest time of the packets that the encoder gave out, in ticks of the encoder */
  int64_t closed; /* number of pictures whose packets are complete: those before the last key frame, at the end all */
  int64_t told;   /* number of pictures in the segments (parts that can be decoded alone) that the manifest lists */
  /* Reordering delay: number of pictures between decoding and showing. Each packet's decoding time becomes the time of
   * the picture `delay` places earlier. The encoder's own decoding times are not used, because they do not rise where a
   * second encoder continues. -1: they are used. */
  int delay;
  int64_t step; /* usual time between two pictures, in ticks of the encoder */
};

/* Records that a picture was sent to the encoder. source: its time since the clip's beginning, in units of frame.pts;
 * time: its time in ticks of the encoder. Returns 0, or -1 with err. */
int recorder_send(struct recorder *recorder, const struct frame *frame, int64_t source, int64_t time,
                  struct error *err);
/* Records a picture that is not encoded but copied, with its packet, from the unfinished file of an earlier render.
 * picture: the picture's entry in that file's manifest. Returns 0, or -1 with err. */
int recorder_resend(struct recorder *recorder, const struct job_picture *picture, struct error *err);
/* Records a packet that the encoder gave out, in decoding order, and sets the packet's decoding time unless
 * recorder->delay is -1. */
void recorder_receive(struct recorder *recorder, const AVCodecParameters *codec, AVPacket *packet);
/* Records that all packets before the newest one are in the file. Then lists in the manifest the segments (pictures
 * that can be decoded without the others) that are complete now. whole: the newest packet is in the file as well, and
 * no more packets will come. Returns 0, or -1 with err. */
int recorder_flush(struct recorder *recorder, bool whole, struct error *err);
/* Closes the manifest and frees all that the recorder holds. */
void recorder_close(struct recorder *recorder);

#endif
