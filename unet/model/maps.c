#include "unet/model/maps.h"

struct tensor map_of(struct plan *plan, enum map_kind kind, int control, struct tensor picture, float scale, float bias,
                     struct tensor y) {
  size_t mark = plan_enter(plan, "control %d", control + 1);
  struct tensor map;
  if (kind == MAP_PICTURE)
    map = plan_affine(plan, map_word(kind), (struct op_affine){.x = picture, .scale = scale, .bias = bias, .y = y});
  else
    map =
        plan_map(plan, map_word(kind),
                 (struct op_map){.x = picture, .kind = kind, .control = control, .scale = scale, .bias = bias, .y = y});
  plan_leave(plan, mark);
  return map;
}
