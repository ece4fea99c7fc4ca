/* Implementations of ops by the vectorised kernels: each function collects operands, scratch memory and parameters for
 * a kernel, and calls the kernel. */
#include "unet/cpu/cpu_fast.h"
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_maps.h"
#include "unet/cpu/cpu_memory.h"

#include <stdio.h>
#include <string.h>

const struct cpu_kernels *cpu_kernels(void) {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq"))
    return &cpu_kernels_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return &cpu_kernels_avx2;
#endif
  return &cpu_kernels_base;
}

const struct cpu_tiles *cpu_tiles(void) {
#if HAVE_AMX
  return &cpu_tiles_amx;
#else
  return NULL;
#endif
}

/* --- the input of an op: concatenation, norm, activation, upsampling --- */

size_t cpu_gather_scratch(const struct cpu_input *input) {
  if (input->prologue->norm != NORM_GROUP)
    return 0;
  return (size_t)input->x.n * (size_t)(input->x.c + input->x2.c) * (2 * sizeof(double) + 3 * sizeof(float));
}

void cpu_gather(const struct cpu_program *program, const struct cpu_input *input, void *out, enum dtype dtype,
                void *scratch) {
  const struct prologue *p = input->prologue;
  size_t values = (size_t)input->x.n * (size_t)(input->x.c + input->x2.c);
  double *totals = scratch;
  float *mean = (float *)(totals + 2 * values);
  program->device->kernels->gather(&(struct gather){
      .x = {cpu_data(program, input->x), cpu_data(program, input->x2)},
      .dtype = {cpu_dtype(program, input->x), cpu_dtype(program, input->x2)},
      .c = {input->x.c, input->x2.c},
      .n = input->x.n,
      .h = input->x.h,
      .w = input->x.w,
      .upsample = input->upsample,
      .prologue = p,
      .gamma = cpu_f32(program, p->gamma),
      .beta = cpu_f32(program, p->beta),
      .totals = totals,
      .mean = mean,
      .scale = mean + values,
      .shift = mean + 2 * values,
      .out = out,
      .out_dtype = dtype,
  });
}

static struct cpu_input norm_input(const struct op_norm *op) {
  return (struct cpu_input){.x = op->x, .prologue = &op->prologue};
}

static int norm_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  (void)err;
  struct cpu_input input = norm_input(&node->op->norm);
  cpu_reserve(program, cpu_gather_scratch(&input));
  return 0;
}

static void norm_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct cpu_program *p = run->program;
  const struct op_norm *op = &node->op->norm;
  struct cpu_input input = norm_input(op);
  cpu_gather(p, &input, cpu_data(p, op->y), cpu_dtype(p, op->y), p->scratch);
}

/* --- attention to keys and values (OP_ATTENTION) --- */

/* Returns the kernels for matrix units if they compute this op, else NULL. They have no causal mask, and round to
 * bfloat16 what they read. */
static const struct cpu_tiles *attention_tiles(const struct cpu_program *program, const struct op_attention *op) {
  return program->bf16 && !op->causal && cpu_dtype(program, op->q) == DTYPE_BF16 ? program->device->tiles : NULL;
}

static size_t packed_floats(const struct cpu_program *program, const struct op_attention *op) {
  const struct cpu_tiles *tiles = attention_tiles(program, op);
  size_t one = (tiles ? tiles->attend_packed : program->device->kernels->attend_packed)(
      op->k.h * op->k.w + op->k2.h * op->k2.w, op->q.c / op->heads);
  return ((size_t)op->k.n * (size_t)op->heads * one + 15) / 16 * 16;
}

static int attention_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  const struct op_attention *op = &node->op->attention;
  const struct cpu_device *device = program->device;
  const struct cpu_tiles *tiles = attention_tiles(program, op);
  (void)err;
  size_t tile = (tiles ? tiles->attend_tile : device->kernels->attend_tile)(op->q.c / op->heads);
  cpu_reserve(program, (packed_floats(program, op) + (size_t)device->threads * tile) * sizeof(float));
  return 0;
}

static void attention_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct cpu_program *p = run->program;
  const struct op_attention *op = &node->op->attention;
  float *packed = p->scratch;
  int second = cpu_bank_frames(run, op);
  const struct cpu_tiles *tiles = attention_tiles(p, op);
  (tiles ? tiles->attend : p->device->kernels->attend)(&(struct attend){
      .q = cpu_data(p, op->q),
      .k = cpu_data(p, op->k),
      .v = cpu_data(p, op->v),
      .k2 = cpu_data(p, op->k2),
      .v2 = cpu_data(p, op->v2),
      .y = cpu_data(p, op->y),
      .q_dtype = cpu_dtype(p, op->q),
      .k_dtype = cpu_dtype(p, op->k),
      .v_dtype = cpu_dtype(p, op->v),
      .y_dtype = cpu_dtype(p, op->y),
      .k2_dtype = second ? cpu_dtype(p, op->k2) : DTYPE_F32,
      .v2_dtype = second ? cpu_dtype(p, op->v2) : DTYPE_F32,
      .q_pitch = op->q.pitch,
      .k_pitch = op->k.pitch,
      .v_pitch = op->v.pitch,
      .y_pitch = op->y.pitch,
      .k2_pitch = op->k2.pitch,
      .v2_pitch = op->v2.pitch,
      .n = op->q.n,
      .k_n = op->k.n,
      .heads = op->heads,
      .dim = op->q.c / op->heads,
      .queries = op->q.h * op->q.w,
      .keys = op->k.h * op->k.w,
      .keys2 = second * op->k2.w,
      .n2 = (size_t)op->k2.h * (size_t)op->k2.w * (size_t)op->k2.pitch,
      .scale = op->scale,
      .causal = op->causal,
      .packed = packed,
      .tiles = packed + packed_floats(p, op),
  });
}

/* --- attention to style pictures (IP-Adapter): each style picture's result is computed on its own and then added
 * --- */

static size_t style_floats(const struct cpu_device *device, const struct op_style *op) {
  size_t one = (size_t)op->heads * device->kernels->attend_packed(op->k.w, op->q.c / op->heads);
  return (one + 15) / 16 * 16;
}

static size_t picture_floats(const struct op_style *op) {
  return ((size_t)op->q.h * (size_t)op->q.w * (size_t)op->q.c + 15) / 16 * 16;
}

static int style_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  const struct op_style *op = &node->op->style;
  const struct cpu_device *device = program->device;
  (void)err;
  size_t tiles = (size_t)device->threads * device->kernels->attend_tile(op->q.c / op->heads);
  cpu_reserve(program, (picture_floats(op) + style_floats(device, op) + tiles) * sizeof(float));
  return 0;
}

/* Computes attention of one picture of q to the style picture whose keys and values are in one slot, and stores the
 * result in scratch memory. */
static void attend_style(const struct cpu_program *p, const struct op_style *op, int picture, int slot) {
  size_t queries = (size_t)op->q.h * (size_t)op->q.w, row = (size_t)picture * queries * (size_t)op->q.pitch;
  size_t first = (size_t)slot * (size_t)op->k.w * (size_t)op->k.pitch;
  float *out = p->scratch, *packed = out + picture_floats(op);
  p->device->kernels->attend(&(struct attend){
      .q = cpu_f32(p, op->q) + row,
      .k = cpu_f32(p, op->k) + first,
      .v = cpu_f32(p, op->v) + first,
      .y = out,
      .q_pitch = op->q.pitch,
      .k_pitch = op->k.pitch,
      .v_pitch = op->v.pitch,
      .y_pitch = op->q.c,
      .n = 1,
      .k_n = 1,
      .heads = op->heads,
      .dim = op->q.c / op->heads,
      .queries = (int)queries,
      .keys = op->k.w,
      .scale = op->scale,
      .packed = packed,
      .tiles = packed + style_floats(p->device, op),
  });
}

static void style_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct cpu_program *p = run->program;
  const struct op_style *op = &node->op->style;
  size_t count = tensor_elements(op->y) / (size_t)op->y.n;
  for (int s = 0; s < STYLES_MAX; s++) {
    const struct style_params *style = &run->params->style[s];
    float gain = style_gain(style, op->part);
    for (int n = 0; n < (gain != 0 ? op->y.n : 0); n++) {
      const float *added = p->scratch;
      float *y = cpu_f32(p, op->y) + (size_t)n * count;
      attend_style(p, op, n, style_slot(op, style, n));
#pragma omp parallel for simd
      for (size_t i = 0; i < count; i++)
        y[i] += gain * added[i];
    }
  }
}

/* --- reading frames and writing pictures (OP_PIXELS_IN, OP_PIXELS_OUT) --- */

static int pixels_in_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  size_t w = (size_t)node->op->pixels_in.y.w;
  (void)err;
  cpu_reserve(program, 2 * w * sizeof(struct tap) + (size_t)program->device->threads * 3 * w * sizeof(float));
  return 0;
}

/* Fills picture number i of y, the network's input, with the pixels of the run's frame for this picture. */
static void read_frame(const struct cpu_run *run, const struct op_pixels_in *op, int i) {
  const struct cpu_program *p = run->program;
  const struct frame *frame = &run->frames[op->source * op->y.n + i];
  struct tap *taps = p->scratch;
  p->device->kernels->resize(&(struct resize){
      .frame = frame,
      .geometry = run->params->geometry[op->source * op->y.n + i],
      .scale = op->scale,
      .bias = op->bias,
      .w = op->y.w,
      .h = op->y.h,
      .out = cpu_f32(p, op->y) + (size_t)i * tensor_elements(op->y) / (size_t)op->y.n,
      .taps = {taps, taps + op->y.w},
      .values = (float *)(taps + 2 * op->y.w),
      .rows = p->rows,
      .row = cpu_pixels_row(frame),
  });
}

static void pixels_in_run(const struct cpu_run *run, const struct cpu_node *node) {
  for (int i = 0; i < node->op->pixels_in.y.n; i++)
    read_frame(run, &node->op->pixels_in, i);
}

/* Returns how many floats of scratch memory OP_PIXELS_OUT needs for rows of pixels: six for each pixel of a row, for
 * each thread. */
static size_t rows_floats(const struct cpu_program *program, const struct op_pixels_out *op) {
  return (size_t)program->device->threads * 6 * (size_t)op->x.w;
}

static int pixels_out_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  const struct op_pixels_out *op = &node->op->pixels_out;
  size_t floats = rows_floats(program, op);
  (void)err;
  for (int i = 0; i < CONTROLS_MAX; i++)
    if (tensor_exists(pixels_out_map(op, i)))
      floats = rows_floats(program, op) + tensor_elements(op->x) / (size_t)op->x.n;
  cpu_reserve(program, floats * sizeof(float));
  return 0;
}

static float clamped(float x) {
  return x > 0 ? (x < 1 ? x : 1) : 0;
}

/* Computes row y, of w pixels, of the output picture at half size: each pixel is the mean of 2x2 pixels. */
static void halve_row(const struct compose *c, int y, int w, float *out) {
  size_t count = 3 * (size_t)c->w, first = 2 * (size_t)y * count;
  const float *x = c->x + first, *input = c->input ? c->input + first : NULL;
  for (int i = 0; i < 3 * w; i++) {
    size_t at = (size_t)(6 * (i / 3) + i % 3);
    float sum = 0;
    for (size_t j = 0; j < 4; j++) {
      size_t from = at + j % 2 * 3 + j / 2 * count;
      sum += clamped(x[from] * c->x_scale + (input ? input[from] * c->input_scale : 0) + c->bias);
    }
    out[i] = sum * 0.25f;
  }
}

/* Draws the map in the left half and the picture in the right half of `out`, w x h pixels, each at half its size, with
 * black rows above and below. */
static void put_both(const struct compose *map, const struct compose *picture, int w, int h, float *out) {
  size_t count = 3 * (size_t)w;
  int top = (h - h / 2) / 2;
  memset(out, 0, (size_t)h * count * sizeof *out);
#pragma omp parallel for
  for (int y = 0; y < h / 2; y++) {
    float *row = out + (size_t)(y + top) * count;
    halve_row(map, y, w / 2, row);
    halve_row(picture, y, w / 2, row + 3 * (w / 2));
  }
}

/* Returns the description of an output picture (struct compose) that shows a map alone, without blending. i: number of
 * the output picture; w: number of pixels in a row of the map. */
static struct compose compose_map(const struct cpu_run *run, int i, const float *map, int w) {
  return (struct compose){
      .picture = &run->pictures[i], .x = map, .w = w, .x_scale = 1, .values = run->program->scratch};
}

/* Returns picture number i of a tensor, or NULL if the tensor was left out. */
static const float *picture_of(const struct cpu_program *p, struct tensor t, int i) {
  return tensor_exists(t) ? cpu_f32(p, t) + (size_t)i * tensor_elements(t) / (size_t)t.n : NULL;
}

static void write_picture(const struct cpu_run *run, const struct op_pixels_out *op, int i) {
  const struct cpu_program *p = run->program;
  const struct run_params *params = run->params;
  bool mixed = tensor_exists(op->input);
  float mix = mixed ? params->mix : 1;
  struct compose picture = {
      .picture = &run->pictures[i],
      .x = picture_of(p, op->x, i),
      .input = mix != 1 ? picture_of(p, op->input, i) : NULL,
      .w = op->x.w,
      .x_scale = mix * op->scale,
      .input_scale = (1 - mix) * op->input_scale,
      .bias = mix * op->bias + (1 - mix) * op->input_bias,
      .values = p->scratch,
  };
  struct compose map = compose_map(run, i, picture_of(p, pixels_out_map(op, params->show_control), i), op->x.w);
  float *both = (float *)p->scratch + rows_floats(p, op);
  if (map.x && params->show == SHOW_MAP)
    picture = map;
  else if (map.x && params->show == SHOW_BOTH) {
    put_both(&map, &picture, pixels_out_w(op), pixels_out_h(op), both);
    picture = compose_map(run, i, both, pixels_out_w(op));
  }
  p->device->kernels->compose(&picture);
}

static void pixels_out_run(const struct cpu_run *run, const struct cpu_node *node) {
  for (int i = 0; i < node->op->pixels_out.x.n; i++)
    write_picture(run, &node->op->pixels_out, i);
}

/* --- maps for control networks (OP_MAP) --- */

static void encode(const struct cpu_kernels *kernels, const struct mapping *m) {
  kernels->encode(&(struct encode){
      .x = m->x, .code = m->code, .count = 3 * (size_t)m->w * (size_t)m->h, .scale = m->scale, .bias = m->bias});
}

static void soften(const struct cpu_kernels *kernels, const struct mapping *m) {
  int n = 2 * m->parameter[0] + 1, weight[SOFTEN_REACH + 1];
  cpu_map_weights(n, weight);
  kernels->soften(&(struct soften){.code = m->code,
                                   .w = m->w,
                                   .h = m->h,
                                   .reach = 3 * m->parameter[0],
                                   .volume = n * n * n,
                                   .weight = weight,
                                   .along = m->along,
                                   .soft = m->soft,
                                   .row = m->row,
                                   .wide = m->wide,
                                   .wide_row = m->wide_row});
}

static void map_run(const struct cpu_run *run, const struct cpu_node *node) {
  cpu_map_run(run, node, &(struct map_steps){encode, soften});
}

/* --- measuring motion (OP_PYRAMID to OP_FLOW) --- */

/* Sets the addresses of 16-bit copies of a pyramid's levels, one after another from `base` on. Returns how many bytes
 * the copies take. The levels hold details (a pixel's brightness minus the mean around it). base NULL: the bytes are
 * only counted. */
static size_t place_copies(const struct motion_size *size, void *base, struct padded copy[4]) {
  size_t total = 0;
  for (int level = 1; level <= 3; level++) {
    struct padded *p = &copy[level];
    *p = (struct padded){.w = size->w[level], .h = size->h[level]};
    p->pitch = p->w + 2 * SEARCH_EDGE + SEARCH_SPARE;
    size_t at = cpu_bump(&total, (size_t)(p->h + 2 * SEARCH_EDGE) * (size_t)p->pitch * sizeof *p->data);
    p->data = base ? (int16_t *)((char *)base + at) : NULL;
  }
  return total;
}

/* Sets the addresses of the arrays that the search for motion needs, one after another from `base` on, and returns how
 * many bytes they take. base NULL: the bytes are only counted. */
static size_t place_search(struct matching *m, void *base, int threads, struct padded copy[2][4]) {
  size_t total = 0, at[4];
  m->sums_each = (size_t)m->size.w[3] + SEARCH_SPARE;
  at[0] = cpu_bump(&total, (size_t)motion_pixels(&m->size, 3) * sizeof *m->found);
  at[1] = cpu_bump(&total, (size_t)threads * m->sums_each * sizeof *m->sums);
  for (int i = 0; i < 2; i++)
    at[2 + i] = cpu_bump(&total, place_copies(&m->size, NULL, copy[i]));
  if (!base)
    return total;
  m->found = (int32_t *)((char *)base + at[0]);
  m->sums = (uint16_t *)((char *)base + at[1]);
  for (int i = 0; i < 2; i++)
    place_copies(&m->size, (char *)base + at[2 + i], copy[i]);
  return total;
}

static int match_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  struct matching m = {.size = motion_size(node->op->match.w, node->op->match.h)};
  struct padded copy[2][4];
  (void)err;
  cpu_reserve(program, place_search(&m, NULL, program->device->threads, copy));
  return 0;
}

static void match_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct cpu_program *p = run->program;
  const struct cpu_kernels *kernels = p->device->kernels;
  const struct op_match *op = &node->op->match;
  struct matching m = {.size = motion_size(op->w, op->h)};
  const int32_t *picture[2] = {cpu_data(p, op->now), cpu_data(p, op->last)};
  struct padded copy[2][4];
  place_search(&m, p->scratch, p->device->threads, copy);
  for (int i = 0; i < 2; i++)
    for (int level = 1; level <= 3; level++)
      kernels->pad(&copy[i][level], picture[i] + motion_at(&m.size, 1, level));
  for (int i = 0; i < 2; i++) {
    m.now = picture[i], m.last = picture[1 - i];
    m.out = (int32_t *)cpu_data(p, op->y) + i * MATCH_VALUES * motion_pixels(&m.size, 3);
    kernels->search(&m, copy[i], copy[1 - i]);
  }
}

static void flow_run(const struct cpu_run *run, const struct cpu_node *node) {
  cpu_flow_run(run, node, run->program->device->kernels);
}

static const struct cpu_impl norm = {.prepare = norm_prepare, .run = norm_run, .takes_bf16 = true};
static const struct cpu_impl attention = {.prepare = attention_prepare, .run = attention_run, .takes_bf16 = true};
static const struct cpu_impl style = {.prepare = style_prepare, .run = style_run};
static const struct cpu_impl pixels_in = {.prepare = pixels_in_prepare, .run = pixels_in_run};
static const struct cpu_impl map = {.prepare = cpu_map_prepare, .run = map_run};
static const struct cpu_impl match = {.prepare = match_prepare, .run = match_run};
static const struct cpu_impl flow = {.prepare = cpu_flow_prepare, .run = flow_run};
static const struct cpu_impl pixels_out = {.prepare = pixels_out_prepare, .run = pixels_out_run};

void cpu_fast(struct cpu_device *device) {
  device->kernels = cpu_kernels();
  device->impl[OP_NORM] = &norm;
  device->impl[OP_ATTENTION] = &attention;
  device->impl[OP_STYLE] = &style;
  device->impl[OP_PIXELS_IN] = &pixels_in;
  device->impl[OP_MAP] = &map;
  device->impl[OP_PIXELS_OUT] = &pixels_out;
  device->impl[OP_MATCH] = &match;
  device->impl[OP_FLOW] = &flow;
  snprintf(device->detail, sizeof device->detail, "%s", device->kernels->name);
}
