/* Finds the joins of an input: the places where the timestamps of its packets begin anew, because recordings were
 * concatenated, a list of files is read, or a stream has a discontinuity. The packets of video decide where a join is,
 * and what to add to later timestamps so that the video continues one frame step after its last packet. Whoever reads
 * the same input, for pictures or for sound, finds the same joins, because they depend on the packets alone. */
#ifndef APP_SOURCE_JOINS_H
#define APP_SOURCE_JOINS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

enum { JOINS_KEPT = 16 };

/* A part of the input between two joins. Times are in the video's time base. */
struct join_part {
  int64_t shift;       /* number that is added to the timestamps of this part of the input */
  int64_t first, last; /* earliest and latest timestamp of its video read so far, without the shift */
};

struct joins {
  AVRational base; /* the video's time base */
  bool watches; /* true: joins are looked for; false: none is, because the container itself corrects its timestamps */
  bool leaps;   /* a jump forward may also be a join */
  /* Packets are ordered by presentation time, because the container has no decoding times. */
  bool by_showing;
  int64_t step;  /* usual time between two pictures */
  int64_t delay; /* time from decoding to showing the key frame with which the newest part of the input began */
  int64_t next;  /* expected time of the next packet; AV_NOPTS_VALUE before the first */
  /* the last packet's time was far ahead of `next`; the next packet shows if that is a join */
  bool doubts;
  int newest;                         /* number of the newest part of the input, from 0 */
  struct join_part parts[JOINS_KEPT]; /* the last parts of the input, each at its number modulo JOINS_KEPT */
};

/* Sets joins up. Called when input's streams are known and before a packet is read. */
void joins_begin(struct joins *joins, AVFormatContext *input, AVStream *video);
/* Forgets all parts of the input. Called after a seek. */
void joins_restart(struct joins *joins);
/* Looks at the next packet of video, with which a new part of the input may begin. */
void joins_note(struct joins *joins, const AVPacket *packet);
/* Adds to the packet's times the shift of the newest part of the input. */
void joins_shift(const struct joins *joins, AVPacket *packet);

/* Returns the part of the input with this number, which must be one of the last JOINS_KEPT. */
static inline const struct join_part *joins_part(const struct joins *joins, int number) {
  return &joins->parts[number % JOINS_KEPT];
}

#endif
