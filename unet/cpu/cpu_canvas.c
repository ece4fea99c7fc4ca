/* The definition of the ops of the canvas, an endless plane on which the scene stands still while the camera moves.
 * canvas_place.h computes where a frame lies on it. */
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_memory.h"

#include <string.h>

static void place_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_canvas_place *op = &node->op->canvas_place;
  const int32_t *global = cpu_data(run->program, op->global);
  const struct canvas_motion motion = {global[GLOBAL_CUT] != 0, global[GLOBAL_A], global[GLOBAL_B], global[GLOBAL_Y],
                                       global[GLOBAL_X]};
  canvas_move(cpu_data(run->program, op->place), &motion, &op->size);
}

/* A picture whose pixels OP_CANVAS_DRAW reads. */
struct drawn {
  const float *x;
  int h, w, c;
};

static const float *pixel_at(const struct drawn *d, int y, int x) {
  size_t row = (size_t)canvas_mirrored(y, d->h), column = (size_t)canvas_mirrored(x, d->w);
  return d->x + (row * (size_t)d->w + column) * (size_t)d->c;
}

static void interpolate(const struct drawn *d, struct canvas_point at, float *y) {
  float down[4], across[4];
  int row = at.y >> 8, column = at.x >> 8;
  canvas_weights(at.y & (CANVAS_PIXEL - 1), down);
  canvas_weights(at.x & (CANVAS_PIXEL - 1), across);
  for (int k = 0; k < d->c; k++)
    y[k] = 0;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      const float *x = pixel_at(d, row + i - 1, column + j - 1);
      for (int k = 0; k < d->c; k++)
        y[k] += down[i] * across[j] * x[k];
    }
}

static void draw_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_canvas_draw *op = &node->op->canvas_draw;
  const struct canvas_view view = canvas_view_of(cpu_data(run->program, op->place), &op->size);
  const struct drawn drawn = {cpu_f32(run->program, op->x), op->x.h, op->x.w, op->x.c};
  float *out = cpu_f32(run->program, op->y);
#pragma omp parallel for
  for (int i = 0; i < op->y.h; i++)
    for (int j = 0; j < op->y.w; j++) {
      struct canvas_point at =
          op->back ? canvas_to_window(&view, &op->size, i, j) : canvas_to_frame(&view, &op->size, i, j);
      float *y = out + ((size_t)i * (size_t)op->y.w + (size_t)j) * (size_t)op->y.c;
      if (view.warped && !op->nearest)
        interpolate(&drawn, at, y);
      else
        memcpy(y, pixel_at(&drawn, (at.y + CANVAS_PIXEL / 2) >> 8, (at.x + CANVAS_PIXEL / 2) >> 8),
               (size_t)op->y.c * sizeof *y);
    }
}

static void canvas_noise_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_canvas_noise *op = &node->op->canvas_noise;
  const struct canvas_view view = canvas_view_of(cpu_data(run->program, op->place), &op->size);
  const float *noise = cpu_f32(run->program, op->noise);
  float *y = cpu_f32(run->program, op->y);
  int h = op->y.h, w = op->y.w, row = view.cell_y / op->cell, column = view.cell_x / op->cell;
  size_t c = (size_t)op->y.c;
  for (int i = 0; i < op->y.n * h; i++)
    for (int j = 0; j < w; j++) {
      size_t from = (size_t)((i / h) * h + (i % h + row) % h) * (size_t)w + (size_t)((j + column) % w);
      memcpy(y + ((size_t)i * (size_t)w + (size_t)j) * c, noise + from * c, c * sizeof *y);
    }
}

const struct cpu_impl cpu_define_canvas_place = {.run = place_run};
const struct cpu_impl cpu_define_canvas_draw = {.run = draw_run};
const struct cpu_impl cpu_define_canvas_noise = {.run = canvas_noise_run};
