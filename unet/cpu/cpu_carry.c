/* The definition of the ops that make the latent from which the sampler starts: noise that moves with the picture, and
 * feedback of the last picture. texture.h has the functions that move the noise. */
#include <string.h>

#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_memory.h"

/* The arguments of one execution of OP_ADVECT, which moves a texture of noise along the picture's motion. */
struct advection {
  /* the field (each cell's position in the texture of noise): `last` is the field before it is moved, `now` the moved
   * one, which is stored in y */
  struct texture_field last, now;
  struct texture_motion motion;
  /* states (tensors that outlive a run) of the op. places: for each cell of the latent, its position in the texture of
   * noise; entries: for each cell of that texture, the number of its entry in the two tables of noise */
  int32_t *places, *entries;
  int32_t *y;
  int cells;
};

static struct advection advection_of(const struct cpu_run *run, const struct op_advect *op) {
  struct texture_field field = {.h = op->places.h, .w = op->places.w, .unit = 256 * op->cell, .pitch = 2};
  struct advection a = {.last = field,
                        .now = field,
                        .motion = {cpu_data(run->program, op->flow), cpu_data(run->program, op->visible)},
                        .places = cpu_data(run->program, op->places),
                        .entries = cpu_data(run->program, op->entries),
                        .y = cpu_data(run->program, op->y),
                        .cells = field.h * field.w};
  a.last.places = a.places;
  a.now.places = a.y;
  a.now.pitch = ADVECTED_VALUES;
  return a;
}

/* After a cut, resets the field (each cell's position in the texture of noise): each cell gets the position that it has
 * in the latent, and cell i of the texture gets entry i of the first table of noise. */
static void begin(const struct advection *a) {
  for (int i = 0; i < a->cells; i++) {
    a->y[i * ADVECTED_VALUES + ADVECTED_Y] = i / a->now.w * a->now.unit;
    a->y[i * ADVECTED_VALUES + ADVECTED_X] = i % a->now.w * a->now.unit;
    a->entries[i] = i;
  }
}

static void move(const struct advection *a) {
  for (int i = 0; i < a->cells; i++) {
    struct texture_place p = texture_move(&a->last, &a->motion, i / a->now.w, i % a->now.w);
    a->y[i * ADVECTED_VALUES + ADVECTED_Y] = p.y;
    a->y[i * ADVECTED_VALUES + ADVECTED_X] = p.x;
  }
}

/* Returns true if the texture must be renewed, because too many cells of the moved field are strained: zooms or shears
 * have changed the distances to their neighbours. */
static bool is_strained(const struct advection *a) {
  int count = 0;
  for (int i = 0; i < a->cells; i++)
    count += texture_strain(&a->now, i / a->now.w, i % a->now.w) > TEXTURE_STRAINED;
  return count * TEXTURE_PART > a->cells;
}

static void show(const struct advection *a, bool renewed) {
  for (int i = 0; i < a->cells; i++) {
    a->y[i * ADVECTED_VALUES + ADVECTED_ENTRY] = texture_entry(&a->now, a->entries, i / a->now.w, i % a->now.w);
    a->y[i * ADVECTED_VALUES + ADVECTED_RENEWED] = renewed;
  }
}

/* Stores the moved field in the state `places`: for each cell of the latent, its position in the texture of noise.
 * `entries` has for each cell of the texture the number of its entry in the two tables of noise. To renew the texture,
 * cell i of the texture gets the entry that cell i of the latent shows now, and each cell of the latent gets the
 * position that texture_renew returns. */
static void keep(const struct advection *a, bool renewed) {
  for (int i = 0; i < a->cells; i++) {
    int y = i / a->now.w, x = i % a->now.w;
    struct texture_place p = renewed ? texture_renew(&a->now, y, x) : texture_at(&a->now, y, x);
    if (renewed)
      a->entries[i] = a->y[i * ADVECTED_VALUES + ADVECTED_ENTRY];
    a->places[2 * i] = p.y;
    a->places[2 * i + 1] = p.x;
  }
}

static void advect_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_advect *op = &node->op->advect;
  const struct advection a = advection_of(run, op);
  const int32_t *global = cpu_data(run->program, op->global);
  if (global[0])
    begin(&a);
  else
    move(&a);
  bool renewed = is_strained(&a);
  show(&a, renewed);
  keep(&a, renewed);
}

static void carried_noise_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_carried_noise *op = &node->op->carried_noise;
  const int32_t *advected = cpu_data(run->program, op->advected);
  const float *noise = cpu_f32(run->program, op->noise), *second = cpu_f32(run->program, op->second);
  float *y = cpu_f32(run->program, op->y);
  int32_t cells = op->noise.h * op->noise.w;
  size_t c = (size_t)op->noise.c;
  for (int sample = 0; sample < op->noise.n; sample++, noise += (size_t)cells * c)
    for (int i = 0; i < cells; i++, y += c) {
      uint32_t entry = run->params->carried ? (uint32_t)advected[i * ADVECTED_VALUES + ADVECTED_ENTRY] : (uint32_t)i;
      bool is_first = entry < (uint32_t)cells;
      int32_t at = is_first ? (int32_t)entry : texture_second(entry - (uint32_t)cells, op->first + sample, cells);
      memcpy(y, (is_first ? noise : second) + (size_t)at * c, c * sizeof *y);
    }
}

/* The tensors that OP_START reads to mix the last picture's latent into the input's (feedback). */
struct feedback {
  const float *last;
  const int32_t *flow, *visible, *global;
  /* h, w: size of the latent in cells (latent pixels); unit: width of a cell in 1/256 pixel; `flow` also counts in
   * 1/256 pixel */
  int h, w, unit;
  size_t c;
};

static double last_at(const struct feedback *f, int y, int x, size_t channel) {
  return (double)f->last[((size_t)y * (size_t)f->w + (size_t)x) * f->c + channel];
}

/* Returns a channel of the last picture's latent at a position, by interpolation. (py, px): the position in 1/256
 * pixel, counted from the middle of the latent's first cell. */
static double last_between(const struct feedback *f, int py, int px, size_t channel) {
  int iy = texture_clamp(py, (f->h - 1) * f->unit), ix = texture_clamp(px, (f->w - 1) * f->unit);
  int y = iy / f->unit, x = ix / f->unit, below = y + (y + 1 < f->h), right = x + (x + 1 < f->w);
  double ty = (double)(iy % f->unit) / f->unit, tx = (double)(ix % f->unit) / f->unit;
  double above = last_at(f, y, x, channel) * (1 - tx) + last_at(f, y, right, channel) * tx;
  return above * (1 - ty) + (last_at(f, below, x, channel) * (1 - tx) + last_at(f, below, right, channel) * tx) * ty;
}

/* Returns an element of the input's latent z after the last picture's latent was mixed in with the factor
 * `feedback`. */
static double fed_back(const struct feedback *f, double feedback, size_t i, double z) {
  size_t cell = i / f->c;
  if (!f->last || feedback == 0 || !f->visible[cell] || f->global[GLOBAL_BLANK])
    return z;
  int y = (int)cell / f->w * f->unit + f->flow[2 * cell], x = (int)cell % f->w * f->unit + f->flow[2 * cell + 1];
  return z + feedback * (last_between(f, y, x, i % f->c) - z);
}

static void start_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_start *op = &node->op->start;
  const float *z = cpu_f32(run->program, op->z), *noise = cpu_f32(run->program, op->noise);
  const struct run_params *params = run->params;
  const struct feedback f = {cpu_f32(run->program, op->last),
                             cpu_data(run->program, op->flow),
                             cpu_data(run->program, op->visible),
                             cpu_data(run->program, op->global),
                             op->last.h,
                             op->last.w,
                             256 * op->cell,
                             (size_t)op->y.c};
  float *y = cpu_f32(run->program, op->y);
  size_t count = tensor_elements(op->y);
  for (size_t i = 0; i < count; i++) {
    float from = z ? (float)fed_back(&f, (double)params->feedback, i, (double)z[i]) : 0;
    y[i] = (z ? params->start_latent * from : 0) + params->start_noise * noise[i];
  }
}

const struct cpu_impl cpu_define_start = {.run = start_run};
const struct cpu_impl cpu_define_advect = {.run = advect_run};
const struct cpu_impl cpu_define_carried_noise = {.run = carried_noise_run};
