/* Finds the places where the clock of an input's packets begins anew: recordings that were concatenated, a list of
 * files, a discontinuity of a stream. The video decides where these places are, and what to add to later times so that
 * its pictures continue one step after the last one. All readers of an input find the same places, because only packets
 * are looked at. */
#ifndef APP_SOURCE_JOINS_H
#define APP_SOURCE_JOINS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

enum { JOINS_KEPT = 16 };

/* A part of the input with one clock. Times are in the video's time base. */
struct join_part {
  int64_t shift;       /* to be added to its times */
  int64_t first, last; /* earliest and latest time of its video so far, as in the input */
};

struct joins {
  AVRational base; /* the video's time base */
  bool watches;    /* false: the container itself corrects its times */
  bool leaps;      /* a jump forward may also be a join */
  /* Packets are ordered by presentation time, because the container has no decoding times. */
  bool by_showing;
  int64_t step;                       /* usual time between two pictures */
  int64_t delay;                      /* from decoding to showing the key frame that began the newest part */
  int64_t next;                       /* expected time of the next packet; AV_NOPTS_VALUE before the first */
  bool doubts;                        /* the last packet was far ahead */
  int newest;                         /* number of the newest part, from 0 */
  struct join_part parts[JOINS_KEPT]; /* the last parts, each at its number modulo JOINS_KEPT */
};

/* Begins when the streams are known and no packet was read. */
void joins_begin(struct joins *joins, AVFormatContext *input, AVStream *video);
/* Begins again, after a seek. */
void joins_restart(struct joins *joins);
/* Notes the next packet of video, which may begin a part. */
void joins_note(struct joins *joins, const AVPacket *packet);
/* Adds the shift of the newest part to the packet's times. */
void joins_shift(const struct joins *joins, AVPacket *packet);

/* Returns the part of this number, which must be one of the last JOINS_KEPT. */
static inline const struct join_part *joins_part(const struct joins *joins, int number) {
  return &joins->parts[number % JOINS_KEPT];
}

#endif
