#include "unet/model/canvas.h"

static int round_up(int size, int multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

struct canvas_size canvas_size_for(const struct model *model, int h, int w) {
  int lattice = model_lattice(model), multiple = model_size_multiple(model);
  int side = lattice > multiple ? lattice : multiple;
  return (struct canvas_size){.h = h,
                              .w = w,
                              .window_h = round_up(h + lattice - 1, side),
                              .window_w = round_up(w + lattice - 1, side),
                              .lattice = lattice};
}

struct canvas canvas_begin(const struct canvas_size *size, struct plan *plan, struct tensor global) {
  struct canvas canvas = {.size = *size};
  if (!size->lattice)
    return canvas;
  canvas.place = plan_state(plan, "canvas/place", 1, 1, 1, PLACE_VALUES, ELEMENT_WHOLE);
  plan_canvas_place(plan, "canvas place",
                    (struct op_canvas_place){.global = global, .place = canvas.place, .size = *size});
  return canvas;
}

struct tensor canvas_draw(const struct canvas *canvas, struct plan *plan, const char *name, struct tensor picture) {
  if (!canvas->size.lattice || !tensor_exists(picture))
    return picture;
  return plan_canvas_draw(plan, name,
                          (struct op_canvas_draw){.x = picture, .place = canvas->place, .size = canvas->size});
}

struct tensor canvas_draw_mask(const struct canvas *canvas, struct plan *plan, const char *name, struct tensor mask) {
  if (!canvas->size.lattice || !tensor_exists(mask))
    return mask;
  struct op_canvas_draw op = {
      .x = mask,
      .place = canvas->place,
      .y = plan_state(plan, name, 1, canvas->size.window_h, canvas->size.window_w, 1, ELEMENT_PRECISE),
      .size = canvas->size,
      .nearest = true};
  return plan_canvas_draw(plan, name, op);
}

struct tensor canvas_cut_out(const struct canvas *canvas, struct plan *plan, struct tensor made) {
  if (!canvas->size.lattice)
    return made;
  return plan_canvas_draw(
      plan, "canvas cut out",
      (struct op_canvas_draw){.x = made, .place = canvas->place, .size = canvas->size, .back = true});
}

struct tensor canvas_noise(const struct canvas *canvas, struct plan *plan, const char *name, struct tensor noise) {
  if (!canvas->size.lattice || !tensor_exists(noise))
    return noise;
  struct op_canvas_noise op = {.noise = noise,
                               .place = canvas->place,
                               .y = plan_state(plan, name, noise.n, noise.h, noise.w, noise.c, ELEMENT_PRECISE),
                               .size = canvas->size,
                               .cell = canvas->size.window_h / noise.h};
  return plan_canvas_noise(plan, name, op);
}
