#include "unet/model/carry.h"

static struct tensor moved(struct plan *plan, const char *name, struct tensor advected, struct tensor noise,
                           struct tensor second, int first) {
  if (!tensor_exists(noise))
    return noise;
  return plan_carried_noise(
      plan, name,
      (struct op_carried_noise){.advected = advected,
                                .noise = noise,
                                .second = second,
                                .y = plan_state(plan, name, noise.n, noise.h, noise.w, noise.c, ELEMENT_PRECISE),
                                .first = first});
}

struct tensor carry_places(struct plan *plan, const struct motion *motion, int h, int w, int cell) {
  struct tensor advected = plan_state(plan, "carry/advected", 1, h, w, ADVECTED_VALUES, ELEMENT_WHOLE);
  plan_region_begin(plan, (struct region_when){.kind = REGION_MOTION});
  plan_advect(plan, "advect",
              (struct op_advect){.flow = motion->flow,
                                 .visible = motion->visible,
                                 .global = motion->global,
                                 .places = plan_state(plan, "carry/places", 1, h, w, 2, ELEMENT_WHOLE),
                                 .entries = plan_state(plan, "carry/entries", 1, h, w, 1, ELEMENT_WHOLE),
                                 .y = advected,
                                 .cell = cell});
  plan_region_end(plan);
  return advected;
}

struct frame_noise carry_noise(struct plan *plan, const struct motion *motion, const struct frame_noise *noise,
                               int cell) {
  struct tensor advected = carry_places(plan, motion, noise->start.h, noise->start.w, cell);
  struct frame_noise carried = *noise;
  carried.start = moved(plan, "carry/start", advected, noise->start, noise->second, 0);
  carried.steps = moved(plan, "carry/steps", advected, noise->steps, noise->second, 1);
  return carried;
}

void carry_feed(struct plan *plan, const struct motion *motion, int cell, struct op_start *op) {
  op->last = plan_state(plan, "carry/last", op->z.n, op->z.h, op->z.w, op->z.c, ELEMENT_PRECISE);
  op->flow = motion->flow;
  op->visible = motion->visible;
  op->global = motion->global;
  op->cell = cell;
}

void carry_keep(struct plan *plan, struct tensor last, struct tensor x) {
  plan_affine(plan, "last latent", (struct op_affine){.x = x, .scale = 1, .precise = true, .y = last});
}
