/* Style pictures: opens the IP-Adapter, and computes the attention keys and values of up to STYLES_MAX pictures. The
 * device has memory for two sets of them for each picture: frames read the current set while the next one is computed
 * in the background. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unet/engine/engine_impl.h"
#include "unet/engine/style_picture.h"

struct engine_style {
  struct style_format format;
  float values[];
};

static size_t count_values(const struct style_format *format) {
  int whole = format->size / format->patch * format->patch;
  return 3 * (size_t)whole * (size_t)whole;
}

struct style_format style_pictures_format(const struct engine *engine) {
  const struct ip_adapter *a = engine->styles.adapter;
  return a ? (struct style_format){a->vision.image_size, a->vision.patch_size} : (struct style_format){0};
}

/* --- opening the IP-Adapter, and preparing the plans that compute keys and values of style pictures --- */

static int open_adapter(struct engine *engine, const struct engine_params *params, struct error *err) {
  struct style_pictures *s = &engine->styles;
  struct tensor none;
  int opened = params->ip_adapter ? ip_adapter_open(&s->adapter, params->ip_adapter, params->image_encoder, err)
                                  : ip_adapter_open_own(&s->adapter, params->model, err);
  if (opened < 0 ||
      style_init(&engine->model.style, s->adapter, engine->checkpoint->name, &engine->model.unet, &engine->resources,
                 err) < 0 ||
      plans_style(&engine->model, false, &s->plan, &s->input, err) < 0 ||
      plans_style(&engine->model, true, &s->none_plan, &none, err) < 0)
    return -1;
  return plans_check_style_unused(s->adapter, &engine->resources, &engine->weight_elements, err);
}

int style_pictures_open(struct engine *engine, const struct engine_params *params, struct error *err) {
  struct style_pictures *s = &engine->styles;
  s->has_own = ip_adapter_is_in(params->model);
  s->takes_own = params->own_adapter;
  if (params->image_encoder && !params->ip_adapter)
    return error_set(err, STATUS_USAGE, "--image-encoder: there is no --ip-adapter that would read what it says");
  if (!params->ip_adapter && !(s->takes_own && s->has_own))
    return 0;
  if (open_adapter(engine, params, err) == 0)
    return 0;
  const struct error why = *err;
  return params->ip_adapter
             ? -1
             : error_set(err, why.status,
                         "%.340s: this is the model's own IP-Adapter, which style pictures need: get the "
                         "model's folder anew, or give another with --ip-adapter",
                         why.message);
}

/* Computes, once, the keys and values that stand for no picture, which are read for the negative prompt. */
static int make_none(struct engine *engine, struct error *err) {
  struct program *program = NULL;
  const struct run_params run = {.slot = STYLE_NONE};
  int status = device_prepare(engine->device, &program, &engine->styles.none_plan, &(struct program_options){0}, err);
  status = status ? status : device_run(engine->device, program, &run, err);
  device_release(engine->device, &program);
  return status;
}

int style_pictures_begin(struct engine *engine, struct error *err) {
  struct style_pictures *s = &engine->styles;
  if (!s->adapter)
    return 0;
  if (background_prepare(engine, &s->program, &s->plan, err) < 0 || make_none(engine, err) < 0)
    return -1;
  for (int i = 0; i < STYLES_MAX; i++)
    s->list[i].started = s->list[i].shown = 0;
  return 0;
}

void style_pictures_leave(struct engine *engine) {
  device_release(engine->device, &engine->styles.program);
}

void style_pictures_close(struct engine *engine) {
  struct style_pictures *s = &engine->styles;
  for (int i = 0; i < STYLES_MAX; i++)
    free(s->list[i].patches);
  plan_free(&s->plan);
  plan_free(&s->none_plan);
  ip_adapter_close(&s->adapter);
}

/* --- setting and clearing style pictures --- */

int engine_read_style(const struct style_format *format, const struct frame *frame, struct engine_style **out,
                      struct error *err) {
  *out = NULL;
  if (!format->size)
    return error_set(err, STATUS_USAGE, "a style picture needs an IP-Adapter, given with --ip-adapter");
  if (frame->width < 1 || frame->height < 1 || !frame->plane[0])
    return error_set(err, STATUS_INPUT, "the style picture has no pixels");
  if (frame_wait(frame, MEMORY_HOST, err) < 0)
    return -1;
  struct engine_style *style = malloc(sizeof *style + count_values(format) * sizeof *style->values);
  if (!style)
    return error_set(err, STATUS_FAILED, "out of memory");
  style->format = *format;
  if (style_patches(format, frame, style->values, err) < 0) {
    free(style);
    return -1;
  }
  *out = style;
  return 0;
}

void engine_free_style(struct engine_style **style) {
  free(*style);
  *style = NULL;
}

int engine_set_style(struct engine *engine, int slot, const struct engine_style *style, struct error *err) {
  if (slot < 0 || slot >= STYLES_MAX)
    return error_set(err, STATUS_USAGE, "style %d: there are styles 1 to %d", slot + 1, STYLES_MAX);
  struct style_slot *s = &engine->styles.list[slot];
  const struct style_format format = style_pictures_format(engine);
  float *patches = NULL;
  if (style && !format.size)
    return error_set(err, STATUS_USAGE, "a style picture needs an IP-Adapter, given with --ip-adapter");
  if (style && (style->format.size != format.size || style->format.patch != format.patch))
    return error_set(err, STATUS_USAGE, "the style picture was read for another image encoder");
  if (style) {
    size_t bytes = count_values(&format) * sizeof *patches;
    patches = malloc(bytes);
    if (!patches)
      return error_set(err, STATUS_FAILED, "out of memory");
    memcpy(patches, style->values, bytes);
  }
  free(s->patches);
  s->patches = patches;
  s->wanted = style ? ++engine->styles.pictures : 0;
  return 0;
}

bool engine_has_style(const struct engine *engine, int slot) {
  return slot >= 0 && slot < STYLES_MAX && engine->styles.list[slot].wanted;
}

/* --- which style pictures act on a frame, and computing keys and values of new style pictures --- */

/* Returns true if a picture's keys and values are being computed. Only one picture can be computed at a time, because
 * its patches are in a tensor that all pictures use. */
static bool is_waiting(const struct engine *engine) {
  const struct background *b = &engine->background;
  for (int i = b->first; i < b->count; i++)
    if (b->jobs[i].program == engine->styles.program)
      return true;
  return false;
}

/* Starts to compute the keys and values of the picture in this slot (place for a style picture). A slot has memory for
 * two sets of them; frames read one, and the new ones are written to the other. */
static int start(struct engine *engine, int slot, struct error *err) {
  struct style_pictures *styles = &engine->styles;
  struct style_slot *s = &styles->list[slot];
  const struct run_params run = {.slot = 2 * slot + !s->place};
  if (device_write(engine->device, styles->program, styles->input, 0, s->patches, tensor_elements(styles->input), err) <
          0 ||
      background_start(engine, styles->program, &run, err) < 0)
    return -1;
  s->started = s->wanted;
  return 0;
}

/* For each slot of a style picture: if the new picture's keys and values are computed, makes frames read them; if not,
 * starts to compute them, provided that the device is free for that. Returns 1 if frames read all style pictures that
 * were set, 0 if some are not ready, -1 on failure. */
static int refresh(struct engine *engine, struct error *err) {
  bool whole = true;
  for (int i = 0; i < STYLES_MAX; i++) {
    struct style_slot *s = &engine->styles.list[i];
    if (!s->wanted)
      s->started = s->shown = 0;
    if (s->wanted != s->started && !is_waiting(engine) && start(engine, i, err) < 0)
      return -1;
    if (s->started != s->shown && !is_waiting(engine)) {
      s->shown = s->started;
      s->place = !s->place;
    }
    whole = whole && s->shown == s->wanted;
  }
  return whole;
}

static void fill(struct style_pictures *styles, const struct controls *controls, struct run_params *run) {
  static const float parts[STYLE_LAYERS][STYLE_PARTS] = {
      [STYLE_LAYERS_ALL] = {1, 1, 1},
      [STYLE_LAYERS_LOOK] = {[STYLE_LOOK] = 1},
      [STYLE_LAYERS_COMPOSITION] = {[STYLE_COMPOSITION] = 1},
      [STYLE_LAYERS_BOTH] = {[STYLE_LOOK] = 1, [STYLE_COMPOSITION] = 1},
  };
  for (int i = 0; i < STYLES_MAX; i++) {
    const struct style_slot *s = &styles->list[i];
    const struct control_style *c = &controls->style[i];
    float weight = c->weight > 0 ? c->weight : 0;
    run->style[i] = (struct style_params){.slot = 2 * i + s->place};
    run->style[i].weight = !s->shown ? 0 : weight < STYLE_WEIGHT_MAX ? weight : STYLE_WEIGHT_MAX;
    styles->share = fminf(fmaxf(styles->share, run->style[i].weight), 1);
    memcpy(run->style[i].part, parts[c->layers < STYLE_LAYERS ? c->layers : 0], sizeof run->style[i].part);
  }
}

int style_pictures_fill(struct engine *engine, const struct prepared *prepared, const struct controls *controls,
                        bool at_once, struct run_params *run, struct error *err) {
  struct background *b = &engine->background;
  engine->styles.share = 0;
  if (!engine->styles.adapter || !prepared->shape.styles)
    return 1;
  bool before = b->at_once;
  b->at_once = at_once;
  int status = refresh(engine, err);
  b->at_once = before;
  if (status >= 0)
    fill(&engine->styles, controls, run);
  return status;
}
