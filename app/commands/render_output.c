/* Handles the output of a render: checks that it can be written, finds out which of its pictures exist already, opens
 * the sink, and prints the line at the end. */
#include <stdio.h>
#include <string.h>

#include "app/commands/render_impl.h"
#include "app/job/mark.h"
#include "app/platform/app_platform.h"
#include "app/run/job_facts.h"
#include "app/run/limit.h"
#include "app/run/masking.h"
#include "app/run/setup.h"
#include "app/sink/sink.h"
#include "app/source/picture_files.h"
#include "app/source/protocols.h"

long render_frames(const struct render *render) {
  if (render->cut.is_shard || !render->options->frames)
    return 0;
  return render->options->frames - (long)render->resuming.pictures;
}

double render_frames_in_out(const struct render *render, double fps) {
  const struct cadence *cadence = &render->cadence;
  double paced = cadence->num ? (double)cadence->num / cadence->den : fps;
  return fps > 0 ? sink_rate(render->output, render->container, paced) / fps : 1;
}

/* Returns true if OUT gets the input's alpha. OUT gets none with text to image, whose pictures do not match the frames,
 * nor with --mask alpha, where alpha marks the region to repaint. */
bool render_keeps_alpha(const struct options *options) {
  return !options->values.text_to_image && !(options->mask && !strcmp(options->mask, MASKING_ALPHA)) && !options->fps &&
         !options->beside &&
         sink_keeps_alpha(options->output, options->output_format, options->codec, options->pixel_format);
}

/* With --skip-existing, finds out whether the output, or pictures of its sequence, exist already. Returns 0, or -1 with
 * err. */
static int find_existing(struct render *render, struct error *err) {
  const struct options *options = render->options;
  if (!options->skip_existing)
    return 0;
  if (existing_check(render->output, render->container, err))
    return -1;
  if (existing_is_sequence(render->output, render->container)) {
    render->existing = (struct existing){
        .pattern = render->output, .replaces = options->overwrite, .stop = &setup_stop, .log = render->log};
    return 0;
  }
  int found = existing_file(render->output, options, render->log, err);
  render->is_there = found > 0;
  return found < 0 ? -1 : 0;
}

/* Fails if only a part of an input is rendered to picture files (--shard) and the input's frames have no numbers: the
 * files of each part would be numbered from 1. */
static int check_numbers(const struct render *render, struct error *err) {
  struct pictures *pictures;
  int number;
  if (!render->cut.is_shard || !existing_is_sequence(render->output, render->container))
    return 0;
  if (source_pictures_open(&pictures, render->options->input, &render->source_options, err))
    return -1;
  bool numbered = pictures && pictures_number(pictures, 0, &number);
  source_pictures_close(&pictures);
  return numbered ? 0
                  : error_set(err, STATUS_USAGE,
                              "--shard: IN's frames have no numbers, so that pictures of all parts would get the same "
                              "names; name a file, such as .mkv");
}

/* True if the output is one of the shards that `join` puts together, which are files written in segments. Shards that
 * are pictures of a sequence, or hashes of pictures, need no joining. */
static bool is_for_join(const struct render *render) {
  return render->cut.is_shard && sink_shows_pictures(render->output) &&
         !existing_is_sequence(render->output, render->container);
}

int render_check_output(struct render *render, struct error *err) {
  const struct options *options = render->options;
  if (cut_name(render->output, &render->container, options, err) || check_numbers(render, err) ||
      find_existing(render, err))
    return -1;
  if (render->is_there)
    return 0;
  struct sink_wish wish = {
      .spec = render->output,
      .format = render->container,
      .codec = options->codec,
      .pixel_format = options->pixel_format,
      .encoder_options = options->encoder_options,
      .quality = options->quality,
      .input = options->input,
      .source = &render->source_options,
      .others = {options->mask && strcmp(options->mask, MASKING_ALPHA) ? options->mask : NULL, options->control_source},
      .frames = render_frames(render),
      .overwrite = options->overwrite || render->existing.pattern,
      .segments = options->resume       ? "--resume"
                  : is_for_join(render) ? "--shard"
                                        : NULL,
      .resume = options->resume,
  };
  for (int i = 0; i < options->style_count; i++)
    wish.others[2 + i] = parameters_text(&options->values, PARAMETER_STYLE, i + 1);
  if (sink_check(&wish, err))
    return -1;
  render->replace = options->overwrite || platform_is_file(file_path(render->output));
  return 0;
}

int render_skips(void *opaque, struct frame *frame, struct error *err) {
  struct render *render = opaque;
  if (render->cadence.num && !cadence_shows(&render->cadence, frame))
    return 1;
  return !render->existing.pattern ? 0 : existing_look(&render->existing, frame, err);
}

int render_open_sink(void *opaque, struct sink **sink, struct error *err) {
  struct render *render = opaque;
  const struct options *options = render->options;
  struct prepared_info prepared;
  struct source_info source;
  struct job job = {0};
  struct job_part part;
  bool has_part = sink_has_part(render->output, render->container);
  cut_describe(&render->cut, options, &part);
  prepared_get_info(render->engines->of[0].prepared, &prepared);
  source_get_info(render->source, &source);
  const struct engine *engine = render->engines->of[0].engine;
  int status = 0;
  if (has_part || existing_is_sequence(render->output, render->container))
    status = job_facts(&job, options, engine, render->engines->of[0].prepared, err) ||
                     job_mark_write(&render->mark, &job, err)
                 ? -1
                 : 0;
  job.end = cut_job_end(&render->cut);
  const struct cadence *cadence = &render->cadence;
  int width = render->size.width ? render->size.width : prepared.shape.width;
  int height = render->size.width ? render->size.height : prepared.shape.height;
  struct sink_options sink_options = {
      .format = render->pixels,
      .width = render->beside ? 2 * width : width,
      .height = height,
      .stretched = render->size.width > 0,
      .time_base_num = cadence->num ? cadence->den : source.time_base_num,
      .time_base_den = cadence->num ? cadence->num * cadence->units : source.time_base_den,
      .fps = cadence->num ? (double)cadence->num / cadence->den : source.fps,
      .paced = cadence->num > 0,
      .codec = options->codec,
      .quality = options->quality,
      .pixel_format = options->pixel_format,
      .encoder_options = options->encoder_options,
      .alpha = render->alpha,
      .container = render->container,
      .realtime = source.realtime,
      .job = has_part ? &job : NULL,
      .mark = render->mark,
      .replace = render->replace,
      .sound = render->cut.is_shard ? NULL : options->input,
      .no_sound = options->no_sound,
      .sound_track = options->sound_track,
      .sound_options = &render->source_options,
      .feed = render->feed,
      .part = &part,
      .is_shard = render->cut.is_shard,
      .shift = render->cut.output_shift,
      .is_later = render->cut.begins_later,
      .first = render->cut.output_first,
      .stop = &setup_stop,
      .log = render->log,
  };
  resuming_tell_sink(&render->resuming, &sink_options, &render->cut, &render->source_options);
  render->existing.width = sink_options.width;
  render->existing.height = sink_options.height;
  render->existing.mark = render->mark;
  if (!status)
    status = sink_open(sink, render->output, &sink_options, err);
  if (!status)
    resuming_tell(&render->resuming, render->log);
  if (!status && cadence->num)
    status = cadence_open(sink, cadence, &setup_stop, err);
  if (!status && render->beside)
    status = beside_open_sink(sink, render->beside, render->pixels, width, height, err);
  job_free(&job);
  return status;
}

void render_leave_empty(struct render *render, struct error *err) {
  struct sink *sink = NULL;
  struct error why = {0};
  int status = render_open_sink(render, &sink, &why);
  if (!status)
    status = sink_finish(sink, true, &why);
  sink_close(&sink);
  if (status)
    *err = why;
  else
    error_prefix(err, "%s: is without pictures: ", render->output);
}

bool render_gives_way(const struct render *render, const char *part) {
  struct error why;
  struct part_left own;
  if (!render->options->skip_existing || !*part || existing_is_sequence(render->output, render->container) ||
      existing_file(render->output, render->options, NULL, &why) <= 0)
    return false;
  /* a shard's manifest is not compared here, because existing_file has done so; any other output has no manifest */
  if (!render->cut.is_shard && !existing_alike(file_path(render->output), part))
    return false;
  bool fits = snprintf(own.name, sizeof own.name, "%s", part) < (int)sizeof own.name &&
              snprintf(own.manifest, sizeof own.manifest, "%s.json", part) < (int)sizeof own.manifest;
  if (fits)
    part_forget(&own);
  log_line(render->log, LOG_WARNING, "%s: another process has made it meanwhile; it is left, and %s removed",
           render->output, part);
  return true;
}

void render_close_line(const struct render *render, const struct pipeline_result *result) {
  struct engine_info engine;
  struct prepared_info prepared;
  struct stats_summary times;
  char busy[LIMIT_TEXT_MAX], made_text[48] = "";
  if (render->options->verbose < 0 || !result->written)
    return;
  engine_get_info(render->engines->of[0].engine, &engine);
  stats_summarise(&result->frame_ms, &times);
  prepared_get_info(render->engines->of[0].prepared, &prepared);
  limit_text(busy, result, render->engines->count);
  const struct output_size made = {prepared.shape.width, prepared.shape.height};
  const struct output_size *size = render->size.width ? &render->size : &made;
  if (result->in_output != result->written)
    snprintf(made_text, sizeof made_text, " (%ld made)", result->written);
  fprintf(stderr, "%ld frame%s%s, %dx%d, %.2f fps, median %.1f ms, p99 %.1f ms, %s%s; %s\n", result->in_output,
          result->in_output == 1 ? "" : "s", made_text, render->beside ? 2 * size->width : size->width, size->height,
          (double)result->written / result->seconds, times.median_ms, times.p99_ms,
          engines_times(render->engines, (char[16]){0}), engine.device, busy);
  setup_print_behind(stderr, &prepared, (double)result->written / result->seconds);
}
