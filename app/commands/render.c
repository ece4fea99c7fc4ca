/* Renders one input: opens source, mask, script and engines, and runs the pipeline. */
#include "app/commands/render_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/run/control_source.h"
#include "app/run/earlier_frames.h"
#include "app/run/masking.h"
#include "app/run/playing.h"
#include "app/run/setup.h"
#include "app/run/warm_up.h"
#include "app/sink/target.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/protocols.h"
#include "app/source/repeated.h"
#include "app/source/side_feed.h"

/* Returns how many of OUT's frames need not be made: those in an unfinished file that this render continues, and
 * `skipped` frames whose pictures exist already. */
static long there_before(const struct render *render, long skipped) {
  return (long)render->resuming.pictures + (render->existing.pattern ? skipped : 0);
}

static void show_progress(void *opaque, const struct pipeline_progress *at) {
  struct render *render = opaque;
  double frames = (double)at->frames;
  render->progress.total = render->total > at->skipped ? render->total - at->skipped : 0;
  /* If OUT and IN have different frame rates, progress is counted in OUT's frames: frames of IN times frames_in_out,
   * the mean number of OUT's frames per frame of IN. Frames of IN that are left out (at->skipped) are counted as well,
   * because the mean includes them. */
  if (render->frames_in_out != 1) {
    frames = (double)(at->frames + at->skipped) * render->frames_in_out;
    render->progress.total = lround((double)render->total * render->frames_in_out);
  }
  render->progress.before = there_before(render, at->skipped);
  progress_update(&render->progress, lround(frames), at->seconds);
}

/* Advances the script through the frames before `seconds` that this process does not render (--shard). Its values are
 * then the same as in a render of all frames. Returns 0, or -1 with err. */
static int catch_up(struct render *render, double seconds, struct error *err) {
  double time;
  int got = 0;
  while (render->walk && (got = cut_walk_next(render->walk, seconds, &time, err)) > 0)
    if (time > render->played)
      playing_pass(render->playing, time);
  render->played = seconds;
  return got;
}

/* Called by the pipeline for each frame. Without a script only seed-walk changes the controls, by moving the seed.
 * seconds: the frame's time in the source. Returns 0, or -1 with err. */
static int controls_at(void *opaque, struct engine *engine, double seconds, struct controls *controls,
                       struct error *err) {
  struct render *render = opaque;
  /* frames of --warmup are before the first frame, whose time is 0 */
  seconds = fmax(cut_clock(&render->cut, seconds, render->tick), 0);
  if (render->playing)
    return catch_up(render, seconds, err) || playing_controls(render->playing, engine, seconds, controls, err) ? -1 : 0;
  *controls = render->controls;
  controls->seed_position = values_seed_position(&render->options->values, seconds);
  return 0;
}

static int before(void *opaque, struct engine *engine, struct engine_request *request, double seconds,
                  struct error *err) {
  struct render *render = opaque;
  alpha_put(render->alpha, request->frame);
  beside_put(render->beside, request->frame);
  /* The engine makes the first frame of this input without data of earlier frames, because those belong to another
   * input. */
  request->restart |= !render->begun;
  render->begun = true;
  request->control_frame = control_source_at(render->control, request->frame);
  return masking_apply(render->masking, engine, request->frame, cut_clock(&render->cut, seconds, render->tick), err);
}

/* Prepares engine and controls for a warm-up frame, which comes before the first frame of the render. Script and mask
 * are as at the beginning of the render. Returns 0, or -1 with err. */
static int before_warm_up(void *opaque, const struct frame *frame, double seconds, struct controls *controls,
                          struct error *err) {
  struct render *render = opaque;
  struct engine *engine = render->engines->of[0].engine;
  if (controls_at(render, engine, seconds, controls, err))
    return -1;
  return masking_apply(render->masking, engine, frame, 0, err);
}

/* Called if this process does not make all pictures from the clip's beginning on. Logs a warning if an option makes
 * pictures depend on earlier frames, because the pictures may then differ from those of a complete render. */
static void tell_unfollowed(const struct render *render) {
  const struct earlier_option *option = earlier_option_given(render->options, EARLIER_LOST);
  if (option)
    log_line(render->log, LOG_WARNING, "%s: %s equal to the whole render only from the next cut on%s", option->name,
             render->existing.pattern ? "what follows a picture that is there already is" : "a part is",
             render->existing.pattern ? "" : ", or where --warmup reaches back to what its pictures depend on");
}

/* If this process begins later than the whole render (--shard), computes the motion of the frames before. The motion,
 * and the frame's place on the canvas (an endless plane that follows the camera), are then as in a complete render.
 * Returns 0, or -1 with err. */
static int follow_motion(struct render *render, const struct warm_up *warm_up, struct error *err) {
  if (render->cut.begins_later || render->existing.pattern)
    tell_unfollowed(render);
  if (!render->cut.begins_later)
    return 0;
  if (!engine_follows(render->engines->of[0].prepared))
    return 0;
  return warm_up_follow(warm_up, render->cut.job_start, render->cut.later, err);
}

static int warm_up(struct render *render, const struct source_info *source, struct error *err) {
  const struct warm_up warm_up = {.input = render->options->input,
                                  .options = render->source_options,
                                  .info = *source,
                                  .frames = render->options->warmup,
                                  .engine = render->engines->of[0].engine,
                                  .prepared = render->engines->of[0].prepared,
                                  .before = before_warm_up,
                                  .begun = &render->begun,
                                  .opaque = render,
                                  .log = render->log};
  if (follow_motion(render, &warm_up, err))
    return -1;
  if (render->options->warmup <= 0)
    return 0;
  if (render->options->values.stream_batch)
    return error_set(err, STATUS_USAGE, "--warmup: a stream batch keeps nothing of earlier frames that it could fill");
  if (render->options->control_source)
    return error_set(err, STATUS_USAGE, "--warmup: frames of --control-source before --start are not read");
  return warm_up_run(&warm_up, err);
}

/* Sets render->tick, the unit of frame.pts. If this process does not render the first frame of the whole render
 * (--shard), also aligns control source and mask with that frame's time, and lists the times of the frames before its
 * own, which a script needs. Returns 0, or -1 with err. */
static int begin_part(struct render *render, struct error *err) {
  struct source_info info;
  source_get_info(render->source, &info);
  render->tick = source_tick(&info);
  render->played = -1;
  if (!render->cut.begins_later)
    return 0;
  control_source_begin(render->control, render->cut.job_first);
  if (masking_apply(render->masking, render->engines->of[0].engine, NULL, 0, err))
    return -1;
  return render->playing ? cut_walk_begin(&render->walk, &render->cut, render->options, &render->source_options, err)
                         : 0;
}

/* Called if a render has written no picture because of an error of its input. Returns true if it rendered a shard of a
 * picture sequence into a file for that shard: the shard's input pictures are then missing or damaged. */
static bool lacks_pictures(const struct render *render) {
  return render->cut.is_shard && render->cut.is_sequence && !atomic_load(&setup_stop) &&
         sink_has_part(render->output, render->container);
}

static int run(struct render *render, struct error *err) {
  const struct options *options = render->options;
  struct engine_info engine;
  struct prepared_info prepared;
  struct source_info source;
  struct pipeline_result result;
  engine_get_info(render->engines->of[0].engine, &engine);
  prepared_get_info(render->engines->of[0].prepared, &prepared);
  source_get_info(render->source, &source);
  log_line(render->log, LOG_INFO, "%s -> %dx%d, %d step%s, %d frame%s a run, %s%s", source.description,
           prepared.shape.width, prepared.shape.height, prepared.shape.steps, prepared.shape.steps == 1 ? "" : "s",
           prepared.shape.batch, prepared.shape.batch == 1 ? "" : "s", engines_times(render->engines, (char[16]){0}),
           engine.device);
  output_size_tell(&render->size, options, &source, &prepared.shape, render->log);
  const struct pipeline pipeline = {
      .source = render->source,
      .engines = render->engines,
      .frames = render_frames(render),
      .open_sink = render_open_sink,
      .controls_at = controls_at,
      .before = before,
      .skips = render->existing.pattern || render->cadence.num ? render_skips : NULL,
      .progress = show_progress,
      .opaque = render,
  };
  if (masking_check(render->masking, &engine, render->log, err))
    return -1;
  setup_controls(&render->controls, options, &engine, &prepared);
  if (render->playing) {
    struct parameters values = options->values;
    values_follow_engine(&values, &engine, &prepared);
    playing_start(render->playing, &values, &prepared, render->log);
  }
  if (begin_part(render, err) || warm_up(render, &source, err))
    return -1;
  long frames = render_frames(render);
  render->total = frames && (!source.frames || frames < source.frames) ? frames : source.frames;
  render->frames_in_out = render_frames_in_out(render, source.fps);
  enum progress_kind kind = progress_wanted(options);
  progress_init(&render->progress, kind, progress_stream(kind, options->output), render->total);
  render->progress.place = *render->place;
  int status = pipeline_run(&pipeline, &result, err);
  if (status && err->status == STATUS_OUTPUT && render_gives_way(render, result.part))
    status = 0;
  if (status && err->status == STATUS_INPUT && !result.written && lacks_pictures(render))
    render_leave_empty(render, err);
  /* Even if the input broke off or a side track failed, OUT contains all that could be made, and has its final name. */
  bool ended = !status || (err->status == STATUS_INPUT && result.written + render->existing.count);
  render->progress.before = there_before(render, render->existing.count);
  progress_end(&render->progress, ended && !atomic_load(&setup_stop),
               result.in_output - (long)render->resuming.pictures, result.seconds);
  *render->place = render->progress.place;
  if (ended)
    render_close_line(render, &result);
  existing_tell(&render->existing);
  long there = result.written + (long)render->resuming.pictures;
  if (!status && atomic_load(&setup_stop) && !result.written)
    return error_set(err, STATUS_INTERRUPTED, "interrupted before the first frame");
  if (!status && atomic_load(&setup_stop))
    return error_set(err, STATUS_INTERRUPTED, "interrupted: %ld frame%s written to %s%s", there, there == 1 ? "" : "s",
                     *result.part ? result.part : target_name(render->output),
                     *result.part ? resuming_advice(&render->resuming, options, &render->source_options) : "");
  return status;
}

static bool is_blended(const struct parameters *values) {
  bool blended = false;
  for (int i = 0; i < SLOT_PRESETS; i++)
    blended = blended || values->blend[i] > 0;
  return blended;
}

/* Returns the largest number of frames in one run of the engine. It does not depend on the number of frames to render:
 * pictures from runs of other lengths differ by rounding, and parts that are rendered separately must fit together.
 *
 * The result is 1 in three cases: a realtime source, because its first frames would wait for the last one of a run;
 * values or a mask that can change, because all frames of a run share them; a stream batch or a bank, because each run
 * continues the run before. */
static int most_frames(const struct render *render, const struct source_info *info) {
  const struct options *options = render->options;
  bool alone = info->realtime || options->values.stream_batch || values_bank_room(&options->values, 0) ||
               options->script || !masking_is_still(render->masking);
  return alone ? 1 : BATCH_MAX;
}

/* Returns `frames`, or 1 if an option demands that frames are made one at a time; then logs which option. */
static int say_batch(const struct render *render, int frames) {
  const struct earlier_option *option = earlier_option_given(render->options, EARLIER_ONE);
  if (!option || render->options->batch || render->options->values.stream_batch)
    return frames;
  log_line(render->log, LOG_WARNING, "one frame a run: with %s each frame needs the one before it", option->name);
  return 1;
}

static int check_batch(const struct render *render, struct error *err) {
  if (render->options->batch > 1 && render->options->script)
    return error_set(err, STATUS_USAGE, "--batch %d: a run has values of one moment, and those of --script change",
                     render->options->batch);
  if (render->options->batch > 1 && !masking_is_still(render->masking))
    return error_set(err, STATUS_USAGE, "--batch %d: a run has one mask: --mask has to be a still picture",
                     render->options->batch);
  return 0;
}

/* Opens the script if there is one, and stores the values that it sets at time 0 in options->values. If neither the
 * script nor the options give a prompt, the default prompt is used. Returns 0, or -1 with err. */
static int open_script(struct render *render, struct options *options, struct error *err) {
  if (!options->script)
    return 0;
  if (playing_open(&render->playing, options->script, &setup_stop, render->log, err))
    return -1;
  playing_begin(render->playing, &options->values);
  while (options->prompt_count < SLOT_PRESETS &&
         parameters_text(&options->values, PARAMETER_PROMPT, options->prompt_count + 1))
    options->prompt_count++;
  if (options->prompt_count)
    return 0;
  options->prompt_count = 1;
  return parameters_set_text(&options->values, PARAMETER_PROMPT, 1, PARAMETER_PROMPT_DEFAULT, err);
}

/* Opens the input. If the input can be read only once, it is set up to pass its sound and other tracks to the output
 * during the one reading (side_feed.h). Returns 0, or -1 with err. */
static int open_input(struct render *render, struct error *err) {
  const struct options *options = render->options;
  struct source_options own = render->source_options;
  bool once = !ffmpeg_can_reopen(options->input, &own);
  if (once && !render->cut.is_shard && sink_has_tracks(options->output, options->output_format) &&
      side_feed_open(&render->feed, options->input, render->log, err))
    return -1;
  own.feed = render->feed;
  return source_open(&render->source, options->input, &own, err);
}

/* Fails if an option cannot be combined with --fps, with which the pictures of OUT do not correspond one by one to the
 * frames of IN. */
static int check_rate(const struct options *options, struct error *err) {
  bool sequence = options->skip_existing && existing_is_sequence(options->output, options->output_format);
  const char *other = options->resume               ? "--resume"
                      : cut_asks_for_shard(options) ? "--shard"
                      : sequence                    ? "--skip-existing"
                                                    : NULL;
  if (!options->fps || !other)
    return 0;
  return error_set(err, STATUS_USAGE, "%s: needs OUT to have IN's frames, and --fps repeats them and leaves some out",
                   other);
}

/* The common beginning of render_check and render_input: completes the options, and checks input and output. Returns 0,
 * or -1 with err. */
static int begin(struct render *render, struct error *err) {
  const struct options *options = render->options;
  if (setup_source_options(&render->source_options, options, false, render->log, err))
    return -1;
  if (options->no_sound && options->sound_track)
    return error_set(err, STATUS_USAGE,
                     "--sound-track %d asks for sound, and --no-sound for none; leave one of them out",
                     options->sound_track);
  if (options->beside && options->values.text_to_image)
    return error_set(err, STATUS_USAGE, "--beside: with --text-to-image there is no frame to stand beside the picture");
  /* frames are decoded by software, because beside.c, which puts them beside the pictures, reads them in host memory */
  if (options->beside)
    render->source_options.hardware = NULL;
  render->source_options.tell_transparency = sink_shows_pictures(options->output);
  render->source_options.keeps_alpha = render_keeps_alpha(options);
  return check_rate(options, err) || setup_check_inputs(options, err) ||
                 repeated_measure(options->input, &render->source_options, err) ||
                 cut_choose(&render->cut, options, &render->source_options, err) ||
                 (!render->cut.is_empty && render_check_output(render, err))
             ? -1
             : 0;
}

/* Tells programs that read the progress that the render is complete, if no picture had to be made. frames: number of
 * frames in the output. */
static void end_at_once(struct render *render, long frames) {
  enum progress_kind kind = progress_wanted(render->options);
  progress_init(&render->progress, kind, progress_stream(kind, render->options->output), 0);
  render->progress.place = *render->place;
  render->progress.before = frames;
  progress_end(&render->progress, true, 0, 0);
  *render->place = render->progress.place;
}

/* Ends a render whose output exists already, or whose shard has no frames. The existing output is read to count its
 * frames only if a program wants to know them. */
static void end_without_output(struct render *render) {
  bool counts = render->is_there && render->options->progress == PROGRESS_JSON;
  long frames = counts ? ffmpeg_count_pictures(file_path(render->output)) : 0;
  end_at_once(render, frames > 0 ? frames : 0);
}

/* Makes the output from an unfinished file that already has all pictures. Returns 0, or -1 with err. If err's status is
 * STATUS_INPUT, the output may exist and lack only a side track. */
static int complete(struct render *render, const struct options *options, struct error *err) {
  long pictures;
  int status = resuming_complete(&render->resuming, options, render->replace, &render->cut, &render->source_options,
                                 &pictures, err);
  if (!status || (pictures && err->status == STATUS_INPUT))
    end_at_once(render, pictures);
  return status;
}

/* Makes the engines adopt the kernels and the number of frames in a run that the process of another shard has
 * chosen. */
static void take_shared(const struct render *render, struct setup *setup, struct options *options) {
  setup->choices = render->shared.record.job.choices;
  if (!options->batch)
    options->batch = setup->batch = render->shared.record.job.batch;
}

/* Makes the engines ready for the input. Meanwhile a process that renders another shard may have written its choices
 * (kernels, frames in a run). Then the engines are opened again with the choices of that process. Returns 0, or -1 with
 * err. */
static int use_engines(struct render *render, struct setup *setup, struct options *options, struct error *err) {
  bool sequence = existing_is_sequence(render->output, render->container);
  bool shares =
      render->cut.is_shard && !render->resuming.goes_on && (sequence || strcmp(render->output, options->output) != 0);
  if (shares && shared_choices_find(&render->shared, options, sequence, render->log, err))
    return -1;
  bool known = render->shared.found;
  if (known)
    take_shared(render, setup, options);
  if (engines_use(render->engines, setup, err))
    return -1;
  const struct engine *engine = render->engines->of[0].engine;
  if (shares &&
      shared_choices_offer(&render->shared, options, engine, render->engines->of[0].prepared, render->log, err))
    return -1;
  if (known || !render->shared.found)
    return 0;
  take_shared(render, setup, options);
  return engines_use(render->engines, setup, err);
}

int render_check(const struct options *options, bool *replaces, struct error *err) {
  static const struct log silent;
  struct options first = *options;
  struct render render = {.options = &first, .log = &silent};
  int status = open_script(&render, &first, err) || begin(&render, err) ? -1 : 0;
  playing_close(&render.playing);
  *replaces = render.replace;
  return status;
}

int render_input(const struct options *options, struct render_shared *shared, struct error *err) {
  struct options first = *options;
  struct render render = {.options = &first, .log = &shared->log, .engines = &shared->engines, .place = &shared->place};
  struct source_info info;
  int status = -1;
  if (open_script(&render, &first, err) || begin(&render, err))
    goto done;
  if (render.is_there || render.cut.is_empty) {
    end_without_output(&render);
    status = 0;
    goto done;
  }
  render.resuming.output = render.output;
  render.resuming.container = render.container;
  if (resuming_find(&render.resuming, &render.cut, &first, &render.source_options, err))
    goto done;
  if (options->values.ip_adapter.given && !options->style_count)
    log_line(render.log, LOG_WARNING, "--ip-adapter does nothing without --style");
  /* the number of frames in a run stays that of the interrupted render, because pictures would differ by rounding */
  if (render.resuming.goes_on && !first.batch)
    first.batch = render.resuming.record.job.batch;
  if (render.resuming.nothing_left) {
    status = complete(&render, &first, err);
    goto done;
  }
  if (!options->script && options->prompt_count > 1 && !is_blended(&options->values)) {
    log_line(render.log, LOG_WARNING,
             "render uses the first --prompt alone; more of them are for --blend and live's "
             "keys");
    first.prompt_count = 1;
  }
  if (open_input(&render, err) || masking_open(&render.masking, options->mask, render.log, &setup_stop, err))
    goto done;
  source_get_info(render.source, &info);
  if (options->fps)
    cadence_choose(&render.cadence, options->fps, &info);
  if (check_batch(&render, err))
    goto done;
  struct source_options of_job = render.source_options;
  of_job.start = render.cut.job_start;
  of_job.duration = render.cut.job_duration;
  of_job.repeat = 0;
  const struct control_source_params control = {options->control_source, &of_job, &info, SETUP_PATIENCE_MS,
                                                render.cut.later};
  if (control_source_open(&render.control, &control, err))
    goto done;
  render.pixels = sink_pixels(options->output, options->output_format, options->codec, options->pixel_format);
  render.pixels = info.alpha ? PIXEL_RGBA : render.pixels;
  if (output_size_choose(&render.size, options, &info, render.pixels, err) ||
      (info.alpha && alpha_open(&render.alpha, (enum fit)options->values.fit, output_size_shape(&render.size), err)))
    goto done;
  if (options->beside &&
      beside_open(&render.beside, (enum fit)options->values.fit, output_size_shape(&render.size), err))
    goto done;
  struct setup setup = {
      .options = &first,
      .info = &info,
      .longest = SETUP_LONGEST_SIDE,
      .aspect = output_size_shape(&render.size),
      .output = render.pixels,
      .batch = say_batch(&render, most_frames(&render, &info)),
      .choices = render.resuming.record.job.choices,
      .log = render.log,
  };
  if (use_engines(&render, &setup, &first, err))
    goto done;
  status = run(&render, err);
done:
  cut_walk_end(&render.walk);
  resuming_free(&render.resuming);
  shared_choices_free(&render.shared);
  playing_close(&render.playing);
  masking_close(&render.masking);
  control_source_close(&render.control);
  source_close(&render.source);
  alpha_close(&render.alpha);
  beside_close(&render.beside);
  free(render.mark);
  side_feed_close(&render.feed);
  /* An error such as a truncated file may result from an interruption; the interruption is reported instead. */
  if (status && atomic_load(&setup_stop) && err->status != STATUS_INTERRUPTED && err->status != STATUS_OUTPUT)
    return error_set(err, STATUS_INTERRUPTED, "interrupted");
  return status;
}
