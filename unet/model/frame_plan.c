/* plans_frame, which makes the plan of a frame, from the source's pixels to the picture's. Its ops first read and
 * encode the input and make maps of it; then each step of the sampler calls the U-Net; at the end the latent is
 * decoded. */
#include <stdio.h>

#include "unet/model/canvas.h"
#include "unet/model/carry.h"
#include "unet/model/frame_states.h"
#include "unet/model/maps.h"
#include "unet/model/motion.h"

enum { UNROLLED_MAX = 4 };

/* Appends the ops that join the keys and values of each prompt's chunks (a long prompt is encoded in several) to one
 * sequence, and returns the sequences of all prompts. */
static struct tensor prompt_keys(const struct tensor keys[PROMPT_CHUNKS_MAX], const struct frame_shape *shape) {
  int chunks = shape->chunks ? shape->chunks : 1;
  struct tensor whole = keys[chunks - 1];
  whole.n /= chunks;
  whole.w *= chunks;
  return whole;
}

/* The tensors that the ops of all sampling steps read or change, while these ops are appended to a frame's plan. */
struct denoising {
  const struct model *model;
  const struct frame_shape *shape;
  struct plan *plan;
  /* noise and mask as the networks read them: both already moved to the frame's place on the canvas (the plane that
   * follows the camera), or the noise already moved with the picture */
  const struct frame_noise *noise;
  const struct canvas *canvas;
  struct tensor x, image, kept;
  /* residual guidance: the latent from which the residual prediction is computed. It is the input's latent, or a
   * temporary that the first step fills. No tensor: zeros are used */
  struct tensor reference;
  struct tensor times;
  /* predictions of earlier steps, for a multistep sampler. No tensor: the sampler uses only the prediction of the
   * present step */
  struct tensor earlier;
  struct bank bank;
  /* number of the first op of the input's encoder, beside which ControlNets may read their maps; -1: there is none */
  int encoder;
  struct control_features features[CONTROLS_MAX];
};

/* The data with which the ops of one call of the U-Net are appended to the plan. */
struct call {
  /* number of the U-Net's call, from 0; in a loop that of the first iteration. If the call has several latents (stream
   * batch), this is the sampler step of the first one */
  int step;
  bool loop;
  int rows; /* number of guidance rows (copies of a latent for several prompts) of all latents together */
  /* the rows of the tables of time projections that belong to this call: `first` to `first` + count - 1 */
  int first, count;
  struct op_prompt prompt; /* op that blends the prompts for each guidance row; its field `slots` is not set */
  struct tensor text;      /* keys and values that the U-Net reads in this call: a blend of the keys and values of the
                            * prompts */
};

/* The arguments of add_levels (for T2I-Adapters) and inject_all (for ControlNets), which add the results of the
 * controls' networks to the tensors of a U-Net call. */
struct controlled {
  const struct denoising *d;
  struct control_place place;
};

static struct tensor input_of(const struct denoising *d, const struct call *call, bool latent_alone) {
  struct op_unet_input input = {.x = d->x, .y.n = call->rows};
  input.image_rows = d->shape->rows.first == 3 || d->model->checkpoint->inpainting ? 3 : 1;
  if (!latent_alone) {
    input.kept = d->kept;
    input.image = d->image;
  }
  if (frame_is_batched(d->shape))
    input.rows = d->shape->rows.each, input.first = d->shape->rows.first;
  else
    input.rows = call->rows / frame_pictures(d->shape);
  return plan_unet_input(d->plan, latent_alone ? "latent" : "input", input);
}

static void add_levels(const void *opaque, const struct unet_layer *layer, struct tensor x) {
  const struct controlled *c = opaque;
  for (int i = 0; layer->level && i < CONTROLS_MAX; i++)
    if (c->d->shape->controls >> i & 1)
      control_add_level(&c->d->model->controls[i], &c->place, &c->d->features[i], layer, x);
}

/* Appends all ControlNets, which change the outputs of the down blocks and the middle block before the up blocks read
 * them. */
static void inject_all(const struct controlled *c, const struct call *call, const struct skips *skips,
                       struct tensor mid) {
  const struct denoising *d = c->d;
  for (int i = 0; i < CONTROLS_MAX; i++) {
    if (!frame_has_controlnet(d->model, d->shape, i))
      continue;
    const struct control *control = &d->model->controls[i];
    const struct control_moment moment = {.times = frame_control_times_state(d->model, d->shape, i, d->plan),
                                          .keys = prompt_keys(control->keys, d->shape),
                                          .first = call->first,
                                          .count = call->count,
                                          .prompt = call->prompt};
    control_inject(control, &c->place, &d->features[i], &moment, skips, mid);
  }
}

static struct tensor call_unet(const struct denoising *d, const struct call *call) {
  struct tensor time = unet_time_rows(d->plan, d->times, call->first, call->count, call->loop);
  struct tensor x = input_of(d, call, false);
  struct unet_call unet = unet_begin(&d->model->unet, d->plan, time, call->text);
  struct controlled c = {
      .d = d,
      .place = {.plan = d->plan,
                .step = call->step,
                .loop = call->loop,
                .latents = frame_is_batched(d->shape) ? d->shape->steps : 1,
                .rows = frame_is_batched(d->shape) ? d->shape->rows : (struct guidance_rows){call->rows, call->rows},
                .x = x}};
  if (d->shape->controls) {
    if (tensor_exists(d->image) || tensor_exists(d->kept))
      c.place.x = input_of(d, call, true);
    c.place.parallel_with = d->plan->op_count;
    unet.behind = add_levels;
    unet.opaque = &c;
  }
  unet.bank = d->bank;
  unet.bank.step = call->step;
  if (d->shape->styles)
    unet.style.slots = d->model->style.slots;
  int each = call->rows / frame_pictures(d->shape);
  unet.style.rows = frame_is_batched(d->shape) ? d->shape->rows : (struct guidance_rows){each, each};
  struct skips skips;
  struct tensor mid = unet_down(&unet, x, (struct tensor){0}, &skips);
  inject_all(&c, call, &skips, mid);
  return unet_up(&unet, mid, &skips);
}

/* Appends the op of guidance and returns the guided prediction; without guidance, returns the network's own
 * prediction. */
static struct tensor guide(const struct denoising *d, struct tensor prediction, int step) {
  enum guidance_mode mode = d->shape->guidance;
  struct op_guide op = {.step = step, .model = prediction};
  if (frame_is_batched(d->shape))
    op.rows = d->shape->rows.each, op.first = d->shape->rows.first;
  else
    op.rows = prediction.n / d->x.n, op.together = d->x.n;
  bool residual = mode == GUIDANCE_SELF || mode == GUIDANCE_ONE_TIME;
  if (residual || d->x.n > 1)
    op.x = d->x;
  if (residual && (mode == GUIDANCE_SELF || step || frame_is_batched(d->shape)))
    op.reference = d->reference;
  if (mode == GUIDANCE_ONE_TIME && step == 0)
    op.anew = d->reference;
  return mode == GUIDANCE_NONE ? prediction : plan_guide(d->plan, "guide", op);
}

/* Appends the U-Net's call number `step` and the sampler's step after it. loop: true: these ops become the body of the
 * plan's loop, whose first iteration is call `step`; false: they run once. */
static void append_step(const struct denoising *d, int step, struct tensor text, bool loop) {
  const struct guidance_rows each = frame_time_rows(d->model, d->shape);
  int rows = frame_pictures(d->shape) * (step ? d->shape->rows.each : d->shape->rows.first);
  const struct call call = {.step = step,
                            .loop = loop,
                            .rows = rows,
                            .first = guidance_total(each, step),
                            .count = step ? each.each : each.first,
                            .prompt = {.y.n = rows},
                            .text = text};
  struct tensor y = guide(d, call_unet(d, &call), step);
  struct op_step op = {.step = step, .together = d->x.n, .x = d->x, .model = y, .earlier = d->earlier};
  if (step < d->shape->noise_samples)
    op.noise = d->noise->steps;
  plan_step(d->plan, "step", op);
}

/* Appends the op that blends the keys and values of the prompts, and returns its result. rows: number of guidance rows
 * (copies of a latent for several prompts) of each picture in the call. If it is 1, all pictures share one text;
 * otherwise each row has a text of its own. */
static struct tensor texts_of(const struct denoising *d, int rows) {
  int all = rows == 1 ? 1 : frame_pictures(d->shape) * rows;
  const struct op_prompt op = {.slots = prompt_keys(d->model->keys, d->shape), .y.n = all, .rows = rows};
  return unet_text(d->plan, "", op);
}

/* Appends the sampler's steps, each with a call of the U-Net. A few steps are unrolled, because a GPU takes 3 to 5 us
 * between iterations of a loop (H200). More steps become a loop, because preparing an unrolled step takes 10 ms. The
 * first step is always unrolled if it has another number of guidance rows (copies of a latent for several prompts) than
 * the rest. With a bank (keys and values of earlier frames), each step has ring buffers of its own, so all steps are
 * unrolled. */
static void denoise(const struct denoising *d) {
  const struct guidance_rows rows = d->shape->rows;
  bool loop = d->shape->steps > (d->bank.room ? BANK_CALLS_MAX : UNROLLED_MAX), apart = rows.first != rows.each;
  int written = loop ? apart : d->shape->steps;
  struct tensor text = texts_of(d, rows.first), later = text;
  if (apart && d->shape->steps > 1)
    later = texts_of(d, rows.each);
  for (int step = 0; step < written && !d->plan->failed; step++)
    append_step(d, step, step ? later : text, false);
  if (!loop)
    return;
  plan_loop_begin(d->plan, d->shape->steps - written);
  append_step(d, written, later, true);
  plan_loop_end(d->plan);
}

/* Makes a queue with one tensor for each frame of a stream batch (frames at different steps in one run), and returns
 * it. The queue is a state (a tensor that outlives a run). Appends the op that moves its entries back by one and writes
 * `newest`, this run's tensor, to the first entry. */
static struct tensor queue(const struct denoising *d, const char *name, struct tensor newest, enum demand demand) {
  if (!tensor_exists(newest))
    return newest;
  struct tensor rows = plan_state(d->plan, name, d->shape->steps, newest.h, newest.w, newest.c, demand);
  plan_shift(d->plan, name, (struct op_shift){.x = newest, .rows = rows});
  return rows;
}

/* Returns the entry of a stream batch's queue that is in its last step in this run: the last entry, that of the oldest
 * frame. */
static struct tensor oldest(const struct denoising *d, const char *name, struct tensor rows, bool precise) {
  if (!tensor_exists(rows))
    return rows;
  struct tensor last = tensor_pictures(rows, d->shape->steps - 1, 1);
  return plan_affine(d->plan, name, (struct op_affine){.x = last, .scale = 1, .precise = precise});
}

/* Makes a state with `each` latents for every frame of a stream batch, newest frame first, and returns it. In each run
 * all latents move back by one frame; the newest frame's are written later in the run, by that frame's first step. */
static struct tensor queue_of(const struct denoising *d, const char *name, int each) {
  int n = d->shape->steps * each;
  struct tensor rows = plan_state(d->plan, name, n, d->x.h, d->x.w, d->x.c, ELEMENT_PRECISE);
  plan_shift(d->plan, name, (struct op_shift){.rows = rows, .by = each});
  return rows;
}

static struct tensor batch_reference(const struct denoising *d) {
  switch (d->shape->guidance) {
  case GUIDANCE_SELF:
    return queue(d, "batch/references", d->reference, ELEMENT_PRECISE);
  case GUIDANCE_ONE_TIME:
    return queue_of(d, "batch/references", 1);
  default:
    return (struct tensor){0};
  }
}

/* Appends all steps of a stream batch as one call of the U-Net. Latent i of the call belongs to the frame submitted i
 * runs ago. */
static void denoise_batch(struct denoising *d) {
  const struct guidance_rows rows = d->shape->rows;
  int total = guidance_total(rows, d->shape->steps);
  bool one_text = rows.first == 1 && rows.each == 1;
  struct call call = {.rows = total, .count = d->times.n, .prompt = {.y.n = one_text ? 1 : total}};
  if (!one_text)
    call.prompt.rows = rows.each, call.prompt.first = rows.first;
  d->x = queue(d, "batch/latents", d->x, ELEMENT_PRECISE);
  d->kept = queue(d, "batch/kept", d->kept, ELEMENT_PRECISE);
  d->image = queue(d, "batch/images", d->image, ELEMENT_DEVICE);
  d->reference = batch_reference(d);
  struct op_prompt prompt = call.prompt;
  prompt.slots = prompt_keys(d->model->keys, d->shape);
  call.text = unet_text(d->plan, "", prompt);
  struct tensor y = guide(d, call_unet(d, &call), 0);
  struct op_step op = {.x = d->x, .model = y};
  if (d->shape->earlier)
    op.earlier = queue_of(d, "batch/earlier", d->shape->earlier);
  if (d->shape->noise_samples)
    op.noise = d->noise->steps;
  plan_step(d->plan, "step", op);
  d->x = oldest(d, "latent", d->x, true);
}

/* Returns the tensor that the U-Net reads of the input picture besides the sampler's latent: an inpainting network
 * reads the latent of the masked picture; InstructPix2Pix reads `own`, the picture's latent; other networks read
 * none. */
static struct tensor image_condition(const struct checkpoint *checkpoint, struct plan *plan, struct tensor pixels,
                                     struct tensor own, struct tensor kept) {
  const struct autoencoder *autoencoder = &checkpoint->autoencoder;
  const struct autoencoder_kind *kind = autoencoder_kind(autoencoder);
  if (checkpoint->inpainting) {
    struct op_mask mask = {.x = pixels, .kept = kept, .value = (1 + kind->black) / 2};
    return autoencoder_scaled(autoencoder, plan, kind->encode(autoencoder, plan, plan_mask(plan, "mask", mask)));
  }
  if (!checkpoint->image_condition)
    return (struct tensor){0};
  return checkpoint->image_scale == 1
             ? own
             : plan_affine(plan, "image latent", (struct op_affine){.x = own, .scale = checkpoint->image_scale});
}

/* A picture in the plan, and the factor and summand that convert its values to 0..1. */
struct picture {
  struct tensor pixels;
  /* `pixels` * scale + bias is 0 for black and 1 for white */
  float scale, bias;
};

static struct tensor map_state(const struct control *control, struct plan *plan, int h, int w) {
  char name[32];
  snprintf(name, sizeof name, "control %d map", 1 + control->index);
  return plan_state(plan, name, 1, h, w, 3, ELEMENT_DEVICE);
}

/* Appends the op that reads the second source's frame. It is in the region (ops that a run may skip) that computes the
 * control's map. If the frame is a map already (MAP_PICTURE), the op writes it directly to the map's state. */
static struct picture second_picture(const struct denoising *d, const struct control *control) {
  int h = d->shape->height, w = d->shape->width;
  struct op_pixels_in op = {.scale = 1, .source = 1, .y = {.h = h, .w = w}};
  if (control->map == MAP_PICTURE)
    op.y = map_state(control, d->plan, h, w);
  return (struct picture){plan_pixels_in(d->plan, "control in", op), 1, 0};
}

static bool is_map_already(const struct control *control, const struct picture *picture) {
  return control->map == MAP_PICTURE && picture->scale == 1 && picture->bias == 0;
}

/* Appends the ops that make the control's map [1, H, W, 3] in 0..1, and returns it. The ops are in a region (ops that a
 * run may skip), but the map can be shown in runs that skip them: it is a state, a tensor that outlives a run. */
static struct tensor make_map(const struct model *model, const struct control *control, struct plan *plan,
                              const struct picture *picture) {
  struct tensor x = picture->pixels;
  if (is_map_already(control, picture))
    return x;
  struct tensor y = map_state(control, plan, x.h, x.w);
  if (control->map == MAP_DEPTH)
    return depth_map(model->depth, plan, x, picture->scale, picture->bias, control->index, y);
  return map_of(plan, control->map, control->index, x, picture->scale, picture->bias, y);
}

/* Returns the map of control `index` for the frame whose picture this run outputs. map: the map of the newest frame,
 * made by this run. In a stream batch (frames at different steps in one run) the output is an older frame's picture,
 * and an earlier run has made its map. */
static struct tensor shown_map(const struct denoising *d, int index, struct tensor map) {
  char name[40];
  if (!frame_is_batched(d->shape))
    return map;
  snprintf(name, sizeof name, "batch/control %d maps", 1 + index);
  return oldest(d, name, queue(d, name, map, ELEMENT_DEVICE), false);
}

/* Appends the ops that compute the control's map and, from it, the features of the control's network, all in one region
 * (ops that a run may skip). Returns the map. A ControlNet's may run at the same time as the input's encoder. Its
 * other layers run beside the U-Net's later, so that a device has the workspaces of such ops anyway. */
static struct tensor read_map(struct denoising *d, const struct control *control, const struct picture *picture,
                              struct control_features *features) {
  if (!control->source && !control->network && is_map_already(control, picture))
    return picture->pixels; /* The input is the map already, and no network reads it, so no op is needed. */
  plan_region_begin(d->plan, (struct region_when){.kind = REGION_MAP, .index = control->index});
  const struct picture seen = control->source ? second_picture(d, control) : *picture;
  struct tensor map = make_map(d->model, control, d->plan, &seen);
  if (control->network)
    *features = control_read_map(control, d->plan, canvas_draw(d->canvas, d->plan, "canvas map", map));
  if (d->encoder >= 0 && control_is_controlnet(control))
    plan_region_end_parallel(d->plan, d->encoder);
  plan_region_end(d->plan);
  return map;
}

static void read_maps(struct denoising *d, const struct picture *picture, struct tensor maps[CONTROLS_MAX]) {
  for (int i = 0; i < CONTROLS_MAX; i++) {
    const struct control *control = &d->model->controls[i];
    if (!(d->shape->controls >> i & 1))
      continue;
    struct tensor map = read_map(d, control, picture, &d->features[i]);
    if (frame_is_batched(d->shape) && control->network)
      control_queue(control, d->plan, d->shape->steps, &d->features[i]);
    maps[i] = shown_map(d, i, map);
  }
}

/* Makes the states (tensors that outlive a run) for noise and mask, which the engine fills before a run. */
static void add_noise(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                      struct frame_noise *noise) {
  *noise = (struct frame_noise){.start = frame_noise_state(model, shape, plan, "noise/start", 1)};
  if (model->checkpoint->inpainting)
    noise->kept = plan_state(plan, "kept", 1, shape->height, shape->width, 1, ELEMENT_PRECISE);
  noise->steps = frame_noise_state(model, shape, plan, "noise/steps", shape->noise_samples);
  noise->second = frame_noise_state(model, shape, plan, "noise/second", shape->carried);
}

/* Appends the ops that measure how the input moved since the last frame, if the plan needs that, and returns their
 * results. pixels * scale + bias is in 0..1. */
static struct motion find_motion(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                                 struct tensor pixels, float scale, float bias) {
  bool fills_bank = shape->bank_room && !shape->text_to_image;
  if (!shape->canvas.lattice && !fills_bank && !shape->carried && !shape->feedback)
    return (struct motion){0};
  return motion_of(plan, pixels, scale, bias, model->checkpoint->autoencoder.scale);
}

/* Returns noise and mask as the networks read them. Either both are moved to the part of the canvas (the plane that
 * follows the camera) that the networks compute, or the noise is moved with the picture. */
static struct frame_noise noise_read(const struct model *model, const struct frame_shape *shape,
                                     const struct canvas *canvas, const struct motion *motion, struct plan *plan,
                                     const struct frame_noise *noise) {
  if (shape->carried)
    return carry_noise(plan, motion, noise, model->checkpoint->autoencoder.scale);
  return (struct frame_noise){.start = canvas_noise(canvas, plan, "canvas/start", noise->start),
                              .steps = canvas_noise(canvas, plan, "canvas/steps", noise->steps),
                              .kept = canvas_draw_mask(canvas, plan, "canvas/kept", noise->kept)};
}

static struct tensor read_pixels(const struct frame_shape *shape, struct plan *plan, float black) {
  const struct op_pixels_in op = {
      .scale = 1 - black, .bias = black, .y = {.n = frame_pictures(shape), .h = shape->height, .w = shape->width}};
  return plan_pixels_in(plan, "pixels in", op);
}

/* Makes a temporary with `each` latents for every picture of the run, which the first step will write. */
static struct tensor latents(const struct model *model, const struct frame_shape *shape, struct plan *plan, int each) {
  int scale = model->checkpoint->autoencoder.scale;
  return plan_input(plan, frame_pictures(shape) * each, frame_drawn_h(shape) / scale, frame_drawn_w(shape) / scale,
                    model->unet.config->out_channels, ELEMENT_PRECISE);
}

static void write_pixels(const struct frame_shape *shape, struct plan *plan, const struct picture *made,
                         struct tensor input, const struct tensor maps[CONTROLS_MAX]) {
  const struct op_pixels_out op = {.w = shape->picture_width,
                                   .h = shape->picture_height,
                                   .scale = made->scale,
                                   .bias = made->bias,
                                   .x = made->pixels,
                                   .input = input,
                                   .input_scale = made->scale,
                                   .input_bias = made->bias,
                                   .map0 = maps[0],
                                   .map1 = maps[1],
                                   .map2 = maps[2],
                                   .map3 = maps[3]};
  plan_pixels_out(plan, "pixels out", op);
}

int plans_frame(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                struct frame_noise *noise, struct error *err) {
  const struct autoencoder *autoencoder = &model->checkpoint->autoencoder;
  const struct autoencoder_kind *kind = autoencoder_kind(autoencoder);
  /* the autoencoder's pictures have values from kind->black to 1; value * scale + bias is in 0..1 */
  float range = 1 - kind->black, scale = 1 / range, bias = (0 - kind->black) / range;
  struct tensor pixels = {0}, drawn = {0}, seen = {0}, own = {0}, z = {0}, maps[CONTROLS_MAX] = {0};
  plan_init(plan, model->resources);
  add_noise(model, shape, plan, noise);
  if (model_reads_input(model, shape->text_to_image, shape->controls))
    seen = read_pixels(shape, plan, kind->black);
  const struct motion motion = find_motion(model, shape, plan, seen, scale, bias);
  struct bank bank = {0};
  if (shape->bank_room)
    bank = bank_begin(plan, shape->bank_room, shape->bank_levels, autoencoder->scale, motion.global);
  const struct canvas canvas = canvas_begin(&shape->canvas, plan, motion.global);
  const struct frame_noise laid = noise_read(model, shape, &canvas, &motion, plan, noise);
  int encoder = -1;
  if (!shape->text_to_image) {
    pixels = seen;
    drawn = canvas_draw(&canvas, plan, "canvas draw", pixels);
    encoder = plan->op_count;
    own = kind->encode(autoencoder, plan, drawn);
    z = autoencoder_scaled(autoencoder, plan, own);
  }
  struct tensor image = image_condition(model->checkpoint, plan, drawn, own, laid.kept);
  struct op_start start = {.z = z, .noise = laid.start};
  if (shape->feedback)
    carry_feed(plan, &motion, autoencoder->scale, &start);
  struct denoising d = {.model = model,
                        .shape = shape,
                        .plan = plan,
                        .noise = &laid,
                        .canvas = &canvas,
                        .x = plan_start(plan, "start", start),
                        .image = image,
                        .kept = laid.kept,
                        .reference = z,
                        .times = frame_times_state(model, shape, plan),
                        .bank = bank,
                        .encoder = encoder};
  if (shape->guidance == GUIDANCE_ONE_TIME && !frame_is_batched(shape))
    d.reference = latents(model, shape, plan, 1);
  if (shape->earlier && !frame_is_batched(shape))
    d.earlier = latents(model, shape, plan, shape->earlier);
  read_maps(&d, &(struct picture){seen, scale, bias}, maps);
  if (frame_is_batched(shape)) {
    denoise_batch(&d);
    pixels = oldest(&d, "pixels", queue(&d, "batch/pixels", pixels, ELEMENT_DEVICE), false);
  } else {
    denoise(&d);
  }
  if (shape->feedback)
    carry_keep(plan, start.last, d.x);
  struct tensor x = kind->decode(autoencoder, plan, autoencoder_unscaled(autoencoder, plan, d.x));
  x = canvas_cut_out(&canvas, plan, x);
  if (tensor_exists(pixels))
    plan_detail(plan, "detail", (struct op_detail){.x = pixels, .y = x});
  write_pixels(shape, plan, &(struct picture){x, scale, bias}, pixels, maps);
  return plan_finish(plan, err);
}

int plans_follow(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct error *err) {
  const struct autoencoder *autoencoder = &model->checkpoint->autoencoder;
  float black = autoencoder_kind(autoencoder)->black, range = 1 - black;
  int cell = autoencoder->scale;
  plan_init(plan, model->resources);
  struct tensor seen = read_pixels(shape, plan, black);
  const struct motion motion = find_motion(model, shape, plan, seen, 1 / range, (0 - black) / range);
  canvas_begin(&shape->canvas, plan, motion.global);
  if (shape->carried)
    carry_places(plan, &motion, frame_drawn_h(shape) / cell, frame_drawn_w(shape) / cell, cell);
  return plan_finish(plan, err);
}
