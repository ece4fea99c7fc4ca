#include "unet/model/motion.h"

#include "unet/plan/motion_math.h"

struct motion motion_of(struct plan *plan, struct tensor pixels, float scale, float bias, int cell) {
  const struct motion_size size = motion_size(pixels.w, pixels.h);
  int w = pixels.w, h = pixels.h;
  size_t mark = plan_enter(plan, "motion");
  const struct motion motion = {
      .flow = plan_state(plan, "motion/flow", 1, h / cell, w / cell, 2, ELEMENT_WHOLE),
      .visible = plan_state(plan, "motion/visible", 1, h / cell, w / cell, 1, ELEMENT_WHOLE),
      .global = plan_state(plan, "motion/global", 1, 1, 1, GLOBAL_VALUES, ELEMENT_WHOLE),
  };
  struct tensor last = plan_state(plan, "motion/last", 1, 1, 1, motion_values(&size), ELEMENT_WHOLE);
  plan_region_begin(plan, (struct region_when){.kind = REGION_MOTION});
  struct tensor now = plan_pyramid(plan, "pyramid", (struct op_pyramid){.x = pixels, .scale = scale, .bias = bias});
  struct tensor match = plan_match(plan, "match", (struct op_match){.now = now, .last = last, .w = w, .h = h});
  struct tensor fit = plan_fit(plan, "fit", (struct op_fit){.match = match, .w = w, .h = h});
  plan_flow(plan, "flow",
            (struct op_flow){.now = now,
                             .match = match,
                             .fit = fit,
                             .last = last,
                             .flow = motion.flow,
                             .visible = motion.visible,
                             .global = motion.global,
                             .w = w,
                             .h = h,
                             .cell = cell});
  plan_region_end(plan);
  plan_leave(plan, mark);
  return motion;
}
