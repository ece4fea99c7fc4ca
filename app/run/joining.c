#include "app/run/joining.h"

#include "app/run/setup.h"

int joining_run(const struct joining *joining, long *pictures, struct error *err) {
  const struct job_record *first = joining->kept->record, *last = joining->kept[joining->kept_count - 1].record;
  const struct job *job = &first->job;
  struct sink *sink = NULL;
  const struct sink_options options = {
      .format = PIXEL_YUV420P,
      .width = job->width,
      .height = job->height,
      .time_base_num = (int)job->tick.num,
      .time_base_den = (int)job->tick.den,
      .fps = job->rate.den ? (double)job->rate.num / (double)job->rate.den : 0,
      .quality = -1,
      .container = joining->container,
      .job = job,
      .part = joining->part,
      .is_shard = joining->is_shard,
      .replace = joining->replace,
      .kept = joining->kept,
      .kept_count = joining->kept_count,
      .left = joining->left,
      .joins = true,
      .copied = joining->copied,
      .opaque = joining->opaque,
      .sound = joining->sound,
      .no_sound = joining->no_sound,
      .sound_track = joining->sound_track,
      .sound_options = joining->source,
      .stop = &setup_stop,
      .log = joining->log,
  };
  *pictures = 0;
  if (sink_open(&sink, joining->output, &options, err))
    return -1;
  if (last->ended)
    sink_set_end(sink, last->end.time);
  int status = sink_finish(sink, last->ended && last->end.whole, err);
  *pictures = sink_pictures(sink);
  sink_close(&sink);
  return status;
}
