#include "unet/plan/op_checks.h"

static bool is_place(struct tensor t) {
  return t.n == 1 && t.h == 1 && t.w == 1 && t.c == PLACE_VALUES;
}

/* Returns what is wrong with the sizes of the frame and of the window, the part of the canvas that the networks draw;
 * NULL: nothing. (A canvas is an endless plane that follows the camera.) */
static const char *misfit(const struct canvas_size *size) {
  if (size->lattice < 1 || size->h < 1 || size->w < 1)
    return "there is no such canvas";
  if (size->window_h % size->lattice || size->window_w % size->lattice)
    return "the window's sides are no multiples of the lattice";
  bool fits = size->window_h - size->h >= size->lattice - 1 && size->window_w - size->w >= size->lattice - 1;
  return fits ? NULL : "the window has no room for the frame";
}

const char *op_check_canvas_place(const struct op *op, int runs, struct op_result *y) {
  const struct op_canvas_place *o = &op->canvas_place;
  (void)y;
  if (runs > 1)
    return "the frame moves once in a run";
  if (o->global.n != 1 || o->global.h != 1 || o->global.w != 1 || o->global.c != GLOBAL_VALUES)
    return "the motion's values are not all there";
  return is_place(o->place) ? misfit(&o->size) : "the place's values are not all there";
}

const char *op_check_canvas_draw(const struct op *op, int runs, struct op_result *y) {
  const struct op_canvas_draw *o = &op->canvas_draw;
  const struct canvas_size *size = &o->size;
  int from_h = o->back ? size->window_h : size->h, from_w = o->back ? size->window_w : size->w;
  (void)runs;
  *y = (struct op_result){
      .n = 1, .h = o->back ? size->h : size->window_h, .w = o->back ? size->w : size->window_w, .c = o->x.c};
  if (!is_place(o->place))
    return "the place's values are not all there";
  if (o->x.c > 3)
    return "x has more than three channels";
  if (o->x.n != 1 || o->x.h != from_h || o->x.w != from_w)
    return o->back ? "x does not have the window's size" : "x does not have the frame's size";
  return misfit(size);
}

const char *op_check_canvas_noise(const struct op *op, int runs, struct op_result *y) {
  const struct op_canvas_noise *o = &op->canvas_noise;
  (void)runs;
  *y = shape_of(o->noise);
  y->demand = ELEMENT_PRECISE;
  if (!is_place(o->place))
    return "the place's values are not all there";
  if (o->cell < 1 || o->size.lattice % o->cell)
    return "the lattice is no multiple of the cells";
  if (o->noise.h * o->cell != o->size.window_h || o->noise.w * o->cell != o->size.window_w)
    return "the noise does not have the window's size";
  return misfit(&o->size);
}
