#include "unet/plan/op_checks.h"

const char *op_check_pixels_in(const struct op *op, int runs, struct op_result *y) {
  struct tensor given = op->pixels_in.y;
  (void)runs;
  *y = (struct op_result){.n = given.n ? given.n : 1, .h = given.h, .w = given.w, .c = 3};
  if (y->n < 1 || y->n > BATCH_MAX)
    return "no such number of pictures";
  return op->pixels_in.source >= 0 && op->pixels_in.source < SOURCES_MAX ? NULL : "there is no such source";
}

const char *op_check_map(const struct op *op, int runs, struct op_result *y) {
  const struct op_map *o = &op->map;
  (void)runs;
  *y = shape_of(o->x);
  if (o->x.n != 1 || o->x.c != 3)
    return "the picture does not have three channels";
  if (o->kind == MAP_DEPTH || o->kind == MAP_PICTURE || (size_t)o->kind >= MAP_KINDS)
    return "no op makes such a map";
  return o->control >= 0 && o->control < CONTROLS_MAX ? NULL : "no such control";
}

const char *op_check_detail(const struct op *op, int runs, struct op_result *y) {
  const struct op_detail *o = &op->detail;
  (void)runs, (void)y;
  if (o->x.n > BATCH_MAX || o->x.c != 3)
    return "the pictures are too many or do not have three channels";
  return has_size(o->x, o->y) && o->y.c == 3 ? NULL : "the sizes of input and picture differ";
}

const char *op_check_pixels_out(const struct op *op, int runs, struct op_result *y) {
  const struct op_pixels_out *o = &op->pixels_out;
  (void)runs, (void)y;
  if (o->x.n > BATCH_MAX || o->x.c != 3)
    return "the pictures are too many or do not have three channels";
  if (o->w < 0 || o->h < 0 || o->w > o->x.w || o->h > o->x.h)
    return "the pictures are larger than what they are made of";
  for (int i = 0; i < CONTROLS_MAX; i++)
    if (!fits_latents(pixels_out_map(o, i), o->x))
      return "a map's size differs from the picture's";
  return fits_latents(o->input, o->x) ? NULL : "input and output sizes differ";
}

/* Returns true if a picture of rows x columns patches has no more pixels than a tensor may have (plan.c). Each factor
 * is limited first, so that the product does not overflow. */
static bool has_grid(int rows, int columns, int size) {
  enum { SIDE_MAX = 1 << 14 };
  return rows > 0 && columns > 0 && size > 0 && rows <= SIDE_MAX / size && columns <= SIDE_MAX / size;
}

const char *op_check_patches(const struct op *op, int runs, struct op_result *y) {
  const struct op_patches *o = &op->patches;
  (void)runs;
  if (!has_grid(o->rows, o->columns, o->size))
    return "no such number of patches";
  *y = (struct op_result){.n = 1, .h = 1, .w = 1 + o->rows * o->columns, .c = o->y.c};
  if (o->x.n != 1 || o->x.c != 3)
    return "the picture does not have three channels";
  return o->y.c >= 3 * o->size * o->size ? NULL : "a patch has more values than y";
}

const char *op_check_unpatch(const struct op *op, int runs, struct op_result *y) {
  const struct op_unpatch *o = &op->unpatch;
  (void)runs;
  if (!has_grid(o->rows, o->columns, o->size) || o->skip < 0)
    return "no such number of patches";
  int values = o->size * o->size;
  *y = (struct op_result){.n = 1, .h = o->rows * o->size, .w = o->columns * o->size, .c = o->x.c / values};
  if (o->x.n != 1 || o->x.h != 1 || o->x.w - o->skip != o->rows * o->columns)
    return "there are not so many tokens";
  return o->x.c % values ? "the squares do not divide the channels" : NULL;
}

const char *op_check_resize(const struct op *op, int runs, struct op_result *y) {
  const struct op_resize *o = &op->resize;
  (void)runs;
  *y = (struct op_result){.n = o->x.n, .h = o->y.h, .w = o->y.w, .c = o->x.c};
  return fits_result(o->residual, y) ? NULL : "the residual's shape differs from the output's";
}

static bool is_range(struct tensor t) {
  return t.n == 1 && t.h == 1 && t.w == 1 && t.c == 3;
}

const char *op_check_range(const struct op *op, int runs, struct op_result *y) {
  const struct op_range *o = &op->range;
  (void)runs, (void)y;
  if (!is_range(o->range))
    return "the range is not three values";
  if (o->x.n != 1 || o->x.c != 1 || o->size < 1 || o->x.h % o->size || o->x.w % o->size)
    return "x is not whole squares of one channel";
  return o->control >= 0 && o->control < CONTROLS_MAX ? NULL : "no such control";
}

const char *op_check_spread(const struct op *op, int runs, struct op_result *y) {
  const struct op_spread *o = &op->spread;
  (void)runs;
  *y = (struct op_result){.n = 1, .h = o->y.h, .w = o->y.w, .c = 3};
  if (!is_range(o->range))
    return "the range is not three values";
  return o->x.n == 1 && o->x.c == 1 ? NULL : "x does not have one channel";
}
