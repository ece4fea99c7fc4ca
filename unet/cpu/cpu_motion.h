/* What the parts of the definition of motion, and their faster implementations, share. */
#ifndef UNET_CPU_CPU_MOTION_H
#define UNET_CPU_CPU_MOTION_H

#include "unet/cpu/cpu_device.h"
#include "unet/plan/motion_math.h"

struct cpu_kernels;

/* The search for the blocks of `now` in `last`. */
struct matching {
  struct motion_size size;
  const int32_t *now, *last; /* pyramids */
  int32_t *found;            /* for each block the key of the best vector at level 3 (motion_seek_key) */
  int32_t *out;              /* for each block MATCH_VALUES values of OP_MATCH's y */
  /* cpu_search: scratch of sums_each values for each thread, for w[3] + SEARCH_SPARE columns */
  uint16_t *sums;
  size_t sums_each;
};

/* A copy of a level's details, whose edges are repeated SEARCH_EDGE pixels around it. */
enum { SEARCH_EDGE = 40, SEARCH_SPARE = 64 };
struct padded {
  int16_t *data; /* [h + 2 SEARCH_EDGE] rows of pitch values */
  int w, h, pitch;
};

/* One direction of OP_FLOW: where the blocks of `now` are in `last`. */
struct direction {
  struct motion_size size;
  const int32_t *now, *last, *match; /* pyramids (level 1 comes first), and the blocks' matches */
  struct motion_model model;
  int32_t *vector;                   /* [blocks, 2] */
  const struct cpu_kernels *kernels; /* NULL: the definition alone */
};

/* OP_FLOW's definition, with faster kernels or NULL. Both need the scratch that cpu_flow_prepare reserves. */
int cpu_flow_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err);
void cpu_flow_run(const struct cpu_run *run, const struct cpu_node *node, const struct cpu_kernels *kernels);

#endif
