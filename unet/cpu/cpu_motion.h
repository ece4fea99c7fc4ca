/* Structs and functions of the ops of motion that their definitions (cpu_motion.c, cpu_flow.c) and their faster
 * implementations share. */
#ifndef UNET_CPU_CPU_MOTION_H
#define UNET_CPU_CPU_MOTION_H

#include "unet/cpu/cpu_device.h"
#include "unet/plan/motion_math.h"

struct cpu_kernels;

/* The arguments of the search that finds, for each block of the picture `now`, its place in the picture `last`. */
struct matching {
  struct motion_size size;
  const int32_t *now, *last; /* pyramids of the two pictures, as OP_PYRAMID stores them */
  int32_t *found;            /* the best vector of each block at level 3, packed with its cost into one number
                              * (motion_seek_key) */
  int32_t *out;              /* the result: MATCH_VALUES values for each block, as in the y of OP_MATCH */
  /* working memory of cpu_search: sums_each values for each thread, enough for the columns of level 3 (size.w[3]) and
   * SEARCH_SPARE more */
  uint16_t *sums;
  size_t sums_each;
};

/* A 16-bit copy of the details (brightness minus the mean of the surroundings) of one level of a pyramid, with a border
 * of SEARCH_EDGE pixels that repeats the pixels at the edge. */
enum { SEARCH_EDGE = 40, SEARCH_SPARE = 64 };
struct padded {
  int16_t *data; /* h + 2 SEARCH_EDGE rows; a row begins `pitch` values after the previous row */
  int w, h, pitch;
};

/* One direction of OP_FLOW: where the blocks of the frame `now` are in the frame `last`. */
struct direction {
  struct motion_size size;
  /* pyramids of both frames (level 1 comes first), and the blocks' matches from OP_MATCH */
  const int32_t *now, *last, *match;
  struct motion_model model;
  int32_t *vector;                   /* the result: for each block its vector (y, x), in 1/256 pixel */
  const struct cpu_kernels *kernels; /* faster kernels; NULL: everything is computed by the definition */
};

/* cpu_flow_prepare prepares OP_FLOW, and cpu_flow_run runs it. kernels: faster kernels with which the op is computed;
 * NULL: the op's definition computes it. The scratch memory that cpu_flow_prepare reserves is enough in both cases. */
int cpu_flow_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err);
void cpu_flow_run(const struct cpu_run *run, const struct cpu_node *node, const struct cpu_kernels *kernels);

#endif
