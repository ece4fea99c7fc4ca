/* Places where the clock of an input's packets begins anew: recordings put one behind the other, a list of files, a
 * discontinuity of a stream. The video decides where such a place is and how much is added to the times behind it, so
 * that its pictures go on one step after the last one. Every reader of the same input finds the same, since nothing but
 * its packets is asked. */
#ifndef APP_SOURCE_JOINS_H
#define APP_SOURCE_JOINS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

enum { JOINS_KEPT = 16 };

/* A stretch of the input with one clock. The video's time base is the unit. */
struct join_part {
  int64_t shift;       /* is added to its times */
  int64_t first, last; /* earliest and latest time of its video so far, as they are in the input */
};

struct joins {
  AVRational base;                    /* of the video */
  bool watches;                       /* false: the container sees to its times itself */
  bool leaps;                         /* a jump forward may be a join, too */
  bool by_showing;                    /* the container has times of showing alone; else those of decoding tell */
  int64_t step;                       /* usual time between two pictures */
  int64_t delay;                      /* between decoding and showing the key frame that the newest part began with */
  int64_t next;                       /* expected time of the next packet; AV_NOPTS_VALUE before the first */
  bool doubts;                        /* the last packet lay far ahead */
  int newest;                         /* number of the newest part, from 0 */
  struct join_part parts[JOINS_KEPT]; /* the last ones, each at its number modulo JOINS_KEPT */
};

/* Begins with the streams known, and no packet read. */
void joins_begin(struct joins *joins, AVFormatContext *input, AVStream *video);
/* Begins again after a seek. */
void joins_restart(struct joins *joins);
/* Takes note of the next packet of video, which may begin a part. */
void joins_note(struct joins *joins, const AVPacket *packet);
/* Moves the packet's times by the shift of the newest part. */
void joins_shift(const struct joins *joins, AVPacket *packet);

/* The part of that number, which is one of the last JOINS_KEPT. */
static inline const struct join_part *joins_part(const struct joins *joins, int number) {
  return &joins->parts[number % JOINS_KEPT];
}

#endif
