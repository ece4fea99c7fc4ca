/* The definition of the ops around the networks: embeddings, tables, slots for encoded prompts, guidance, and the
 * sampler's steps. */
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_memory.h"

#include <math.h>
#include <string.h>

/* --- ops on prompts and their tokens --- */

static void embed_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_embed *op = &node->op->embed;
  const float *token = cpu_f32(run->program, op->token), *position = cpu_f32(run->program, op->position);
  float *y = cpu_f32(run->program, op->y);
  size_t c = (size_t)op->y.c;
  for (size_t t = 0; t < (size_t)op->y.w; t++)
    for (size_t i = 0; i < c; i++)
      y[t * c + i] = token[(size_t)run->params->tokens[t] * c + i] + position[t * c + i];
}

static void join_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_join *op = &node->op->join;
  const float *x = cpu_f32(run->program, op->x), *x2 = cpu_f32(run->program, op->x2);
  const float *position = cpu_f32(run->program, op->position);
  float *y = cpu_f32(run->program, op->y);
  size_t first = tensor_elements(op->x), count = tensor_elements(op->y);
  for (size_t i = 0; i < count; i++)
    y[i] = (i < first ? x[i] : x2[i - first]) + (position ? position[i] : 0);
}

static void store_slot_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_store_slot *op = &node->op->store_slot;
  size_t count = tensor_elements(op->x);
  size_t slot = op->ring ? run->params->turn % (unsigned)op->slots.n : (unsigned)run->params->slot;
  memcpy(cpu_f32(run->program, op->slots) + slot * count, cpu_f32(run->program, op->x), count * sizeof(float));
}

static void shift_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_shift *op = &node->op->shift;
  const float *x = cpu_f32(run->program, op->x);
  float *rows = cpu_f32(run->program, op->rows);
  size_t all = tensor_elements(op->rows), by = all / (size_t)op->rows.n * (size_t)(op->by ? op->by : 1);
  memmove(rows + by, rows, (all - by) * sizeof *rows);
  if (x)
    memcpy(rows, x, by * sizeof *rows);
}

/* Multiplies a slot's values by a weight, and adds them to y or replaces y's values by them. */
static void mix_slot(float *y, const float *slot, float weight, bool adds, size_t count) {
  if (adds)
#pragma omp parallel for simd
    for (size_t i = 0; i < count; i++)
      y[i] += weight * slot[i];
  else
#pragma omp parallel for simd
    for (size_t i = 0; i < count; i++)
      y[i] = weight * slot[i];
}

/* Returns true if the op's result, a state, already is the blend that this run wants. If it is not, notes that it
 * becomes that. */
static bool is_noted(const struct cpu_run *run, const struct op_prompt *op, struct guidance_rows rows) {
  struct prompt_note *note = cpu_data(run->program, op->note);
  const struct prompt_params *prompt = run->params->prompt;
  size_t used = (size_t)(rows.first > rows.each ? rows.first : rows.each) * sizeof *prompt;
  uint64_t slots = (uintptr_t)cpu_f32(run->program, op->slots);
  uint32_t changes = device_changes(&run->program->device->base);
  if (note->slots == slots && note->changes == changes && !memcmp(note->prompt, prompt, used))
    return true;
  note->slots = slots;
  note->changes = changes;
  memcpy(note->prompt, prompt, used);
  return false;
}

static void prompt_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_prompt *op = &node->op->prompt;
  const float *slots = cpu_f32(run->program, op->slots);
  float *y = cpu_f32(run->program, op->y);
  size_t count = (size_t)op->slots.w * (size_t)op->slots.c;
  const struct guidance_rows rows = guidance_rows(op->first, op->rows, op->y.n);
  if (tensor_exists(op->note) && is_noted(run, op, rows))
    return;
  for (size_t r = 0; r < (size_t)op->y.n; r++) {
    const struct prompt_params *p = &run->params->prompt[guidance_row(rows, (int)r)];
    if (p->weight[0] == 0)
      memset(y + r * count, 0, count * sizeof *y);
    for (int i = 0; i < PROMPTS_MAX && p->weight[i] != 0; i++)
      mix_slot(y + r * count, slots + (size_t)p->slot[i] * count, p->weight[i], i > 0, count);
  }
}

static void end_token_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_end_token *op = &node->op->end_token;
  size_t c = (size_t)op->y.c;
  memcpy(cpu_f32(run->program, op->y), cpu_f32(run->program, op->x) + (size_t)run->params->end * c, c * sizeof(float));
}

static double mean_factor(double before, double after) {
  double factor = before / after;
  return isnan(factor) ? 1 : fmin(fmax(factor, -EMPHASIS_MAX), EMPHASIS_MAX);
}

static void emphasis_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_emphasis *op = &node->op->emphasis;
  const float *x = cpu_f32(run->program, op->x), *emphasis = run->params->emphasis;
  float *y = cpu_f32(run->program, op->y);
  size_t c = (size_t)op->x.c, count = tensor_elements(op->x);
  double before = 0, after = 0;
  for (size_t i = 0; i < count; i++) {
    before += (double)x[i];
    after += (1 + (double)emphasis[i / c]) * (double)x[i];
  }
  double factor = mean_factor(before, after);
  for (size_t i = 0; i < count; i++)
    y[i] = (float)(factor * (1 + (double)emphasis[i / c]) * (double)x[i]);
}

/* --- embeddings of timesteps --- */

/* Writes the sinusoidal embedding of one number to y, c values: sines and cosines of angle * exp(-ln(10000) k /
 * divisor). cos_first: true: the cosines are the first half of y; false: the second. */
static void sinusoid(double angle, double divisor, bool cos_first, int c, float *y) {
  int half = c / 2;
  for (int k = 0; k < half; k++) {
    double a = angle * exp(-log(10000.0) * k / divisor);
    y[k] = (float)(cos_first ? cos(a) : sin(a));
    y[half + k] = (float)(cos_first ? sin(a) : cos(a));
  }
}

static void timestep_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_timestep *op = &node->op->timestep;
  float *y = cpu_f32(run->program, op->y);
  const struct guidance_rows rows = guidance_rows(op->first, op->rows, 1);
  int values = op->values ? op->values : 1, c = op->y.c / values;
  for (int i = 0; i < op->y.n * values; i++) {
    float t = op->values ? op->value[i % values] : run->params->step[guidance_index(rows, i)].timestep;
    sinusoid((double)t, c / 2 - (double)op->shift, op->cos_first, c, y + (size_t)i * (size_t)c);
  }
}

static void guidance_embed_run(const struct cpu_run *run, const struct cpu_node *node) {
  struct tensor t = node->op->guidance_embed.y;
  float *y = cpu_f32(run->program, t);
  for (int row = 0; row < t.n; row++)
    sinusoid(((double)run->params->guidance - 1) * 1000, t.c / 2 - 1, false, t.c, y + (size_t)row * (size_t)t.c);
}

static void time_row_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_time_row *op = &node->op->time_row;
  size_t step = (size_t)(op->step + run->iteration), count = tensor_elements(op->y);
  memcpy(cpu_f32(run->program, op->y), cpu_f32(run->program, op->table) + step * count, count * sizeof(float));
}

/* --- ops on latents: guidance and the sampler's steps --- */

static void affine_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_affine *op = &node->op->affine;
  const float *x = cpu_f32(run->program, op->x);
  float *y = cpu_f32(run->program, op->y);
  size_t count = tensor_elements(op->y);
  for (size_t i = 0; i < count; i++)
    y[i] = op->scale * x[i] + op->bias;
}

/* Computes one pixel of y from a block of op->size x op->size pixels of x. If op->mean is false, the pixel gets all
 * values of the block; if it is true, the pixel gets the mean of each channel. x points to the block's first value. */
static void blocks_pixel(const struct op_blocks *op, const float *x, float *y) {
  int size = op->size, count = size * size;
  for (int c = 0; c < op->x.c; c++) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
      float v = x[(size_t)(i / size * op->x.w + i % size) * (size_t)op->x.pitch + (size_t)c];
      sum += (double)v;
      if (!op->mean)
        y[c * count + i] = v;
    }
    if (op->mean)
      y[c] = (float)(sum / count);
  }
}

static void blocks_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_blocks *op = &node->op->blocks;
  const float *x = cpu_f32(run->program, op->x);
  float *y = cpu_f32(run->program, op->y);
  size_t row = (size_t)(op->size * op->x.w) * (size_t)op->x.pitch;
  for (int r = 0; r < op->y.n * op->y.h; r++)
    for (int i = 0; i < op->y.w; i++)
      blocks_pixel(op, x + (size_t)r * row + (size_t)(i * op->size) * (size_t)op->x.pitch,
                   y + (size_t)(r * op->y.w + i) * (size_t)op->y.c);
}

static void between_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_between *op = &node->op->between;
  const float *ends = cpu_f32(run->program, op->ends);
  float *noise = cpu_f32(run->program, op->noise);
  size_t count = tensor_elements(op->noise), sample = count / (size_t)op->noise.n;
  for (size_t i = 0; i < count; i++) {
    const float *part = run->params->between[i / sample % (size_t)(op->pictures ? op->pictures : 1)];
    noise[i] = part[0] * ends[i] + part[1] * ends[count + i];
  }
}

static void mask_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_mask *op = &node->op->mask;
  const float *x = cpu_f32(run->program, op->x), *kept = cpu_f32(run->program, op->kept);
  float *y = cpu_f32(run->program, op->y);
  size_t count = tensor_elements(op->y), pixels = tensor_elements(op->kept);
  for (size_t i = 0; i < count; i++)
    y[i] = kept[i / (size_t)op->x.c % pixels] >= 0.5f ? x[i] : op->value;
}

/* Returns true if the mask says that the network repaints this pixel of the latent, false if the input stays there. */
static bool is_repainted(const struct op_unet_input *op, const float *kept, size_t pixel) {
  size_t w = (size_t)op->x.w, k = (size_t)(op->kept.w / op->x.w);
  return !(kept[(pixel / w * k) * (w * k) + pixel % w * k] >= 0.5f);
}

static void unet_input_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_unet_input *op = &node->op->unet_input;
  const float *xs = cpu_f32(run->program, op->x), *images = cpu_f32(run->program, op->image),
              *masks = cpu_f32(run->program, op->kept);
  const struct guidance_rows rows = guidance_rows(op->first, op->rows, op->y.n);
  float *y = cpu_f32(run->program, op->y);
  size_t pixels = (size_t)op->x.h * (size_t)op->x.w;
  for (int r = 0; r < op->y.n; r++) {
    size_t latent = (size_t)guidance_index(rows, r);
    const float *x = xs + latent * pixels * (size_t)op->x.c, *image = images + latent * pixels * (size_t)op->image.c,
                *kept = masks ? masks + latent % (size_t)op->kept.n * (size_t)op->kept.h * (size_t)op->kept.w : NULL;
    bool sees = op->image_rows >> guidance_row(rows, r) & 1;
    for (size_t i = 0; i < pixels; i++) {
      for (int c = 0; c < op->x.c; c++)
        *y++ = x[i * (size_t)op->x.c + (size_t)c];
      if (kept)
        *y++ = is_repainted(op, kept, i);
      for (int c = 0; c < op->image.c; c++)
        *y++ = sees ? image[i * (size_t)op->image.c + (size_t)c] : 0;
    }
  }
}

/* The sum of a latent's values, and the sum of the values' squares. */
struct moments {
  double sum, squares;
};

static void moments_add(struct moments *m, double value) {
  m->sum += value;
  m->squares += value * value;
}

static double moments_variance(const struct moments *m, size_t count) {
  return m->squares - m->sum * m->sum / (double)count; /* the sum of the values' squared differences from their mean */
}

/* The arguments with which OP_GUIDE (guidance) computes one latent: its step, predictions, and results. */
struct guided {
  const float *model, *x, *reference;
  float *y, *anew;
  int rows;
  size_t count;
};

static double guide_value(const struct run_params *params, const struct residual_params *p, const struct guided *g,
                          size_t i) {
  double m = 0;
  for (int r = 0; r < g->rows; r++)
    m += (double)params->row_weight[r] * (double)g->model[(size_t)r * g->count + i];
  if (!g->x || g->anew)
    return m;
  double towards = (double)p->x * (double)g->x[i];
  towards += g->reference ? (double)p->reference * (double)g->reference[i] : 0;
  return m + (double)params->virtual_weight * towards;
}

static void guide_latent(const struct run_params *params, const struct residual_params *p, const struct guided *g) {
  struct moments text = {0}, all = {0};
  for (size_t i = 0; i < g->count; i++) {
    double m = guide_value(params, p, g, i);
    moments_add(&text, (double)g->model[i]);
    moments_add(&all, m);
    g->y[i] = (float)m;
    if (g->anew)
      g->anew[i] =
          (float)((double)p->clean_x * (double)g->x[i] + (double)p->clean_model * (double)g->model[g->count + i]);
  }
  double f = (double)params->guidance_rescale, spread = moments_variance(&all, g->count);
  double scale = 1 - f + f * sqrt(fmax(moments_variance(&text, g->count), 0) / spread);
  for (size_t i = 0; i < g->count && f != 0 && spread > 0; i++)
    g->y[i] = (float)(scale * (double)g->y[i]);
}

static void guide_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_guide *op = &node->op->guide;
  const float *model = cpu_f32(run->program, op->model), *x = cpu_f32(run->program, op->x),
              *reference = cpu_f32(run->program, op->reference);
  float *y = cpu_f32(run->program, op->y), *anew = cpu_f32(run->program, op->anew);
  const struct guidance_rows rows = guidance_rows(op->first, op->rows, op->model.n);
  size_t count = tensor_elements(op->y) / (size_t)op->y.n;
  for (int i = 0; i < op->y.n; i++) {
    size_t at = (size_t)i * count;
    int behind = steps_behind(i, op->together);
    struct guided g = {.model = model,
                       .x = x ? x + at : NULL,
                       .reference = reference ? reference + at : NULL,
                       .y = y + at,
                       .anew = anew && behind == 0 ? anew + at : NULL,
                       .rows = i == 0 ? rows.first : rows.each,
                       .count = count};
    guide_latent(run->params, &run->params->residual[op->step + run->iteration + behind], &g);
    model += (size_t)g.rows * count;
  }
}

/* The arguments with which OP_STEP (a sampler's step) computes one latent. */
struct stepped {
  float *x, *earlier;
  const float *model, *noise;
  size_t kept, count;
};

static void step_latent(const struct step_params *s, const struct stepped *l) {
  size_t count = l->count;
  float *x = l->x, *earlier = l->earlier;
  bool keeps = l->kept && (s->keep_x != 0 || s->keep_model != 0);
  for (size_t i = 0; i < count; i++) {
    double prediction = (double)l->model[i];
    double more = l->noise && s->noise != 0 ? (double)s->noise * (double)l->noise[i] : 0;
    for (size_t j = 0; j < l->kept; j++)
      more += s->earlier[j] != 0 ? (double)s->earlier[j] * (double)earlier[j * count + i] : 0;
    for (size_t j = l->kept; keeps && j > 1; j--)
      earlier[(j - 1) * count + i] = earlier[(j - 2) * count + i];
    if (keeps)
      earlier[i] = (float)((double)s->keep_x * (double)x[i] + (double)s->keep_model * prediction);
    x[i] = (float)((double)s->x * (double)x[i] + (double)s->model * prediction + more);
  }
}

static void step_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_step *op = &node->op->step;
  size_t count = tensor_elements(op->x) / (size_t)op->x.n;
  struct stepped l = {.x = cpu_f32(run->program, op->x),
                      .earlier = cpu_f32(run->program, op->earlier),
                      .model = cpu_f32(run->program, op->model),
                      .kept = (size_t)(op->earlier.n / op->x.n),
                      .count = count};
  const float *noise = cpu_f32(run->program, op->noise);
  int each = op->together ? op->together : 1;
  for (int i = 0; i < op->x.n; i++) {
    int step = op->step + run->iteration + steps_behind(i, op->together), sample = step * each + i % each;
    l.noise = noise && sample < op->noise.n ? noise + (size_t)sample * count : NULL;
    step_latent(&run->params->step[step], &l);
    l.x += count;
    l.model += count;
    l.earlier += l.earlier ? l.kept * count : 0;
  }
}

const struct cpu_impl cpu_define_embed = {.run = embed_run};
const struct cpu_impl cpu_define_store_slot = {.run = store_slot_run};
const struct cpu_impl cpu_define_shift = {.run = shift_run};
const struct cpu_impl cpu_define_prompt = {.run = prompt_run};
const struct cpu_impl cpu_define_join = {.run = join_run};
const struct cpu_impl cpu_define_end_token = {.run = end_token_run};
const struct cpu_impl cpu_define_emphasis = {.run = emphasis_run};
const struct cpu_impl cpu_define_timestep = {.run = timestep_run};
const struct cpu_impl cpu_define_guidance_embed = {.run = guidance_embed_run};
const struct cpu_impl cpu_define_time_row = {.run = time_row_run};
const struct cpu_impl cpu_define_affine = {.run = affine_run};
const struct cpu_impl cpu_define_blocks = {.run = blocks_run};
const struct cpu_impl cpu_define_between = {.run = between_run};
const struct cpu_impl cpu_define_mask = {.run = mask_run};
const struct cpu_impl cpu_define_unet_input = {.run = unet_input_run};
const struct cpu_impl cpu_define_guide = {.run = guide_run};
const struct cpu_impl cpu_define_step = {.run = step_run};
