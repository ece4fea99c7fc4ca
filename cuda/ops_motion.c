#include "cuda/ops_motion.h"

#include "cuda/ways/way.h"

/* --- the ops of the canvas, a plane on which the scene stands still while the camera moves --- */

static int append_canvas(struct preparation *p,
                         cudaError_t (*enqueue)(const struct launch_queue *, const struct canvas_args *),
                         const struct canvas_args *args) {
  struct launch launch = {.kind = LAUNCH_CANVAS};
  launch.canvas.enqueue = enqueue;
  launch.canvas.args = *args;
  return append(p, &launch);
}

int prepare_canvas_place(struct preparation *p) {
  const struct op_canvas_place *o = &p->op->canvas_place;
  const struct canvas_args args = {
      .global = operand_whole(p, o->global), .place = operand_whole(p, o->place), .size = o->size};
  return append_canvas(p, launch_canvas_place, &args);
}

int prepare_canvas_draw(struct preparation *p) {
  const struct op_canvas_draw *o = &p->op->canvas_draw;
  struct canvas_args args = {.place = operand_whole(p, o->place),
                             .h = o->x.h,
                             .w = o->x.w,
                             .y_h = o->y.h,
                             .y_w = o->y.w,
                             .c = o->x.c,
                             .size = o->size,
                             .back = o->back,
                             .nearest = o->nearest};
  args.x = operand_either(p, o->x, &args.x_type);
  args.y = operand_either(p, o->y, &args.y_type);
  return append_canvas(p, launch_canvas_draw, &args);
}

int prepare_canvas_noise(struct preparation *p) {
  const struct op_canvas_noise *o = &p->op->canvas_noise;
  const struct canvas_args args = {.place = operand_whole(p, o->place),
                                   .x = operand(p, o->noise, ROLE_VECTOR),
                                   .y = operand(p, o->y, ROLE_VECTOR),
                                   .h = o->y.h,
                                   .w = o->y.w,
                                   .n = o->y.n,
                                   .c = o->y.c,
                                   .size = o->size,
                                   .cell = o->cell};
  return append_canvas(p, launch_canvas_noise, &args);
}

/* --- the ops that measure motion --- */

static int append_motion(struct preparation *p,
                         cudaError_t (*enqueue)(const struct launch_queue *, const struct motion_args *),
                         const struct motion_args *args) {
  struct launch launch = {.kind = LAUNCH_MOTION};
  launch.motion.enqueue = enqueue;
  launch.motion.args = *args;
  launch.motion.args.scratch = program_scratch(p->program, SCRATCH_PROLOGUE);
  return append(p, &launch);
}

int prepare_pyramid(struct preparation *p) {
  const struct op_pyramid *o = &p->op->pyramid;
  const struct motion_args args = {.size = motion_size(o->x.w, o->x.h),
                                   .x = operand(p, o->x, ROLE_ANY),
                                   .y = operand_whole(p, o->y),
                                   .scale = 255 * o->scale,
                                   .bias = 255 * o->bias + 0.5f};
  return append_motion(p, launch_pyramid, &args);
}

int prepare_match(struct preparation *p) {
  const struct op_match *o = &p->op->match;
  const struct motion_args args = {.size = motion_size(o->w, o->h),
                                   .now = operand_whole(p, o->now),
                                   .last = operand_whole(p, o->last),
                                   .y = operand_whole(p, o->y)};
  return append_motion(p, launch_match, &args);
}

int prepare_fit(struct preparation *p) {
  const struct op_fit *o = &p->op->fit;
  const struct motion_args args = {
      .size = motion_size(o->w, o->h), .match = operand_whole(p, o->match), .y = operand_whole(p, o->y)};
  return append_motion(p, launch_fit, &args);
}

int prepare_flow(struct preparation *p) {
  const struct op_flow *o = &p->op->flow;
  struct motion_args args = {.size = motion_size(o->w, o->h),
                             .now = operand_whole(p, o->now),
                             .match = operand_whole(p, o->match),
                             .fit = operand_whole(p, o->fit),
                             .block = p->program->block,
                             .kept = operand_whole(p, o->last),
                             .flow = operand_whole(p, o->flow),
                             .visible = operand_whole(p, o->visible),
                             .global = operand_whole(p, o->global),
                             .cell = o->cell,
                             .rows = o->flow.h,
                             .columns = o->flow.w};
  args.last = args.kept;
  return append_motion(p, launch_flow, &args);
}

size_t motion_scratch(const struct op *op) {
  struct motion_size size = {0};
  if (op->type == OP_PYRAMID)
    size = motion_size(op->pyramid.x.w, op->pyramid.x.h);
  else if (op->type == OP_MATCH)
    size = motion_size(op->match.w, op->match.h);
  else if (op->type == OP_FLOW)
    size = motion_size(op->flow.w, op->flow.h);
  return size.w[0] ? motion_scratch_bytes(&size) : 0;
}
