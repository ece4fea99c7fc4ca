/* The command render: processes a video file and writes the result to another. */
#include <stdio.h>
#include <string.h>

#include "app/options/options.h"
#include "app/run/control_source.h"
#include "app/run/masking.h"
#include "app/run/playing.h"
#include "app/run/pipeline.h"
#include "app/run/progress.h"
#include "app/run/setup.h"
#include "app/run/warm_up.h"
#include "app/sink/target.h"

/* Without --size the picture has the input's aspect ratio, and its longest side has so many pixels. */
enum { LONGEST_SIDE = 512 };

struct render {
  const struct options *options;
  struct log log;
  struct source_options source_options;
  struct source *source;
  struct masking *masking;
  struct playing *playing; /* the values that change over time by --script; NULL: none do */
  struct control_source *control;
  struct engine *engine;
  struct prepared *prepared;
  struct controls controls;
  struct progress progress;
  enum pixel_format pixels; /* pixel format of the pictures that the engine gives to the sink */
};

static void show_progress(void *opaque, const struct pipeline_progress *at) {
  struct render *render = opaque;
  progress_update(&render->progress, at->frames, at->seconds);
}

/* The pipeline calls this for each frame. Without a script the controls are the same for all frames, except that
 * seed-walk changes the seed. seconds: the frame's time. */
static int controls_at(void *opaque, double seconds, struct controls *controls, struct error *err) {
  const struct render *render = opaque;
  if (render->playing)
    return playing_controls(render->playing, render->engine, seconds, controls, err);
  *controls = render->controls;
  controls->seed_position = values_seed_position(&render->options->values, seconds);
  return 0;
}

static int before(void *opaque, struct engine_request *request, double seconds, struct error *err) {
  struct render *render = opaque;
  request->control_frame = control_source_at(render->control, request->frame);
  return masking_apply(render->masking, render->engine, request->frame, seconds, err);
}

static int open_sink(void *opaque, struct sink **sink, struct error *err) {
  struct render *render = opaque;
  const struct options *options = render->options;
  struct prepared_info prepared;
  struct source_info source;
  prepared_get_info(render->prepared, &prepared);
  source_get_info(render->source, &source);
  const struct sink_options sink_options = {
      .format = render->pixels,
      .width = prepared.shape.width,
      .height = prepared.shape.height,
      .time_base_num = source.time_base_num,
      .time_base_den = source.time_base_den,
      .fps = source.fps,
      .codec = options->codec,
      .quality = options->quality,
      .container = options->output_format,
      .realtime = source.realtime,
      .sound = options->input,
      .no_sound = options->no_sound,
      .sound_track = options->sound_track,
      .sound_options = &render->source_options,
      .stop = &setup_stop,
      .log = &render->log,
  };
  return sink_open(sink, options->output, &sink_options, err);
}

static void close_line(const struct render *render, const struct pipeline_result *result) {
  struct engine_info engine;
  struct prepared_info prepared;
  struct stats_summary times;
  if (render->options->verbose < 0 || !result->written)
    return;
  engine_get_info(render->engine, &engine);
  stats_summarise(&result->frame_ms, &times);
  prepared_get_info(render->prepared, &prepared);
  fprintf(stderr, "%ld frame%s, %dx%d, %.2f fps, median %.1f ms, p99 %.1f ms, %s\n", result->written,
          result->written == 1 ? "" : "s", prepared.shape.width, prepared.shape.height,
          (double)result->written / result->seconds, times.median_ms, times.p99_ms, engine.device);
  setup_print_behind(stderr, &prepared, (double)result->written / result->seconds);
}

/* Prepares engine and controls for a frame before the first one. Scripts and masks are as at the beginning. */
static int before_warm_up(void *opaque, const struct frame *frame, double seconds, struct controls *controls,
                          struct error *err) {
  struct render *render = opaque;
  if (controls_at(render, render->playing ? 0 : seconds, controls, err))
    return -1;
  return masking_apply(render->masking, render->engine, frame, 0, err);
}

static int warm_up(struct render *render, const struct source_info *source, struct error *err) {
  const struct warm_up warm_up = {.input = render->options->input,
                                  .options = render->source_options,
                                  .info = *source,
                                  .frames = render->options->warmup,
                                  .engine = render->engine,
                                  .prepared = render->prepared,
                                  .before = before_warm_up,
                                  .opaque = render,
                                  .log = &render->log};
  if (render->options->warmup <= 0)
    return 0;
  if (render->options->values.stream_batch)
    return error_set(err, STATUS_USAGE, "--warmup: a stream batch keeps nothing of earlier frames that it could fill");
  if (render->options->control_source)
    return error_set(err, STATUS_USAGE, "--warmup: frames of --control-source before --start are not read");
  return warm_up_run(&warm_up, err);
}

static int run(struct render *render, struct error *err) {
  const struct options *options = render->options;
  struct engine_info engine;
  struct prepared_info prepared;
  struct source_info source;
  struct pipeline_result result;
  engine_get_info(render->engine, &engine);
  prepared_get_info(render->prepared, &prepared);
  source_get_info(render->source, &source);
  log_line(&render->log, LOG_INFO, "%s -> %dx%d, %d step%s, %d frame%s a run, %s", source.description,
           prepared.shape.width, prepared.shape.height, prepared.shape.steps, prepared.shape.steps == 1 ? "" : "s",
           prepared.shape.batch, prepared.shape.batch == 1 ? "" : "s", engine.device);
  const struct pipeline pipeline = {
      .source = render->source,
      .engine = render->engine,
      .prepared = render->prepared,
      .frames = options->frames,
      .open_sink = open_sink,
      .controls_at = controls_at,
      .before = before,
      .progress = show_progress,
      .opaque = render,
  };
  if (masking_check(render->masking, &engine, &render->log, err))
    return -1;
  setup_controls(&render->controls, options, &engine, &prepared);
  if (render->playing) {
    struct parameters values = options->values;
    setup_values(&values, &engine, &prepared);
    playing_start(render->playing, &values, &prepared, &render->log);
  }
  if (warm_up(render, &source, err))
    return -1;
  long total = options->frames && (!source.frames || options->frames < source.frames) ? options->frames : source.frames;
  progress_init(&render->progress, total, options->verbose < 0);
  int status = pipeline_run(&pipeline, &result, err);
  progress_clear(&render->progress);
  if (!status)
    close_line(render, &result);
  if (!status && atomic_load(&setup_stop) && !result.written)
    return error_set(err, STATUS_INTERRUPTED, "interrupted before the first frame");
  if (!status && atomic_load(&setup_stop))
    return error_set(err, STATUS_INTERRUPTED, "interrupted: %ld frame%s written to %s", result.written,
                     result.written == 1 ? "" : "s", target_name(options->output));
  return status;
}

static int check_output(struct render *render, struct error *err) {
  const struct options *options = render->options;
  struct sink_wish wish = {
      .spec = options->output,
      .format = options->output_format,
      .input = options->input,
      .source = &render->source_options,
      .others = {options->mask && strcmp(options->mask, MASKING_ALPHA) ? options->mask : NULL, options->control_source},
      .frames = options->frames,
      .overwrite = options->overwrite,
  };
  for (int i = 0; i < options->style_count; i++)
    wish.others[2 + i] = parameters_text(&options->values, PARAMETER_STYLE, i + 1);
  return sink_check(&wish, err);
}

static bool is_blended(const struct parameters *values) {
  bool blended = false;
  for (int i = 0; i < SLOT_PRESETS; i++)
    blended = blended || values->blend[i] > 0;
  return blended;
}

/* Returns how many frames one run of the engine may have. It is at most the number of frames of the input. It is 1 for
 * a source in real time, because the first frames of a run would wait for the last one; if mask or values can
 * differ from frame to frame, because a run has one of each; and with a bank, because each frame attends to the one
 * before it. */
static int most_frames(const struct render *render, const struct source_info *info) {
  const struct options *options = render->options;
  long frames = options->frames && (!info->frames || options->frames < info->frames) ? options->frames : info->frames;
  if (info->realtime || options->values.stream_batch || values_bank_room(&options->values, 0) || options->script ||
      !masking_is_still(render->masking))
    return 1;
  return frames && frames < BATCH_MAX ? (int)frames : BATCH_MAX;
}

/* Returns the option for which each frame needs the picture before it, or NULL. */
static const char *chained_by(const struct parameters *values) {
  if (values->noise == NOISE_CARRIED)
    return "--noise carried";
  if (values->feedback > 0)
    return "--feedback";
  return values->canvas == CANVAS_FOLLOW ? "--canvas follow" : NULL;
}

/* Says that frames are made one by one, if that is because of an option. */
static int say_batch(const struct render *render, int frames) {
  const char *option = chained_by(&render->options->values);
  if (!option || render->options->batch)
    return frames;
  log_line(&render->log, LOG_WARNING, "one frame a run: with %s each frame needs the one before it", option);
  return 1;
}

static int check_batch(const struct render *render, struct error *err) {
  if (values_bank_room(&render->options->values, 0) && !render->options->batch)
    log_line(&render->log, LOG_WARNING, "with a bank of earlier frames each run makes one frame");
  if (render->options->batch > 1 && render->options->script)
    return error_set(err, STATUS_USAGE, "--batch %d: a run has values of one moment, and those of --script change",
                     render->options->batch);
  if (render->options->batch > 1 && !masking_is_still(render->masking))
    return error_set(err, STATUS_USAGE, "--batch %d: a run has one mask: --mask has to be a still picture",
                     render->options->batch);
  return 0;
}

/* Opens the script and applies its initial values like options. If neither names a prompt, the default prompt is
 * used. */
static int open_script(struct render *render, struct options *options, struct error *err) {
  if (!options->script)
    return 0;
  if (playing_open(&render->playing, options->script, &setup_stop, &render->log, err))
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

int command_render(const struct options *options, struct error *err) {
  struct render render = {.options = options};
  struct source_info info;
  int status = -1;
  setup_log(&render.log, options);
  if (setup_source_options(&render.source_options, options, false, &render.log, err))
    return -1;
  if (options->no_sound && options->sound_track)
    return error_set(err, STATUS_USAGE,
                     "--sound-track %d asks for sound, and --no-sound for none; leave one of them out",
                     options->sound_track);
  render.source_options.tell_left_out = sink_has_tracks(options->output, options->output_format);
  render.source_options.no_sound = options->no_sound;
  render.source_options.keeps_timecode = sink_keeps_timecode(options->output, options->output_format, false);
  render.source_options.keeps_file_timecode = sink_keeps_timecode(options->output, options->output_format, true);
  render.source_options.tell_transparency = sink_shows_pictures(options->output);
  if (setup_check_inputs(options, err) || check_output(&render, err))
    return -1;
  if (options->values.ip_adapter.given && !options->style_count)
    log_line(&render.log, LOG_WARNING, "--ip-adapter does nothing without --style");
  struct options first = *options;
  render.options = &first;
  if (open_script(&render, &first, err))
    goto done;
  if (!options->script && options->prompt_count > 1 && !is_blended(&options->values)) {
    log_line(&render.log, LOG_WARNING,
             "render uses the first --prompt alone; more of them are for --blend and live's "
             "keys");
    first.prompt_count = 1;
  }
  if (source_open(&render.source, options->input, &render.source_options, err) ||
      masking_open(&render.masking, options->mask, &render.log, &setup_stop, err))
    goto done;
  source_get_info(render.source, &info);
  if (check_batch(&render, err))
    goto done;
  const struct control_source_params control = {options->control_source, &render.source_options, &info,
                                                SETUP_PATIENCE_MS};
  if (control_source_open(&render.control, &control, err))
    goto done;
  render.pixels = sink_pixels(options->output, options->output_format, options->codec);
  const struct setup setup = {
      .options = &first,
      .info = &info,
      .longest = LONGEST_SIDE,
      .output = render.pixels,
      .pictures = PIPELINE_HOLDS,
      .batch = say_batch(&render, most_frames(&render, &info)),
      .log = &render.log,
  };
  if (setup_engine(&render.engine, &render.prepared, &setup, err))
    goto done;
  status = run(&render, err);
done:
  playing_close(&render.playing);
  engine_close(&render.engine);
  masking_close(&render.masking);
  control_source_close(&render.control);
  source_close(&render.source);
  /* After an interruption the message says so, because an error such as a truncated file may be its consequence. */
  if (status && atomic_load(&setup_stop) && err->status != STATUS_INTERRUPTED && err->status != STATUS_OUTPUT)
    return error_set(err, STATUS_INTERRUPTED, "interrupted");
  return status;
}
