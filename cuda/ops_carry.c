#include "cuda/ops_carry.h"

#include "cuda/ways/way.h"

static int append_advect(struct preparation *p,
                         cudaError_t (*enqueue)(const struct launch_queue *, const struct advect_args *),
                         const struct advect_args *args) {
  struct launch launch = {.kind = LAUNCH_ADVECT};
  launch.advect.enqueue = enqueue;
  launch.advect.args = *args;
  launch.advect.args.block = p->program->block;
  return append(p, &launch);
}

size_t advect_scratch(const struct op *op) {
  return op->type == OP_ADVECT ? advect_scratch_bytes(op->advect.places.h, op->advect.places.w) : 0;
}

int prepare_advect(struct preparation *p) {
  const struct op_advect *o = &p->op->advect;
  bool counts = advect_scratch(p->op) > 0;
  const struct advect_args args = {.h = o->places.h,
                                   .w = o->places.w,
                                   .cell = o->cell,
                                   .flow = operand_whole(p, o->flow),
                                   .visible = operand_whole(p, o->visible),
                                   .global = operand_whole(p, o->global),
                                   .places = operand_whole(p, o->places),
                                   .entries = operand_whole(p, o->entries),
                                   .advected = operand_whole(p, o->y),
                                   .strained = counts ? program_scratch(p->program, SCRATCH_PROLOGUE) : NULL};
  if (append_advect(p, launch_advect_move, &args) < 0 || (counts && append_advect(p, launch_advect_count, &args) < 0) ||
      append_advect(p, launch_advect_show, &args) < 0)
    return -1;
  return append_advect(p, launch_advect_keep, &args);
}

int prepare_carried_noise(struct preparation *p) {
  const struct op_carried_noise *o = &p->op->carried_noise;
  const struct advect_args args = {.h = o->noise.h,
                                   .w = o->noise.w,
                                   .c = o->noise.c,
                                   .advected = operand_whole(p, o->advected),
                                   .noise = operand(p, o->noise, ROLE_VECTOR),
                                   .second = operand(p, o->second, ROLE_VECTOR),
                                   .samples = o->noise.n,
                                   .first = o->first,
                                   .y = operand(p, o->y, ROLE_VECTOR)};
  return append_advect(p, launch_carried_noise, &args);
}

int prepare_feedback(struct preparation *p) {
  const struct op_start *o = &p->op->start;
  struct advect_args args = {.h = o->z.h,
                             .w = o->z.w,
                             .c = o->z.c,
                             .cell = o->cell,
                             .flow = operand_whole(p, o->flow),
                             .visible = operand_whole(p, o->visible),
                             .global = operand_whole(p, o->global),
                             .noise = operand(p, o->noise, ROLE_VECTOR),
                             .last = operand(p, o->last, ROLE_VECTOR),
                             .samples = 1};
  args.x = operand_either(p, o->z, &args.x_type);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_advect(p, launch_feedback, &args);
}
