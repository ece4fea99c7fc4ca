/* Convolutions by Winograd's algorithm, whose arithmetic is in cpu_winograd.c, and by matrix units (cpu_tiles.c). This
 * file decides which convolutions use them, and prepares their weights and inputs. */
#include <stdlib.h>

#include "unet/cpu/cpu_conv.h"
#include "unet/cpu/cpu_fast.h"
#include "unet/cpu/cpu_memory.h"
#include "unet/cpu/cpu_tiles.h"
#include "unet/cpu/cpu_weights.h"

/* Below these limits Winograd's algorithm is slower than a direct convolution. CHANNELS_LEAST: least number of input
 * channels; with fewer the transforms take too long. TILES_LEAST: least number of tiles of 4x4 outputs. The transformed
 * weights are four times as large; with fewer tiles, reading them takes longer than the algorithm saves.
 * TILES_LEAST_LARGE: the same for weights of more than LARGE bytes, which do not fit into the caches. */
enum { CHANNELS_LEAST = 16, TILES_LEAST = 16, TILES_LEAST_LARGE = 64, LARGE = 16 << 20 };

/* Returns true for a convolution 3x3 with stride 1 whose result is as large as its input. */
static bool is_plain(const struct op *op) {
  const struct op_conv *c = &op->conv;
  return op->type == OP_CONV && c->weight.h == 3 && c->stride == 1 && c->pad == 1 && !c->pad_end_only;
}

bool cpu_winograd_takes(const struct op *op) {
  const struct op_conv *c = &op->conv;
  if (!is_plain(op))
    return false;
  size_t tiles = (size_t)c->y.n * (size_t)((c->y.h + 3) / 4) * (size_t)((c->y.w + 3) / 4);
  size_t bytes = (size_t)c->weight.n * (size_t)c->weight.c * 36 * sizeof(float);
  return c->weight.c >= CHANNELS_LEAST && tiles >= (bytes < LARGE ? TILES_LEAST : TILES_LEAST_LARGE);
}

/* The matrix units take 32 input channels at a time. Of narrower results they would compute many pixels that are not
 * there: 32 pixels of a row are computed together, or 64 where there are few output channels. */
enum { TILES_DEPTH = 32, TILES_WIDTH_LEAST = 32, TILES_FEW = 16, TILES_WIDTH_LEAST_FEW = 64 };

bool cpu_tiles_takes(const struct op *op) {
  const struct op_conv *c = &op->conv;
  return is_plain(op) && c->weight.c % TILES_DEPTH == 0 &&
         c->y.w >= (c->weight.n > TILES_FEW ? TILES_WIDTH_LEAST : TILES_WIDTH_LEAST_FEW);
}

/* --- adding biases from the time embedding (time rows), one for each picture --- */

static void add_row(void *y, enum dtype dtype, const float *row, int count) {
  float *f32 = y;
  uint16_t *bf16 = y;
  for (int c = 0; c < count; c++)
    if (dtype == DTYPE_BF16)
      bf16[c] = f32_to_bf16(bf16_to_f32(bf16[c]) + row[c]);
    else
      f32[c] += row[c];
}

void cpu_add_times(const struct cpu_program *program, const struct op_conv *op) {
  if (op->time.n <= 1)
    return;
  const float *time = cpu_f32(program, op->time);
  enum dtype dtype = cpu_dtype(program, op->y);
  char *y = cpu_data(program, op->y);
  size_t rows = (size_t)op->y.h * (size_t)op->y.w, row = (size_t)op->y.c * dtype_size(dtype);
#pragma omp parallel for
  for (size_t i = 0; i < (size_t)op->y.n * rows; i++)
    add_row(y + i * row, dtype, time + i / rows * (size_t)op->time.pitch, op->y.c);
}

/* --- transforming the weights --- */

static int transform(struct device *base, const struct derived *copy, struct error *err) {
  struct cpu_device *device = (struct cpu_device *)base;
  const struct resource *source = &base->resources->list[copy->resource];
  float *temporary = NULL;
  const float *weight = cpu_peek(device, copy->resource, &temporary, err);
  if (weight)
    device->kernels->winograd_pack(weight, source->n, source->c, copy->data);
  free(temporary);
  return weight ? 0 : -1;
}

static int pack(struct device *base, const struct derived *copy, struct error *err) {
  const struct resource *source = &base->resources->list[copy->resource];
  float *temporary = NULL;
  const float *weight = cpu_peek((struct cpu_device *)base, copy->resource, &temporary, err);
  if (weight)
    ((struct cpu_device *)base)->tiles->pack(weight, source->n, source->c, copy->data);
  free(temporary);
  return weight ? 0 : -1;
}

static const struct form transformed = {.make = transform}, packed = {.make = pack};

/* --- running a convolution --- */

/* How a convolution's scratch memory is divided; all offsets are in bytes. The kernel's own scratch is at 0. vector_at:
 * the sum of the bias and the time row (bias from the time embedding). work_at: scratch for cpu_gather; input_at: the
 * input after concatenation, norm and activation; both are used only if `gathered` is true. */
struct plan_of_scratch {
  struct cpu_input input;
  enum dtype dtype; /* type of the input that the kernel reads, if it is gathered */
  bool gathered;
  size_t vector_at, work_at, input_at, total;
};

static struct plan_of_scratch plan_scratch(const struct cpu_program *program, const struct op_conv *op, bool by_tiles) {
  const struct cpu_device *device = program->device;
  struct plan_of_scratch s = {.input = {.x = op->x, .x2 = op->x2, .prologue = &op->prologue},
                              .dtype = by_tiles ? DTYPE_BF16 : DTYPE_F32};
  size_t own = by_tiles ? device->tiles->scratch(op->y.w, op->weight.c)
                        : device->kernels->winograd_scratch(op->weight.c) * sizeof(float);
  s.gathered = tensor_exists(op->x2) || op->prologue.norm != NORM_NONE || op->prologue.act != ACT_NONE ||
               (by_tiles && cpu_dtype(program, op->x) != DTYPE_BF16);
  cpu_bump(&s.total, (size_t)device->threads * own);
  s.vector_at = cpu_bump(&s.total, (size_t)op->y.c * sizeof(float));
  s.work_at = cpu_bump(&s.total, s.gathered ? cpu_gather_scratch(&s.input) : 0);
  size_t elements = tensor_rows(op->x) * (size_t)(op->x.c + op->x2.c);
  s.input_at = cpu_bump(&s.total, s.gathered ? elements * dtype_size(s.dtype) : 0);
  return s;
}

static int winograd_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  struct tensor weight = node->op->conv.weight;
  struct cpu_device *device = program->device;
  cpu_reserve(program, plan_scratch(program, &node->op->conv, false).total);
  node->state = cpu_derive(device, weight.index, &transformed, NULL,
                           device->kernels->winograd_packed(weight.n, weight.c) * sizeof(float), err);
  return node->state ? 0 : -1;
}

static int tiles_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  struct tensor weight = node->op->conv.weight;
  cpu_reserve(program, plan_scratch(program, &node->op->conv, true).total);
  node->state = cpu_derive(program->device, weight.index, &packed, NULL,
                           program->device->tiles->packed(weight.n, weight.c) * sizeof(uint16_t), err);
  return node->state ? 0 : -1;
}

/* Returns the values that are added to each output channel: the sum of bias and time row (bias from the time
 * embedding), either of which may be missing; NULL if both are. */
static const float *offsets(const struct cpu_program *program, const struct op_conv *op, float *sum) {
  const float *bias = cpu_f32(program, op->bias), *time = cpu_f32(program, cpu_time_of_all(op));
  if (!bias || !time)
    return bias ? bias : time;
  for (int c = 0; c < op->y.c; c++)
    sum[c] = bias[c] + time[c];
  return sum;
}

static void run_conv(const struct cpu_run *run, const struct cpu_node *node, bool by_tiles) {
  const struct cpu_program *p = run->program;
  const struct op_conv *op = &node->op->conv;
  struct plan_of_scratch s = plan_scratch(p, op, by_tiles);
  char *scratch = p->scratch;
  const void *x = cpu_data(p, op->x);
  if (s.gathered) {
    cpu_gather(p, &s.input, scratch + s.input_at, s.dtype, scratch + s.work_at);
    x = scratch + s.input_at;
  }
  (by_tiles ? p->device->tiles->conv : p->device->kernels->winograd)(&(struct conv3x3){
      .x = x,
      .x_dtype = s.gathered ? s.dtype : cpu_dtype(p, op->x),
      .n = op->x.n,
      .h = op->x.h,
      .w = op->x.w,
      .c = op->weight.c,
      .upsample = op->upsample,
      .weight = node->state,
      .bias = offsets(p, op, (float *)(scratch + s.vector_at)),
      .residual = cpu_data(p, op->residual),
      .residual_dtype = cpu_dtype(p, op->residual),
      .act = op->act,
      .y = cpu_data(p, op->y),
      .y_dtype = cpu_dtype(p, op->y),
      .c_out = op->y.c,
      .scratch = scratch,
  });
  cpu_add_times(p, op);
}

static void winograd_run(const struct cpu_run *run, const struct cpu_node *node) {
  run_conv(run, node, false);
}

static void tiles_run(const struct cpu_run *run, const struct cpu_node *node) {
  run_conv(run, node, true);
}

const struct cpu_impl cpu_winograd_conv = {
    .prepare = winograd_prepare, .run = winograd_run, .takes_bf16 = true, .packs_weight = true};
const struct cpu_impl cpu_tiles_conv = {
    .prepare = tiles_prepare, .run = tiles_run, .takes_bf16 = true, .packs_weight = true};
