/* Lets a looping input start again after its end; a round is one pass through it. If the first packet allows it, the
 * decoder gets it directly after the last one, as if the file went on. It then keeps its threads, its hardware and the
 * pictures that it holds. Otherwise the decoder first returns all pictures and is flushed.
 *
 * Times in the decoder rise from round to round, so that rounds can be told apart; frames get the file's own times
 * back. */
#include "app/source/ffmpeg_source.h"

#include <math.h>

#include "app/source/closed_start.h"

/* Times whose absolute value is greater than this count as invalid, so that sums of times cannot overflow an
 * int64_t. */
static const int64_t time_most = INT64_MAX / 4;

static bool may_begin(const struct ffmpeg_source *from) {
  return from->options.loop && !from->arrivals && from->serial != from->rewound_at && !from->gave_up &&
         !from->read_error && !source_interrupted(&from->source);
}

/* Sets the state of reading for the next frame, which is the first of a round (a pass through the looping input). */
static void begin_round(struct ffmpeg_source *from) {
  from->rewound_at = from->serial;
  from->returns++;
  from->loop_shift = from->clock.last + from->clock.step;
}

/* True if the packets that are read belong to the next round (pass through the looping input). */

static bool reads_next(const struct rounds *rounds) {
  return rounds->sought || rounds->held || rounds->ahead;
}

int64_t ffmpeg_loop_reading_shift(const struct ffmpeg_source *from) {
  return reads_next(&from->rounds) ? from->rounds.next_shift : from->loop_shift;
}

/* Returns the time at which the current round (a pass through the looping input) will end, before its last frames have
 * come. */
static int64_t foresee_end(const struct ffmpeg_source *from) {
  int64_t end = from->rounds.last - from->origin + from->clock.step;
  double part = from->options.duration / av_q2d(from->stream->time_base);
  return from->loop_shift + (part > 0 && part < (double)end ? llrint(part) : end);
}

/* True if the packets' times tell to which round (a pass through the looping input) a packet belongs. */
static bool is_timed(const struct ffmpeg_source *from) {
  const struct rounds *rounds = &from->rounds;
  return !rounds->timeless && rounds->lowest <= rounds->last && rounds->end < time_most && !from->clock.shift;
}

bool ffmpeg_loop_go_on(struct ffmpeg_source *from) {
  struct rounds *rounds = &from->rounds;
  if (!may_begin(from) || reads_next(rounds) || from->draining || !is_timed(from))
    return false;
  rounds->sought = seek_to_start(from, &rounds->unsure) >= 0;
  rounds->next_shift = foresee_end(from);
  return rounds->sought;
}

bool ffmpeg_loop_cut_off(struct ffmpeg_source *from) {
  if (!may_begin(from) || (!reads_next(&from->rounds) && !ffmpeg_loop_go_on(from)))
    return false;
  from->rounds.next_shift = from->clock.last + from->clock.step;
  return true;
}

static bool is_in_range(int64_t time) {
  return time > -time_most && time < time_most;
}

static bool has_times(const AVPacket *packet) {
  return packet->pts != AV_NOPTS_VALUE && is_in_range(packet->pts) &&
         (packet->dts == AV_NOPTS_VALUE || is_in_range(packet->dts));
}

static int64_t earlier_time(const AVPacket *packet) {
  return packet->dts != AV_NOPTS_VALUE && packet->dts < packet->pts ? packet->dts : packet->pts;
}

static int64_t later_time(const AVPacket *packet) {
  return packet->dts != AV_NOPTS_VALUE && packet->dts > packet->pts ? packet->dts : packet->pts;
}

static void note_times(struct rounds *rounds, const AVPacket *packet) {
  if (earlier_time(packet) < rounds->lowest)
    rounds->lowest = earlier_time(packet);
  if (later_time(packet) + rounds->sent_shift >= rounds->end)
    rounds->end = later_time(packet) + rounds->sent_shift + 1;
  if (packet->pts > rounds->last && !(packet->flags & AV_PKT_FLAG_DISCARD))
    rounds->last = packet->pts;
}

/* Called with the first packet of a new round (pass through the looping input), if the decoder is not flushed between
 * the rounds. Sets sent_shift, which is added to packets' times, so that this round's times follow those of the round
 * before. */
static void begin_sending(struct rounds *rounds, const AVPacket *packet) {
  int64_t first = earlier_time(packet);
  rounds->sought = false;
  rounds->ahead = true;
  rounds->begin = rounds->end;
  rounds->sent_shift = rounds->begin - (first < rounds->lowest ? first : rounds->lowest);
}

bool ffmpeg_loop_take_packet(struct ffmpeg_source *from, AVPacket *packet) {
  struct rounds *rounds = &from->rounds;
  bool timed = has_times(packet);
  if (rounds->sought && (rounds->unsure || !timed || !closed_start_is(from->stream->codecpar, packet))) {
    rounds->sought = false;
    rounds->held = true;
    return false;
  }
  if (rounds->sought)
    begin_sending(rounds, packet);
  rounds->timeless |= !timed;
  if (!timed)
    return true;
  note_times(rounds, packet);
  packet->pts += rounds->sent_shift;
  packet->dts += packet->dts != AV_NOPTS_VALUE ? rounds->sent_shift : 0;
  return true;
}

void ffmpeg_loop_flush(struct ffmpeg_source *from) {
  seek_landed(from, from->rounds.unsure);
  begin_round(from);
}

bool ffmpeg_loop_again(struct ffmpeg_source *from) {
  if (!may_begin(from))
    return false;
  if (seek_to_start(from, &from->rounds.unsure) < 0) {
    log_line(from->options.log, LOG_WARNING, "%s: this input cannot be started again, so it ends here", from->spec);
    return false;
  }
  ffmpeg_loop_flush(from);
  return true;
}

/* --- frames from the decoder: the numbers that were added to their packets' times are subtracted again --- */

void ffmpeg_loop_take_frame(struct ffmpeg_source *from, AVFrame *frame) {
  struct rounds *rounds = &from->rounds;
  int64_t time = frame->pts != AV_NOPTS_VALUE ? frame->pts : frame->best_effort_timestamp;
  if (rounds->ahead && time != AV_NOPTS_VALUE && time >= rounds->begin) {
    begin_round(from);
    rounds->given_shift = rounds->sent_shift;
    rounds->ahead = false;
  }
  frame->pts -= frame->pts != AV_NOPTS_VALUE ? rounds->given_shift : 0;
  frame->best_effort_timestamp -= frame->best_effort_timestamp != AV_NOPTS_VALUE ? rounds->given_shift : 0;
}
