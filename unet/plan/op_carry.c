#include "unet/plan/op_checks.h"

enum { CELL_MAX = 64 };

const char *op_check_advect(const struct op *op, int runs, struct op_result *y) {
  const struct op_advect *o = &op->advect;
  *y = (struct op_result){.n = 1, .h = o->places.h, .w = o->places.w, .c = ADVECTED_VALUES, .demand = ELEMENT_WHOLE};
  if (runs != 1)
    return "a field is not moved within a loop";
  if (o->cell < 1 || o->cell > CELL_MAX || o->places.n != 1)
    return "no such field";
  bool fits = has_size(o->flow, o->places) && has_size(o->visible, o->places) && has_size(o->entries, o->places);
  bool values = o->flow.c == 2 && o->visible.c == 1 && o->places.c == 2 && o->entries.c == 1;
  return fits && values && o->global.c >= 1 ? NULL : "the motion and the field do not have one size";
}

const char *op_check_carried_noise(const struct op *op, int runs, struct op_result *y) {
  const struct op_carried_noise *o = &op->carried_noise;
  struct tensor sample = o->noise;
  (void)runs;
  sample.n = 1;
  *y = shape_of(o->noise);
  y->demand = ELEMENT_PRECISE;
  if (o->first < 0 || o->first + o->noise.n > CALLS_MAX + 1)
    return "no such sample";
  if (!has_size(o->second, sample) || o->second.c != sample.c)
    return "the second table does not have a sample's shape";
  return has_size(o->advected, sample) && o->advected.c == ADVECTED_VALUES ? NULL
                                                                           : "the field does not have the noise's size";
}
