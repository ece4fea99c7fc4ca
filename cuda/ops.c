#include "cuda/ops.h"

#include <string.h>

#include "cuda/check.h"
#include "cuda/ops_carry.h"
#include "cuda/ops_motion.h"
#include "cuda/ways/choose.h"

static int append_sample(struct preparation *p,
                         cudaError_t (*enqueue)(const struct launch_queue *, const struct sample_args *),
                         const struct sample_args *args) {
  struct launch launch = {.kind = LAUNCH_SAMPLE};
  launch.sample.enqueue = enqueue;
  launch.sample.args = *args;
  launch.sample.args.block = p->program->block;
  return append(p, &launch);
}

/* --- functions that make launches from ops, one for each type of op --- */

static int prepare_norm(struct preparation *p) {
  const struct op_norm *o = &p->op->norm;
  const struct prologue *prologue = &o->prologue;
  enum dtype type = DTYPE_F16;
  void *x = operand_either(p, o->x, &type), *y = operand(p, o->y, ROLE_ANY);
  struct launch launch = {.kind = prologue->norm == NORM_NONE ? LAUNCH_GATHER : LAUNCH_NORM};
  if (prologue->norm == NORM_NONE)
    launch.gather = (struct gather_args){.x = x,
                                         .x_f32 = type == DTYPE_F32,
                                         .y = y,
                                         .n = o->x.n,
                                         .h = o->x.h,
                                         .w = o->x.w,
                                         .c = o->x.c,
                                         .pitch = o->x.c,
                                         .act = prologue->act};
  else
    launch.norm = (struct norm_args){.x = x,
                                     .x_f32 = type == DTYPE_F32,
                                     .gamma = operand(p, prologue->gamma, ROLE_VECTOR),
                                     .beta = operand(p, prologue->beta, ROLE_VECTOR),
                                     .y = y,
                                     .n = o->x.n,
                                     .pixels = o->x.h * o->x.w,
                                     .c = o->x.c,
                                     .pitch = o->x.c,
                                     .groups = prologue->norm == NORM_GROUP ? prologue->groups : 0,
                                     .eps = prologue->eps,
                                     .act = prologue->act,
                                     .partial = p->device->lane[p->program->lane].norm_partial};
  if (launch.kind == LAUNCH_NORM)
    launch.beside = (struct norm_beside){0};
  return append(p, &launch);
}

static int rows_of(struct tensor t) {
  return t.h * t.w;
}

/* Sets *workspace to memory for attention kernels; NULL: this attention needs none. All attention kernels that run one
 * after the other share it (struct lane). If it is too small, it is replaced by larger memory; the smaller memory is
 * not freed, because earlier programs use it. */
static int reserve_attention(struct preparation *p, const struct attn_args *args, void **workspace) {
  struct cuda_device *device = p->device;
  struct lane *lane = &device->lane[p->program->lane];
  size_t bytes = attention_workspace(&device->attention, args, ATTN_AUTO);
  if (bytes > lane->attention_bytes) {
    void *memory;
    if (cuda_keep(device, &memory, bytes, "attention", p->err) < 0 ||
        cuda_check(cudaMemsetAsync(memory, 0, bytes, device->preparing.queue.stream), "attention", p->err) < 0)
      return -1;
    lane->attention = memory;
    lane->attention_bytes = bytes;
  }
  *workspace = bytes ? lane->attention : NULL;
  return 0;
}

/* Adds a second segment of keys and values to an attention's arguments: the ring buffer with the keys and values of
 * earlier frames (the bank). */
static void add_second(struct preparation *p, const struct op_attention *o, struct attn_args *args) {
  if (!tensor_exists(o->k2))
    return;
  int32_t *bank = operand_whole(p, o->bank);
  args->k2 = operand(p, o->k2, ROLE_MATRIX);
  args->v2 = operand(p, o->v2, ROLE_MATRIX);
  args->k2_row = o->k2.pitch;
  args->v2_row = o->v2.pitch;
  args->k2_batch = o->k2.n == 1 ? 0 : (long)rows_of(o->k2) * o->k2.pitch;
  args->v2_batch = o->v2.n == 1 ? 0 : (long)rows_of(o->v2) * o->v2.pitch;
  args->Tk2 = rows_of(o->k2);
  args->count2 = bank ? &bank[BANK_COUNT] : NULL;
  args->count2_rows = o->k2.w;
}

static int prepare_attention(struct preparation *p) {
  const struct op_attention *o = &p->op->attention;
  struct attn_args args = {.q = operand(p, o->q, ROLE_MATRIX),
                           .k = operand(p, o->k, ROLE_MATRIX),
                           .v = operand(p, o->v, ROLE_MATRIX),
                           .o = operand(p, o->y, ROLE_ANY),
                           .B = o->q.n,
                           .H = o->heads,
                           .Tq = rows_of(o->q),
                           .Tk = rows_of(o->k),
                           .D = o->q.c / o->heads,
                           .q_row = o->q.pitch,
                           .k_row = o->k.pitch,
                           .v_row = o->v.pitch,
                           .o_row = o->y.pitch,
                           .q_batch = (long)rows_of(o->q) * o->q.pitch,
                           .k_batch = o->k.n == 1 ? 0 : (long)rows_of(o->k) * o->k.pitch,
                           .v_batch = o->v.n == 1 ? 0 : (long)rows_of(o->v) * o->v.pitch,
                           .o_batch = (long)rows_of(o->y) * o->y.pitch,
                           .scale = o->scale,
                           .causal = o->causal};
  add_second(p, o, &args);
  if (p->failed)
    return -1;
  bool supported = attention_supported(&p->device->attention, &args, ATTN_AUTO);
  struct launch launch = {.kind = supported ? LAUNCH_ATTENTION : LAUNCH_PLAIN_ATTENTION};
  launch.attention.args = args;
  if (supported && reserve_attention(p, &args, &launch.attention.workspace) < 0)
    return -1;
  return append(p, &launch);
}

static int prepare_recall(struct preparation *p) {
  const struct op_recall *o = &p->op->recall;
  struct launch launch = {.kind = LAUNCH_RECALL};
  launch.recall = (struct recall_args){.block = p->program->block,
                                       .cut = tensor_exists(o->cut) ? operand_whole(p, o->cut) : NULL,
                                       .bank = operand_whole(p, o->bank)};
  return append(p, &launch);
}

static int prepare_remember(struct preparation *p) {
  const struct op_remember *o = &p->op->remember;
  struct launch launch = {.kind = LAUNCH_REMEMBER};
  launch.remember = (struct remember_args){.bank = operand_whole(p, o->bank),
                                           .x = operand(p, o->x, ROLE_ANY),
                                           .ring = operand(p, o->ring, ROLE_ANY),
                                           .n = o->x.n,
                                           .tokens = rows_of(o->x),
                                           .c = o->x.c,
                                           .x_pitch = o->x.pitch,
                                           .room = o->ring.h};
  return append(p, &launch);
}

static int prepare_style(struct preparation *p) {
  const struct op_style *o = &p->op->style;
  struct launch launch = {.kind = LAUNCH_STYLE};
  launch.style = (struct style_args){.block = p->program->block,
                                     .q = operand(p, o->q, ROLE_ANY),
                                     .k = operand(p, o->k, ROLE_MATRIX),
                                     .v = operand(p, o->v, ROLE_MATRIX),
                                     .y = operand(p, o->y, ROLE_ANY),
                                     .n = o->q.n,
                                     .count = rows_of(o->q),
                                     .heads = o->heads,
                                     .d = o->q.c / o->heads,
                                     .tokens = o->k.w,
                                     .pitch = o->k.pitch,
                                     .last = o->k.n - 1,
                                     .q_pitch = o->q.pitch,
                                     .y_pitch = o->y.pitch,
                                     .scale = o->scale,
                                     .part = (int)o->part,
                                     .rows = guidance_rows(o->first, o->rows, o->y.n)};
  return append(p, &launch);
}

static int prepare_join(struct preparation *p) {
  const struct op_join *o = &p->op->join;
  struct launch launch = {.kind = LAUNCH_JOIN};
  launch.join = (struct join_args){.position = operand(p, o->position, ROLE_MATRIX),
                                   .y = operand(p, o->y, ROLE_ANY),
                                   .first = tensor_elements(o->x),
                                   .count = tensor_elements(o->y)};
  launch.join.x = operand_either(p, o->x, &launch.join.x_type);
  launch.join.x2 = operand_either(p, o->x2, &launch.join.x2_type);
  return append(p, &launch);
}

static int prepare_embed(struct preparation *p) {
  const struct op_embed *o = &p->op->embed;
  struct sample_args args = {.table = operand(p, o->token, ROLE_MATRIX),
                             .position = operand(p, o->position, ROLE_MATRIX),
                             .count = tensor_elements(o->y),
                             .c = o->y.c};
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_embed, &args);
}

static int prepare_timestep(struct preparation *p) {
  const struct op_timestep *o = &p->op->timestep;
  const struct guidance_rows rows = guidance_rows(o->first, o->rows, 1);
  struct sample_args args = {.count = tensor_elements(o->y),
                             .c = o->y.c,
                             .cos_first = o->cos_first,
                             .shift = o->shift,
                             .rows = rows,
                             .values = o->values};
  memcpy(args.value, o->value, sizeof args.value);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_timestep, &args);
}

static int prepare_guidance_embed(struct preparation *p) {
  const struct op_guidance_embed *o = &p->op->guidance_embed;
  struct sample_args args = {.count = tensor_elements(o->y), .c = o->y.c};
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_guidance_embed, &args);
}

static int prepare_time_row(struct preparation *p) {
  const struct op_time_row *o = &p->op->time_row;
  return append_sample(p, launch_time_row,
                       &(struct sample_args){.table = operand(p, o->table, ROLE_MATRIX),
                                             .y = operand(p, o->y, ROLE_ANY),
                                             .count = tensor_elements(o->y),
                                             .step = o->step});
}

static int prepare_store_slot(struct preparation *p) {
  const struct op_store_slot *o = &p->op->store_slot;
  struct sample_args args = {.count = tensor_elements(o->x), .n = o->ring ? o->slots.n : 0};
  args.x = operand_either(p, o->x, &args.x_type);
  args.y = operand_either(p, o->slots, &args.y_type);
  return append_sample(p, launch_store_slot, &args);
}

static int prepare_shift(struct preparation *p) {
  const struct op_shift *o = &p->op->shift;
  struct sample_args args = {.n = o->rows.n / (o->by ? o->by : 1)};
  args.count = tensor_elements(o->rows) / (size_t)args.n;
  args.x = operand_either(p, o->x, &args.x_type);
  args.y = operand_either(p, o->rows, &args.y_type);
  return append_sample(p, launch_shift, &args);
}

static int prepare_prompt(struct preparation *p) {
  const struct op_prompt *o = &p->op->prompt;
  const struct guidance_rows rows = guidance_rows(o->first, o->rows, o->y.n);
  return append_sample(p, launch_prompt,
                       &(struct sample_args){.table = operand(p, o->slots, ROLE_MATRIX),
                                             .note = tensor_exists(o->note) ? operand_whole(p, o->note) : NULL,
                                             .y = operand(p, o->y, ROLE_ANY),
                                             .count = tensor_elements(o->y) / (size_t)o->y.n,
                                             .n = o->y.n,
                                             .rows = rows});
}

static int prepare_end_token(struct preparation *p) {
  const struct op_end_token *o = &p->op->end_token;
  struct sample_args args = {.count = tensor_elements(o->y)};
  args.x = operand_either(p, o->x, &args.x_type);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_end_token, &args);
}

static int prepare_emphasis(struct preparation *p) {
  const struct op_emphasis *o = &p->op->emphasis;
  struct sample_args args = {.count = tensor_elements(o->x), .n = o->x.w, .c = o->x.c};
  args.x = operand_either(p, o->x, &args.x_type);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_emphasis, &args);
}

static int prepare_affine(struct preparation *p) {
  const struct op_affine *o = &p->op->affine;
  struct sample_args args = {.count = tensor_elements(o->y), .scale = o->scale, .shift = o->bias};
  args.x = operand_either(p, o->x, &args.x_type);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_affine, &args);
}

static int prepare_blocks(struct preparation *p) {
  const struct op_blocks *o = &p->op->blocks;
  struct sample_args args = {
      .count = tensor_elements(o->y), .w = o->y.w, .size = o->size, .c = o->x.c, .pitch = o->x.pitch, .mean = o->mean};
  args.x = operand_either(p, o->x, &args.x_type);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_blocks, &args);
}

static int at_least_one(int count) {
  return count ? count : 1;
}

static int prepare_between(struct preparation *p) {
  const struct op_between *o = &p->op->between;
  struct sample_args args = {.noise = operand(p, o->ends, ROLE_VECTOR),
                             .count = tensor_elements(o->noise),
                             .n = o->noise.n,
                             .together = at_least_one(o->pictures)};
  args.y = operand_either(p, o->noise, &args.y_type);
  return append_sample(p, launch_between, &args);
}

static int prepare_start(struct preparation *p) {
  const struct op_start *o = &p->op->start;
  if (tensor_exists(o->last))
    return prepare_feedback(p);
  struct sample_args args = {.noise = operand(p, o->noise, ROLE_VECTOR), .count = tensor_elements(o->y)};
  args.x = operand_either(p, o->z, &args.x_type);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_start, &args);
}

static int prepare_mask(struct preparation *p) {
  const struct op_mask *o = &p->op->mask;
  struct sample_args args = {.kept_pixels = operand(p, o->kept, ROLE_VECTOR),
                             .count = tensor_elements(o->y),
                             .size = (int)tensor_elements(o->kept),
                             .c = o->x.c,
                             .shift = o->value};
  args.x = operand_either(p, o->x, &args.x_type);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_mask, &args);
}

static int prepare_unet_input(struct preparation *p) {
  const struct op_unet_input *o = &p->op->unet_input;
  struct sample_args args = {.image = operand(p, o->image, ROLE_ANY),
                             .count = tensor_elements(o->y) / (size_t)o->y.n,
                             .n = o->y.n,
                             .rows = guidance_rows(o->first, o->rows, o->y.n),
                             .kept_pixels = operand(p, o->kept, ROLE_VECTOR),
                             .kept_n = o->kept.n,
                             .w = o->x.w,
                             .size = o->kept.w / o->x.w,
                             .c = o->x.c,
                             .c_image = o->image.c,
                             .image_rows = o->image_rows};
  args.x = operand_either(p, o->x, &args.x_type);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_unet_input, &args);
}

static int prepare_guide(struct preparation *p) {
  const struct op_guide *o = &p->op->guide;
  struct sample_args args = {.anew = operand(p, o->anew, ROLE_VECTOR),
                             .sums = p->device->lane[p->program->lane].norm_partial,
                             .count = tensor_elements(o->y) / (size_t)o->y.n,
                             .n = o->y.n,
                             .rows = guidance_rows(o->first, o->rows, o->model.n),
                             .step = o->step,
                             .together = at_least_one(o->together)};
  args.model = operand_either(p, o->model, &args.model_type);
  args.x = operand_either(p, o->x, &args.x_type);
  args.reference = operand_either(p, o->reference, &args.reference_type);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_sample(p, launch_guide_sums, &args) < 0 ? -1 : append_sample(p, launch_guide, &args);
}

static int prepare_step(struct preparation *p) {
  const struct op_step *o = &p->op->step;
  struct sample_args args = {.noise = operand(p, o->noise, ROLE_VECTOR),
                             .count = tensor_elements(o->x) / (size_t)o->x.n,
                             .n = o->x.n,
                             .step = o->step,
                             .together = at_least_one(o->together)};
  args.model = operand_either(p, o->model, &args.model_type);
  args.x = args.y = operand_either(p, o->x, &args.x_type);
  args.y_type = args.x_type;
  args.earlier = operand(p, o->earlier, ROLE_VECTOR);
  args.kept = o->earlier.n / o->x.n;
  return append_sample(p, launch_step, &args);
}

static int prepare_map(struct preparation *p) {
  const struct op_map *o = &p->op->map;
  struct launch launch = {.kind = LAUNCH_MAP};
  launch.map = (struct map_args){.block = p->program->block,
                                 .x = operand(p, o->x, ROLE_ANY),
                                 .y = operand(p, o->y, ROLE_ANY),
                                 .scratch = program_scratch(p->program, SCRATCH_PROLOGUE),
                                 .kind = o->kind,
                                 .control = o->control,
                                 .w = o->x.w,
                                 .h = o->x.h,
                                 .scale = 255 * o->scale,
                                 .bias = 255 * o->bias + 0.5f};
  return append(p, &launch);
}

static int prepare_pixels_in(struct preparation *p) {
  const struct op_pixels_in *o = &p->op->pixels_in;
  struct launch launch = {.kind = LAUNCH_PIXELS_IN};
  launch.pixels = (struct pixels_args){.block = p->program->block,
                                       .y = operand(p, o->y, ROLE_ANY),
                                       .n = o->y.n,
                                       .h = o->y.h,
                                       .w = o->y.w,
                                       .first = o->source * o->y.n,
                                       .scale = o->scale,
                                       .bias = o->bias};
  return append(p, &launch);
}

static int prepare_detail(struct preparation *p) {
  const struct op_detail *o = &p->op->detail;
  struct launch launch = {.kind = LAUNCH_DETAIL};
  launch.detail = (struct detail_args){.block = p->program->block,
                                       .x = operand(p, o->x, ROLE_ANY),
                                       .y = operand(p, o->y, ROLE_ANY),
                                       .n = o->x.n,
                                       .h = o->x.h,
                                       .w = o->x.w};
  return append(p, &launch);
}

static int prepare_pixels_out(struct preparation *p) {
  const struct op_pixels_out *o = &p->op->pixels_out;
  struct launch launch = {.kind = LAUNCH_PIXELS_OUT};
  launch.pixels = (struct pixels_args){.block = p->program->block,
                                       .x = operand(p, o->x, ROLE_ANY),
                                       .input = operand(p, o->input, ROLE_ANY),
                                       .n = o->x.n,
                                       .h = o->x.h,
                                       .w = o->x.w,
                                       .out_h = pixels_out_h(o),
                                       .out_w = pixels_out_w(o),
                                       .scale = o->scale,
                                       .bias = o->bias,
                                       .input_scale = o->input_scale,
                                       .input_bias = o->input_bias};
  for (int i = 0; i < CONTROLS_MAX; i++)
    launch.pixels.map[i] = operand(p, pixels_out_map(o, i), ROLE_ANY);
  return append(p, &launch);
}

static int append_depth(struct preparation *p,
                        cudaError_t (*enqueue)(const struct launch_queue *, const struct depth_args *),
                        const struct depth_args *args) {
  struct launch launch = {.kind = LAUNCH_DEPTH};
  launch.depth.enqueue = enqueue;
  launch.depth.args = *args;
  return append(p, &launch);
}

/* Returns the arguments that the ops which prepare a depth network's input or process its output have in common. */
static struct depth_args depth_args(struct preparation *p, struct tensor x, struct tensor y) {
  return (struct depth_args){.x = operand(p, x, ROLE_ANY),
                             .y = operand(p, y, ROLE_ANY),
                             .n = x.n,
                             .h = x.h,
                             .w = x.w,
                             .c = x.c,
                             .y_h = y.h,
                             .y_w = y.w,
                             .y_c = y.c};
}

static int prepare_patches(struct preparation *p) {
  const struct op_patches *o = &p->op->patches;
  struct depth_args args = depth_args(p, o->x, o->y);
  args.rows = o->rows;
  args.columns = o->columns;
  args.size = o->size;
  memcpy(args.scale, o->scale, sizeof args.scale);
  memcpy(args.bias, o->bias, sizeof args.bias);
  return append_depth(p, launch_patches, &args);
}

static int prepare_unpatch(struct preparation *p) {
  const struct op_unpatch *o = &p->op->unpatch;
  struct depth_args args = depth_args(p, o->x, o->y);
  args.columns = o->columns;
  args.size = o->size;
  args.skip = o->skip;
  return append_depth(p, launch_unpatch, &args);
}

static int prepare_resize(struct preparation *p) {
  const struct op_resize *o = &p->op->resize;
  struct depth_args args = depth_args(p, o->x, o->y);
  args.residual = operand(p, o->residual, ROLE_ANY);
  return append_depth(p, launch_resize, &args);
}

static int prepare_range(struct preparation *p) {
  const struct op_range *o = &p->op->range;
  struct depth_args args = depth_args(p, o->x, (struct tensor){0});
  args.range = operand(p, o->range, ROLE_VECTOR);
  args.means = p->device->lane[p->program->lane].norm_partial;
  args.size = o->size;
  args.rows = o->x.h / o->size;
  args.columns = o->x.w / o->size;
  args.block = p->program->block;
  args.control = o->control;
  if (!p->failed && (long)args.rows * args.columns > DEPTH_SQUARES_MAX)
    return error_set(p->err, STATUS_FAILED, "%s: more than %d squares are not supported", p->op->name,
                     DEPTH_SQUARES_MAX);
  return append_depth(p, launch_squares, &args) < 0 ? -1 : append_depth(p, launch_range, &args);
}

static int prepare_spread(struct preparation *p) {
  const struct op_spread *o = &p->op->spread;
  struct depth_args args = depth_args(p, o->x, o->y);
  args.range = operand(p, o->range, ROLE_VECTOR);
  return append_depth(p, launch_spread, &args);
}

static int prepare_product(struct preparation *p) {
  return product_prepare(p->device, p->program, p->program->base.plan, p->index, p->err);
}

static int prepare_conv(struct preparation *p) {
  const struct op_conv *o = &p->op->conv;
  if (prepare_product(p) < 0)
    return -1;
  if (o->time.n <= 1)
    return 0;
  return append_sample(p, launch_add_times,
                       &(struct sample_args){.table = operand(p, o->time, ROLE_ANY),
                                             .y = operand(p, o->y, ROLE_ANY),
                                             .count = tensor_elements(o->y) / (size_t)o->y.n,
                                             .n = o->y.n,
                                             .c = o->y.c,
                                             .pitch = o->time.pitch});
}

#define prepare_linear prepare_product

static int prepare_inject(struct preparation *p) {
  const struct op_inject *o = &p->op->inject;
  if (tensor_exists(o->weight))
    return prepare_product(p);
  struct sample_args args = {
      .y = operand(p, o->y, ROLE_ANY), .count = tensor_elements(o->y) / (size_t)o->y.n, .n = o->y.n, .c = o->x.n == 1};
  args.x = operand_either(p, o->x, &args.x_type);
  args.gain = (struct product_gain){.there = true,
                                    .block = p->program->block,
                                    .control = o->control,
                                    .step = o->step,
                                    .guess = inject_guess(o),
                                    .rows = guidance_rows(o->first, o->rows, o->y.n)};
  return append_sample(p, launch_inject, &args);
}

int op_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
               struct error *err) {
#define PREPARE(TYPE, field, ...) [OP_##TYPE] = prepare_##field,
  static int (*const prepare[OP_TYPES])(struct preparation *) = {OP_TABLE(PREPARE)};
  struct preparation p = {device, program, &plan->ops[index], index, err, false};
  return prepare[p.op->type](&p);
}

void op_scratch(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                size_t bytes[SCRATCH_AREAS]) {
  memset(bytes, 0, SCRATCH_AREAS * sizeof *bytes);
  if (is_product(op))
    product_scratch(device, program, op, bytes);
  if (op->type == OP_MAP)
    bytes[SCRATCH_PROLOGUE] = map_scratch_bytes(op->map.kind, op->map.x.w, op->map.x.h);
  if (motion_scratch(op))
    bytes[SCRATCH_PROLOGUE] = motion_scratch(op);
  if (advect_scratch(op))
    bytes[SCRATCH_PROLOGUE] = advect_scratch(op);
}
