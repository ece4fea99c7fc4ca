/* Finds the joins of an input: the places where its packets' timestamps begin again. Joins come from concatenated
 * recordings, lists of files and discontinuities in streams. Packets of video decide where a join is, and what is added
 * to later timestamps so that the video continues one frame step after its last packet.
 *
 * The result depends only on the packets, so reading the input again, for pictures or for sound, finds the same
 * joins. */
#ifndef APP_SOURCE_JOINS_H
#define APP_SOURCE_JOINS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

enum { JOINS_KEPT = 16 };

/* A part of the input between two joins (places where timestamps begin again). Times are in the video's time base. */
struct join_part {
  int64_t shift; /* number that is added to this part's timestamps, so that they continue the part before */
  /* earliest and latest timestamp of the video in this part of the input so far, in the video's time base, as the file
   * has them (`shift` is not added) */
  int64_t first, last;
};

struct joins {
  AVRational base; /* the video's time base */
  /* true: joins (places where timestamps jump) are looked for; false: the container itself corrects its timestamps, or
   * the source is live */
  bool watches;
  bool leaps; /* true: the container's clock may be reset, so a jump forward may be a join, too */
  /* True: packets are ordered by presentation time, because the container has no decoding times. */
  bool by_showing;
  int64_t step; /* usual time between two pictures, in the video's time base */
  /* time from decoding to showing of the first key frame in the newest part of the input (after the last join), in the
   * video's time base */
  int64_t delay;
  int64_t next; /* expected time of the next packet, in the video's time base; AV_NOPTS_VALUE before the first one */
  /* true: the last packet's time was far later than expected (`next`). If the following packet's time is also far
   * later, this is a join; otherwise the timestamp was wrong. */
  bool doubts;
  int newest; /* number of the newest part of the input (after the last join), from 0 */
  /* the last JOINS_KEPT parts of the input (between joins), each at its number modulo JOINS_KEPT */
  struct join_part parts[JOINS_KEPT];
};

/* Initialises `joins`. Must be called when the streams of `input` are known and before a packet is read. */
void joins_begin(struct joins *joins, AVFormatContext *input, AVStream *video);
/* Forgets all joins (places where timestamps begin again) found so far, and returns to the state before the first
 * packet. Called after a seek. */
void joins_restart(struct joins *joins);
/* Tells `joins` the next packet of video, which may come after a join and begin a new part of the input. */
void joins_note(struct joins *joins, const AVPacket *packet);
/* Adds to the packet's times the number that makes the newest part of the input (after the last timestamp
 * discontinuity) continue the part before it. */
void joins_shift(const struct joins *joins, AVPacket *packet);

/* Returns the part of the input with this number: a part lies between two joins (places where timestamps begin again).
 * The number must be one of the last JOINS_KEPT. */
static inline const struct join_part *joins_part(const struct joins *joins, int number) {
  return &joins->parts[number % JOINS_KEPT];
}

#endif
