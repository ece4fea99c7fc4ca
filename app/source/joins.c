#include "app/source/joins.h"

#include <math.h>

#include <libavcodec/packet.h>
#include <libavutil/avstring.h>

/* In containers whose clocks may be reset, a step forward of this many seconds is a join (a place where timestamps
 * begin again). FFmpeg uses the same limit. */
static const double leap_seconds = 10;
/* A step back in time at a key frame is always a join (a place where timestamps begin again), because each recording
 * begins with a key frame. At other packets it is one only from this length on, because pictures may be decoded in
 * another order than shown. back_seconds_reset: the same for containers whose clocks may be reset. */
static const double back_seconds = 1, back_seconds_reset = 0.1;
/* A timestamp may jump because of a join (where timestamps restart) or because it is wrong. It counts as wrong if the
 * next packet's timestamp is less than this many seconds after the last one before the jump. */
static const double wrong_seconds = 1;

static int64_t ticks(const struct joins *joins, double seconds) {
  return llrint(seconds / av_q2d(joins->base));
}

static struct join_part *newest(struct joins *joins) {
  return &joins->parts[joins->newest % JOINS_KEPT];
}

static int64_t usual_step(AVFormatContext *input, AVStream *video) {
  AVRational rate = av_guess_frame_rate(input, video, NULL);
  int64_t step = rate.num > 0 && rate.den > 0 ? llrint(1 / (av_q2d(rate) * av_q2d(video->time_base))) : 1;
  return step > 0 ? step : 1;
}

void joins_restart(struct joins *joins) {
  joins->next = AV_NOPTS_VALUE;
  joins->delay = 0;
  joins->doubts = false;
  joins->newest = 0;
  joins->parts[0] = (struct join_part){0, AV_NOPTS_VALUE, AV_NOPTS_VALUE};
}

void joins_begin(struct joins *joins, AVFormatContext *input, AVStream *video) {
  *joins = (struct joins){
      .base = video->time_base,
      /* Joins (places where timestamps begin again) are not looked for in MP4 and MOV, whose edit lists tell when each
       * picture is shown. */
      .watches = !av_match_name("mp4", input->iformat->name),
      .leaps = input->iformat->flags & AVFMT_TS_DISCONT,
      .step = usual_step(input, video),
  };
  joins_restart(joins);
}

/* Returns the time of a packet by which jumps are recognised: the decoding time or, if the container has none, the
 * presentation time; AV_NOPTS_VALUE: the packet has no time. */
static int64_t time_of(const struct joins *joins, const AVPacket *packet) {
  return joins->by_showing ? packet->pts : packet->dts;
}

static bool is_join(const struct joins *joins, const AVPacket *packet) {
  int64_t time = time_of(joins, packet), jump = time - joins->next;
  int64_t back = ticks(joins, joins->leaps ? back_seconds_reset : back_seconds);
  if (packet->flags & AV_PKT_FLAG_KEY && time < joins_part(joins, joins->newest)->last)
    return true;
  return jump < -back || (joins->leaps && jump > ticks(joins, leap_seconds));
}

/* True if the newest part of the input (after the last join) was begun by a single packet with a wrong timestamp, and
 * this packet continues the part before it. */
static bool undoes(const struct joins *joins, const AVPacket *packet) {
  if (!joins->newest)
    return false;
  const struct join_part *wrong = joins_part(joins, joins->newest), *before = joins_part(joins, joins->newest - 1);
  int64_t time = time_of(joins, packet), since = time - before->last;
  bool returns = wrong->first < before->last ? time > joins->next : time < joins->next;
  return returns && wrong->last == wrong->first && since > 0 && since < ticks(joins, wrong_seconds);
}

static int64_t reorder_delay(const struct joins *joins, const AVPacket *packet) {
  return joins->by_showing || packet->pts == AV_NOPTS_VALUE ? 0 : packet->pts - packet->dts;
}

static void begin_part(struct joins *joins, const AVPacket *packet) {
  bool undone = undoes(joins, packet);
  int64_t time = time_of(joins, packet);
  int64_t delay = packet->flags & AV_PKT_FLAG_KEY ? reorder_delay(joins, packet) : joins->delay;
  int64_t shift = newest(joins)->shift + joins->next - time + joins->delay - delay;
  if (undone)
    shift = joins_part(joins, joins->newest - 1)->shift;
  else
    joins->delay = delay;
  joins->next = time;
  joins->newest++;
  *newest(joins) = (struct join_part){shift, time, time};
}

/* Begins the first part of the input, up to the first join. If the first packet has no decoding time, the container
 * stores none, and later ones are FFmpeg's guesses; then presentation times are compared. */
static void begin_first(struct joins *joins, const AVPacket *packet) {
  joins->by_showing = packet->dts == AV_NOPTS_VALUE;
  joins->delay = reorder_delay(joins, packet);
  newest(joins)->first = newest(joins)->last = joins->next = time_of(joins, packet);
}

/* Adds a packet to the newest part of the input (after the last join). A time that is far ahead is accepted only if the
 * next packet's time is also far ahead; otherwise it was wrong. */
static void go_on(struct joins *joins, const AVPacket *packet) {
  int64_t time = time_of(joins, packet);
  bool doubts = time > joins->next + ticks(joins, wrong_seconds) && !joins->doubts;
  joins->doubts = doubts;
  if (time < newest(joins)->last || doubts)
    return;
  newest(joins)->last = time;
  joins->next = time + (packet->duration > 0 ? packet->duration : joins->step);
}

void joins_note(struct joins *joins, const AVPacket *packet) {
  bool begins = joins->next == AV_NOPTS_VALUE;
  if (!joins->watches || packet->flags & AV_PKT_FLAG_DISCARD)
    return;
  if ((begins ? packet->pts : time_of(joins, packet)) == AV_NOPTS_VALUE)
    return;
  if (begins)
    begin_first(joins, packet);
  else if (is_join(joins, packet) || undoes(joins, packet))
    begin_part(joins, packet);
  go_on(joins, packet);
}

void joins_shift(const struct joins *joins, AVPacket *packet) {
  int64_t shift = joins_part(joins, joins->newest)->shift;
  packet->pts += packet->pts != AV_NOPTS_VALUE ? shift : 0;
  packet->dts += packet->dts != AV_NOPTS_VALUE ? shift : 0;
}
