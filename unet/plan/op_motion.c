#include "unet/plan/motion_math.h"
#include "unet/plan/op_checks.h"

static bool has_side(int w, int h) {
  return w >= MOTION_BLOCK && h >= MOTION_BLOCK && w <= MOTION_SIDE_MOST && h <= MOTION_SIDE_MOST;
}

static bool is_row(struct tensor t, int c) {
  return t.n == 1 && t.h == 1 && t.w == 1 && t.c == c;
}

static bool is_pyramid(struct tensor t, int w, int h) {
  const struct motion_size size = motion_size(w, h);
  return is_row(t, motion_values(&size));
}

static bool is_match(struct tensor t, int w, int h) {
  const struct motion_size size = motion_size(w, h);
  return t.n == 2 && t.h == size.h[3] && t.w == size.w[3] && t.c == MATCH_VALUES;
}

const char *op_check_pyramid(const struct op *op, int runs, struct op_result *y) {
  const struct op_pyramid *o = &op->pyramid;
  (void)runs;
  if (o->x.n != 1 || o->x.c != 3)
    return "the picture does not have three channels";
  if (!has_side(o->x.w, o->x.h))
    return "motion is not measured in pictures of this size";
  const struct motion_size size = motion_size(o->x.w, o->x.h);
  *y = (struct op_result){.n = 1, .h = 1, .w = 1, .c = motion_values(&size), .demand = ELEMENT_WHOLE};
  return NULL;
}

const char *op_check_match(const struct op *op, int runs, struct op_result *y) {
  const struct op_match *o = &op->match;
  (void)runs;
  if (!has_side(o->w, o->h))
    return "motion is not measured in pictures of this size";
  const struct motion_size size = motion_size(o->w, o->h);
  *y = (struct op_result){.n = 2, .h = size.h[3], .w = size.w[3], .c = MATCH_VALUES, .demand = ELEMENT_WHOLE};
  return is_pyramid(o->now, o->w, o->h) && is_pyramid(o->last, o->w, o->h) ? NULL : "no pyramid of this size";
}

const char *op_check_fit(const struct op *op, int runs, struct op_result *y) {
  const struct op_fit *o = &op->fit;
  (void)runs;
  *y = (struct op_result){.n = 1, .h = 1, .w = 1, .c = FIT_VALUES, .demand = ELEMENT_WHOLE};
  return has_side(o->w, o->h) && is_match(o->match, o->w, o->h) ? NULL : "no matches of this size";
}

const char *op_check_flow(const struct op *op, int runs, struct op_result *y) {
  const struct op_flow *o = &op->flow;
  (void)runs, (void)y;
  if (!has_side(o->w, o->h) || !is_match(o->match, o->w, o->h) || !is_row(o->fit, FIT_VALUES))
    return "no matches of this size";
  if (!is_pyramid(o->now, o->w, o->h) || !is_pyramid(o->last, o->w, o->h))
    return "no pyramid of this size";
  if (o->cell < 1 || o->w % o->cell || o->h % o->cell)
    return "the picture is not of whole cells";
  int rows = o->h / o->cell, columns = o->w / o->cell;
  bool fit = o->flow.n == 1 && o->flow.h == rows && o->flow.w == columns && o->flow.c == 2 &&
             has_size(o->visible, o->flow) && o->visible.c == 1;
  return fit && is_row(o->global, GLOBAL_VALUES) ? NULL : "a result does not have the size of the cells";
}
