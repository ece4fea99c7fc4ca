#include "app/sink/cadence.h"

#include <math.h>
#include <stdlib.h>

#include <libavutil/rational.h>

/* LARGEST: greatest numerator or denominator of the output's frame rate. */
enum { LARGEST = 1001000 };

struct cadence_sink {
  struct sink sink;
  struct cadence cadence;
  const atomic_bool *stop;
  struct frame last; /* the picture that was written last */
  bool any;
  int64_t at;  /* number of the output frame (one every 1/rate seconds) that was written last */
  int64_t end; /* number of the output frame from which on the picture `last` is no longer shown; 0: unknown */
};

void cadence_choose(struct cadence *cadence, double fps, const struct source_info *info) {
  AVRational rate = av_d2q(fps, LARGEST);
  *cadence = (struct cadence){.num = rate.num,
                              .den = rate.den,
                              .tick = source_tick(info),
                              .duration = info->fps > 0 ? 1 / info->fps : 0,
                              .units = (int)ceil(1000 / av_q2d(rate))};
}

/* Returns the number of the first output frame at or after pts, in units of the source's frame.pts. Output frame 0 has
 * the time of the source's first frame. A pts up to one unit late still counts as on time, because containers may round
 * times up; but not if a unit is a tenth of an output frame or more. */
static int64_t moment_at(const struct cadence *cadence, double pts) {
  double unit = cadence->tick * cadence->num / cadence->den;
  double moments = (pts - (double)cadence->first) * unit;
  return (int64_t)ceil(moments - (unit < 0.1 ? unit : 0) - 1e-6);
}

static void begin(struct cadence *cadence, const struct frame *frame) {
  if (!cadence->begun)
    cadence->first = frame->pts;
  cadence->begun = true;
}

/* Returns the time of output frame number `moment`, in units of 1 / (rate * cadence->units) seconds, where rate =
 * num / den is the output's frame rate. */
static int64_t time_of(const struct cadence *cadence, int64_t moment) {
  double first = (double)cadence->first * cadence->tick * cadence->num / cadence->den;
  return llrint(first * cadence->units) + moment * cadence->units;
}

bool cadence_shows(struct cadence *cadence, const struct frame *frame) {
  begin(cadence, frame);
  double lasts = frame->duration > 0 ? (double)frame->duration : cadence->duration / cadence->tick;
  return lasts <= 0 || moment_at(cadence, (double)frame->pts + lasts) > moment_at(cadence, (double)frame->pts);
}

static int write_last(struct cadence_sink *to, struct error *err) {
  to->last.pts = time_of(&to->cadence, to->at);
  to->last.duration = to->cadence.units;
  to->last.numbered = false;
  return sink_write(to->sink.inner, &to->last, err);
}

/* Writes the last picture again for each output frame that was not written yet and has a lower number than `moment`.
 * Returns 0, or -1 with err. */
static int repeat_until(struct cadence_sink *to, int64_t moment, struct error *err) {
  while (to->any && to->at + 1 < moment && !(to->stop && atomic_load(to->stop))) {
    to->at++;
    if (write_last(to, err))
      return -1;
  }
  return 0;
}

static int cadence_write(struct sink *sink, const struct frame *frame, struct error *err) {
  struct cadence_sink *to = (struct cadence_sink *)sink;
  begin(&to->cadence, frame);
  int64_t moment = moment_at(&to->cadence, (double)frame->pts);
  if (repeat_until(to, moment, err))
    return -1;
  /* the picture before was already written for this output frame, because its duration was too long */
  if (to->any && moment <= to->at)
    return 0;
  frame_release(&to->last);
  to->last = frame_hold(frame);
  to->at = moment;
  to->any = true;
  return write_last(to, err);
}

static void cadence_set_end(struct sink *sink, int64_t pts) {
  struct cadence_sink *to = (struct cadence_sink *)sink;
  to->end = moment_at(&to->cadence, (double)pts);
}

static int cadence_finish(struct sink *sink, bool whole, struct error *err) {
  struct cadence_sink *to = (struct cadence_sink *)sink;
  struct error ignored;
  int status = to->end ? repeat_until(to, to->end, err) : 0;
  if (!status && to->end > to->at)
    sink_set_end(to->sink.inner, time_of(&to->cadence, to->end));
  return sink_finish(to->sink.inner, whole && !status, status ? &ignored : err) || status ? -1 : 0;
}

static void cadence_close(struct sink *sink) {
  struct cadence_sink *to = (struct cadence_sink *)sink;
  frame_release(&to->last);
  sink_close(&to->sink.inner);
  free(to);
}

static const struct sink_impl impl = {
    .name = "cadence",
    .write = cadence_write,
    .finish = cadence_finish,
    .close = cadence_close,
    .set_end = cadence_set_end,
};

int cadence_open(struct sink **sink, const struct cadence *cadence, const atomic_bool *stop, struct error *err) {
  struct cadence_sink *to = calloc(1, sizeof *to);
  if (!to) {
    sink_close(sink);
    return error_set(err, STATUS_FAILED, "no memory for pictures at a constant rate");
  }
  *to = (struct cadence_sink){.sink = {&impl, *sink}, .cadence = *cadence, .stop = stop};
  *sink = &to->sink;
  return 0;
}
