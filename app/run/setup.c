#include "app/run/setup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "app/run/device_names.h"
#include "app/run/masking.h"
#include "app/run/styling.h"
#include "app/source/hardware.h"
#include "app/source/pipe_input.h"
#include "unet/base/gpu.h"

atomic_bool setup_stop;

void setup_signals(void) {
  /* oneDNN calls abort() when memory runs out, so an abort in that library is reported as too little memory. For any
   * other library, only what it has printed itself may tell the reason. */
  static const struct platform_abort how = {
      .library = "libdnnl",
      .line = "reverie: oneDNN gave up, most likely for lack of memory; try a smaller --size\n",
      .other_line = "reverie: a library gave up, and what it printed before may say why; please report it\n",
      .status = STATUS_DEVICE,
      .other_status = STATUS_FAILED};
  platform_catch_signals(&setup_stop);
  platform_catch_abort(&how);
}

static void print_line(void *opaque, enum log_level level, const char *text) {
  const struct options *options = opaque;
  if ((int)level <= options->verbose)
    fprintf(stderr, "reverie: %s\n", text);
}

void setup_log(struct log *log, const struct options *options) {
  log->line = print_line;
  log->opaque = (void *)(uintptr_t)options;
}

/* Reads the names in --device. Fails if there are several devices and the command is not render, the only one that can
 * use them. */
static int read_names(struct device_names *names, const struct options *options, struct error *err) {
  if (options->command != COMMAND_RENDER && device_names_several(options->device.name))
    return error_set(err, STATUS_USAGE, "--device %s: several devices are for render: name one of them here",
                     options->device.name);
  return device_names_read(names, options->device.name, err);
}

/* Chooses the GPU to which the source's frames are read (the first one, if several devices are named), and whether the
 * GPU's hardware decoder decodes them. Returns 0, or -1 with err. */
static int choose_hardware(struct source_options *source, const struct options *options, struct error *err) {
  bool must = options->hwdec == HWDEC_NVDEC || options->hwdec == HWDEC_CUDA, found = false;
  struct device_names names;
  if (read_names(&names, options, err))
    return -1;
  for (int i = 0; i < names.count && !found; i++)
    found = devices_find_gpu(names.name[i], &source->gpu);
  source->to_host = names.count > 1;
  source->hardware = found && options->hwdec != HWDEC_NO ? &hardware_nvdec : NULL;
  source->hardware_must = must;
  return found || !must ? 0
                        : error_set(err, STATUS_DEVICE,
                                    "--hwdec nvdec: the pictures are not computed on an NVIDIA GPU here, which would "
                                    "decode the input: --hwdec auto leaves it to software");
}

static bool is_wanted(enum filter_wish wish, bool live) {
  return wish == FILTER_YES || (wish == FILTER_AUTO && !live);
}

/* Returns the longest side of the pictures that the model makes, in pixels; 0: unknown. */
static int longest_side(const struct options *options, bool live) {
  const struct parameter_size *size = &options->values.size;
  if (!size->width)
    return live ? 0 : SETUP_LONGEST_SIDE;
  return size->width > size->height ? size->width : size->height;
}

int setup_source_options(struct source_options *source, const struct options *options, bool live, const struct log *log,
                         struct error *err) {
  *source = (struct source_options){
      .live = live,
      .loop = options->loop,
      .alpha = options->mask && !strcmp(options->mask, MASKING_ALPHA),
      .input_format = options->input_format,
      .input_options = options->input_options,
      .deinterlace = is_wanted(options->deinterlace, live),
      .tone_map = is_wanted(options->tone_map, live),
      .tone_map_side = longest_side(options, live),
      .width = options->input_width,
      .height = options->input_height,
      .pixels = options->input_pixels,
      .fps = options->input_fps,
      .start = options->start,
      .duration = live ? 0 : options->duration,
      .repeat = options->repeat,
      .read_timeout = options->read_timeout,
      .stop = &setup_stop,
      .urgent = live && options->real_time == REAL_TIME_AUTO,
      .log = log,
  };
  return choose_hardware(source, options, err);
}

bool setup_needs_input(const struct options *options) {
  bool needs = !options->values.text_to_image;
  for (int i = 0; i < options->control_count; i++)
    needs |= !options->values.control_source[i];
  return needs;
}

int setup_check_inputs(const struct options *options, struct error *err) {
  const char *const inputs[] = {options->input, options->mask, options->control_source, options->sound,
                                options->record_sound};
  const char *const names[] = {"INPUT", "--mask", "--control-source", "--sound", "--record-sound"};
  for (int i = 1; i < 5; i++)
    for (int j = 0; j < i; j++) {
      int fd = inputs[i] && inputs[j] ? pipe_input_descriptor(inputs[i]) : -1;
      if (fd >= 0 && fd == pipe_input_descriptor(inputs[j]))
        return error_set(err, STATUS_USAGE, "%s and %s both read %s: only one of them can", names[j], names[i],
                         inputs[i]);
    }
  return 0;
}

static void choose_size(struct engine_shape *shape, const struct setup *setup, int longest) {
  double aspect = setup->aspect > 0 ? setup->aspect : setup->info ? setup->info->shape : 0;
  shape->aspect = setup->aspect;
  shape->width = setup->options->values.size.width;
  shape->height = setup->options->values.size.height;
  shape->sizing = setup->nearest ? SIZE_EVEN : SIZE_GIVEN;
  if (shape->width || !longest || aspect <= 0)
    return;
  shape->width = (int)lrint(longest * fmin(aspect, 1));
  shape->height = (int)lrint(longest / fmax(aspect, 1));
  shape->sizing = SIZE_WHOLE;
}

static int set_prompts(struct engine *engine, const struct options *options, struct error *err) {
  const struct parameters *values = &options->values;
  const char *negative = parameters_text(values, PARAMETER_NEGATIVE, 0);
  if (!options->prompt_count && engine_set_prompt(engine, SLOT_PRESET_1, PARAMETER_PROMPT_DEFAULT, err))
    return -1;
  for (int i = 1; i <= options->prompt_count; i++)
    if (engine_set_prompt(engine, SLOT_PRESET_1 + i - 1, parameters_text(values, PARAMETER_PROMPT, i), err))
      return -1;
  return negative ? engine_set_prompt(engine, SLOT_NEGATIVE, negative, err) : 0;
}

static int set_style(struct engine *engine, int slot, const char *file, const struct log *log, struct error *err) {
  struct engine_style *style = NULL;
  struct engine_info info;
  engine_get_info(engine, &info);
  int status =
      styling_read_file(&style, &info.style, file, &setup_stop, log, err) || engine_set_style(engine, slot, style, err);
  engine_free_style(&style);
  return status ? error_prefix(err, "--style: ") : 0;
}

static int set_styles(struct engine *engine, const struct setup *setup, struct error *err) {
  struct engine_info info;
  engine_get_info(engine, &info);
  for (int i = 0; i < STYLES_MAX && (info.style.size || !setup->leaves_styles); i++) {
    const char *file = parameters_text(&setup->options->values, PARAMETER_STYLE, i + 1);
    if (file && set_style(engine, i, file, setup->log, err))
      return -1;
  }
  return 0;
}

static int count_chunks(const struct engine *engine, int slot, const char *text, int *most, struct error *err) {
  int chunks = engine_count_chunks(engine, slot, text, err);
  *most = chunks > *most ? chunks : *most;
  return chunks;
}

/* Stores in *chunks for how many chunks of text the handle is prepared (a chunk is as many tokens as the text encoder
 * reads at once). engine_choose_chunks derives it from the chunks of the longest prompt, and those of the longest text
 * that is needed first (first or negative prompt). Returns 0, or -1 with err. */
static int choose_chunks(const struct engine *engine, const struct options *options, int *chunks, struct error *err) {
  const struct parameters *values = &options->values;
  const char *negative = parameters_text(values, PARAMETER_NEGATIVE, 0);
  int now = 1;
  if (negative && count_chunks(engine, SLOT_NEGATIVE, negative, &now, err) < 0)
    return -1;
  if (options->prompt_count &&
      count_chunks(engine, SLOT_PRESET_1, parameters_text(values, PARAMETER_PROMPT, 1), &now, err) < 0)
    return -1;
  int most = now;
  for (int i = 2; i <= options->prompt_count; i++)
    if (count_chunks(engine, SLOT_PRESET_1 + i - 1, parameters_text(values, PARAMETER_PROMPT, i), &most, err) < 0)
      return -1;
  *chunks = engine_choose_chunks(most, now);
  return 0;
}

/* Returns where the networks draw: at a fixed place of the screen (CANVAS_FIXED), or on a canvas, an endless plane that
 * follows the camera. The user's choice counts. Without one, the engine chooses in live (CANVAS_AUTO). render uses
 * CANVAS_FIXED: on a moving canvas a frame depends on all frames since the last change of scene, and parts that are
 * rendered separately would not fit together. */
static enum canvas_mode choose_canvas(const struct setup *setup) {
  const struct parameters *values = &setup->options->values;
  if (parameters_marked(values, PARAMETER_CANVAS, 0))
    return (enum canvas_mode)values->canvas;
  return setup->paced ? CANVAS_AUTO : CANVAS_FIXED;
}

int setup_params(struct engine_wish *params, const struct setup *setup, struct error *err) {
  const struct options *options = setup->options;
  if (engine_wish_fill(params, &options->values, err))
    return -1;
  if (!setup->leaves_styles && engine_wish_check_adapter(params, err))
    return -1;
  params->engine.output = setup->output;
  params->engine.smooth = setup->smooth;
  params->engine.paced = setup->paced;
  params->engine.device = options->device;
  /* a report of bench tells what each candidate for a product took, so none is taken from earlier runs */
  params->engine.device.cache_dir = options->report ? NULL : paths_cache(params->cache);
  params->engine.device.stamps = options->trace != NULL;
  params->engine.device.pictures = setup->pictures;
  params->engine.device.shares_pictures = setup->shared;
  params->engine.device.choices = setup->choices;
  params->engine.device.gives_up = setup->gives_up;
  params->engine.device.gives_up_opaque = setup->gives_up_opaque;
  params->engine.device.log = setup->log;
  params->shape.batch = options->batch;
  params->shape.canvas = choose_canvas(setup);
  choose_size(&params->shape, setup, setup->longest);
  return 0;
}

/* Gives the engine the strengths of the LoRA adapters. Done before texts are encoded, because adapters may change the
 * text encoders, and before the first picture, which would otherwise wait for it. Returns 0, or -1 with err. */
static int weigh_adapters(struct engine *engine, const struct parameters *values, struct error *err) {
  struct controls controls;
  values_controls(values, &controls);
  return engine_weigh(engine, controls.adapter, err);
}

/* Logs a warning if there is a negative prompt and the handle (prepared engine) computes no guidance, so that the
 * prompt has no effect. */
static void check_negative(const struct engine *engine, const struct prepared *prepared, const struct setup *setup) {
  struct engine_info info;
  struct prepared_info own;
  engine_get_info(engine, &info);
  prepared_get_info(prepared, &own);
  const char *why = values_negative_idle(&setup->options->values, &info, &own);
  if (why)
    log_line(setup->log, LOG_WARNING, "--negative does nothing %s", why);
}

/* Returns in words why the guidance scale has no effect with these values and this model; NULL: it has an effect. */
static const char *guidance_idle(const struct parameters *values, const struct engine_info *info) {
  if (info->refuses_guidance)
    return "on this model: it was trained without guidance";
  if (info->has_guidance_embedding)
    return "on this model: its guidance is embedded";
  if (values->guidance_mode == GUIDANCE_NONE)
    return "with --guidance-mode none";
  return values->guidance == 1 ? "while --guidance is 1" : NULL;
}

static void warn_idle(const struct setup *setup, enum parameter id, const char *why) {
  if (why && parameters_marked(&setup->options->values, id, 0))
    log_line(setup->log, LOG_WARNING, "--%s does nothing %s", parameter_row(id)->name, why);
}

static void check_guidance(const struct engine *engine, const struct setup *setup) {
  const struct parameters *values = &setup->options->values;
  struct engine_info info;
  engine_get_info(engine, &info);
  const char *idle = guidance_idle(values, &info);
  bool residual = values->guidance_mode == GUIDANCE_SELF || values->guidance_mode == GUIDANCE_ONE_TIME;
  if (residual)
    warn_idle(setup, PARAMETER_GUIDANCE_MODE, idle);
  warn_idle(setup, PARAMETER_DELTA, idle || residual ? idle : "with --guidance-mode full: self and one-time read it");
  warn_idle(setup, PARAMETER_GUIDANCE_RESCALE, idle);
}

static void check_eta(const struct prepared *prepared, const struct setup *setup) {
  struct prepared_info own;
  prepared_get_info(prepared, &own);
  if (parameters_marked(&setup->options->values, PARAMETER_ETA, 0) && !own.has_eta)
    log_line(setup->log, LOG_WARNING, "--eta does nothing with the sampler %s: ddim and tcd read it", own.sampler);
}

/* Logs warnings about --control, --depth-model and --show if they have no effect. Without a ControlNet, a map of
 * --control does not guide the picture; it can only be shown, with --show. */
static void check_controls(const struct setup *setup) {
  const struct options *options = setup->options;
  bool depth = false;
  for (int i = 0; i < options->control_count; i++)
    depth |= options->values.control[i] == MAP_DEPTH + 1;
  if (parameters_text(&options->values, PARAMETER_DEPTH_MODEL, 0) && !depth)
    log_line(setup->log, LOG_WARNING, "--depth-model does nothing without --control depth");
  for (int i = 0; i < options->control_count; i++)
    if (!options->values.control_model[i].given && options->values.show == SHOW_PICTURE)
      log_line(setup->log, LOG_WARNING, "--control %s has no model: it makes the map alone, which --show map shows",
               map_word((enum map_kind)(options->values.control[i] - 1)));
  if (options->values.show != SHOW_PICTURE && !options->control_count)
    log_line(setup->log, LOG_WARNING, "--show does nothing without --control");
}

/* Fills in the controls of the first frame, so that options can be checked against them before any frame is made. */
static void make_controls(struct controls *controls, const struct engine *engine, const struct prepared *prepared,
                          const struct options *options) {
  struct engine_info info;
  struct prepared_info own;
  engine_get_info(engine, &info);
  prepared_get_info(prepared, &own);
  setup_controls(controls, options, &info, &own);
}

/* Logs a warning for each ControlNet that acts in no step. The reason is that its start is not below its end, or that
 * no step's noise level lies between the two. */
static void check_control_ends(struct engine *engine, struct prepared *prepared, const struct setup *setup) {
  const struct parameters *values = &setup->options->values;
  struct controls controls;
  make_controls(&controls, engine, prepared, setup->options);
  for (int i = 0; i < setup->options->control_count; i++)
    if (values->control_model[i].given && !engine_control_acts(engine, prepared, &controls, i))
      log_line(setup->log, LOG_WARNING, "--control %s acts in no step: %s",
               map_word((enum map_kind)(values->control[i] - 1)),
               values->control_start[i] < values->control_end[i]
                   ? "no noise that the strength covers lies between its start and end"
                   : "its start is not below its end");
}

/* Logs a warning if style pictures are given and --style-layers selects no layer that this model has. */
static void check_style_layers(const struct engine *engine, const struct setup *setup) {
  static const char *const words[] = {"all", "style", "composition", "both"};
  int layers = setup->options->values.style_layers[0];
  struct engine_info info;
  engine_get_info(engine, &info);
  bool look = info.style_parts[STYLE_LOOK] && (layers == STYLE_LAYERS_LOOK || layers == STYLE_LAYERS_BOTH);
  bool composition =
      info.style_parts[STYLE_COMPOSITION] && (layers == STYLE_LAYERS_COMPOSITION || layers == STYLE_LAYERS_BOTH);
  if (setup->options->style_count && layers != STYLE_LAYERS_ALL && !look && !composition)
    log_line(setup->log, LOG_WARNING, "--style-layers %s leaves nothing of the picture: this model has no such layers",
             words[layers]);
}

static void check_stream_batch(const struct prepared *prepared, const struct setup *setup) {
  struct prepared_info own;
  prepared_get_info(prepared, &own);
  if (own.shape.stream_batch && !own.frames_behind)
    log_line(setup->log, LOG_WARNING, "--stream-batch does nothing in one step");
}

void setup_print_behind(FILE *out, const struct prepared_info *prepared, double fps) {
  int behind = prepared->frames_behind;
  if (behind && fps > 0)
    fprintf(out, "stream batch: a picture comes %d frame%s after its own, %.1f ms at %.2f fps\n", behind,
            behind == 1 ? "" : "s", behind * 1e3 / fps, fps);
}

int setup_prepare(struct engine *engine, const struct engine_shape *shape, struct prepared **prepared,
                  struct error *err) {
  if (!engine_prepare(engine, shape, prepared, err))
    return 0;
  return engine_fall_back(engine, err) || engine_prepare(engine, shape, prepared, err) ? -1 : 0;
}

/* Prepares a handle (one size, sampler and step count) for pictures whose longest side is the largest with which the
 * device is fast enough. Returns false, without a handle, if this side is not longer than setup->longest, or if memory
 * does not suffice. */
static bool prepare_larger(struct engine *engine, const struct setup *setup, const struct engine_shape *shape,
                           struct prepared **prepared) {
  struct engine_info device;
  struct engine_shape larger = *shape;
  struct error err;
  engine_get_info(engine, &device);
  if (!setup->larger || setup->options->values.size.width || !setup->info || device.longest_side <= setup->longest)
    return false;
  choose_size(&larger, setup, device.longest_side);
  if (!engine_prepare(engine, &larger, prepared, &err))
    return true;
  log_line(setup->log, LOG_INFO, "%dx%d instead of %dx%d: %s", shape->width, shape->height, larger.width, larger.height,
           err.message);
  return false;
}

/* Prepares a handle (one size, sampler and step count) that takes several frames per run, if that is faster on the
 * device, setup->batch allows it, the user gave no --batch, and memory suffices. Otherwise returns false, without a
 * handle, and one frame per run is used. */
static bool prepare_batch(struct engine *engine, const struct setup *setup, const struct engine_shape *shape,
                          struct prepared **prepared) {
  struct engine_info device;
  struct engine_shape several = *shape;
  struct error err;
  engine_get_info(engine, &device);
  if (setup->options->batch)
    return false;
  several.batch = setup->batch < device.batch ? setup->batch : device.batch;
  for (; several.batch > 1; several.batch /= 2) {
    if (!engine_prepare(engine, &several, prepared, &err))
      return true;
    log_line(setup->log, LOG_INFO, "not %d frames a run: %s", several.batch, err.message);
  }
  return false;
}

/* Returns 0; or -1 with err if feedback of the last picture is asked for but has no effect, because at this strength
 * the network starts from noise alone and not from a picture. */
static int check_feedback(const struct engine *engine, struct prepared *prepared, const struct setup *setup,
                          struct error *err) {
  struct controls controls;
  make_controls(&controls, engine, prepared, setup->options);
  if (controls.feedback <= 0 || engine_feeds_back(engine, prepared, &controls))
    return 0;
  return error_set(err, STATUS_USAGE,
                   "--feedback: at --strength %g this model starts from noise alone, which no picture can join",
                   (double)controls.strength);
}

int setup_engine(struct engine **engine, struct prepared **prepared, const struct setup *setup, struct error *err) {
  struct engine_wish params;
  *engine = NULL;
  if (setup_params(&params, setup, err) || engine_open(engine, &params.engine, err))
    return -1;
  if (!choose_chunks(*engine, setup->options, &params.shape.chunks, err) &&
      (prepare_larger(*engine, setup, &params.shape, prepared) ||
       prepare_batch(*engine, setup, &params.shape, prepared) ||
       !setup_prepare(*engine, &params.shape, prepared, err))) {
    check_negative(*engine, *prepared, setup);
    check_guidance(*engine, setup);
    check_eta(*prepared, setup);
    check_stream_batch(*prepared, setup);
    check_controls(setup);
    check_control_ends(*engine, *prepared, setup);
    check_style_layers(*engine, setup);
    if (!check_feedback(*engine, *prepared, setup, err) && !weigh_adapters(*engine, &setup->options->values, err) &&
        !set_prompts(*engine, setup->options, err) && !set_styles(*engine, setup, err))
      return 0;
  }
  engine_close(engine);
  return -1;
}

int setup_shape(struct engine_shape *shape, const struct setup *setup, struct error *err) {
  struct engine_wish params;
  if (setup_params(&params, setup, err))
    return -1;
  *shape = params.shape;
  return 0;
}

int setup_again(struct engine *engine, struct prepared **prepared, const struct setup *setup, bool makes_do,
                struct error *err) {
  struct engine_shape shape;
  if (setup_shape(&shape, setup, err) || choose_chunks(engine, setup->options, &shape.chunks, err))
    return -1;
  if (prepare_batch(engine, setup, &shape, prepared))
    return 0;
  return makes_do ? setup_prepare(engine, &shape, prepared, err) : engine_prepare(engine, &shape, prepared, err);
}

void setup_controls(struct controls *controls, const struct options *options, const struct engine_info *info,
                    const struct prepared_info *prepared) {
  struct parameters values = options->values;
  values_follow_engine(&values, info, prepared);
  values_controls(&values, controls);
}
