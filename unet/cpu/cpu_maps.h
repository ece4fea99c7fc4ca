/* What a map is made of: what the definition and the fast path share. */
#ifndef UNET_CPU_CPU_MAPS_H
#define UNET_CPU_CPU_MAPS_H

#include "unet/cpu/cpu_device.h"

/* One OP_MAP in a run. The arrays are scratch; each is there where the kind needs it. */
struct mapping {
  const struct op_map *op;
  int w, h, parameter[MAP_PARAMS]; /* rounded; gain in sixteenths */
  const float *x;
  float scale, bias; /* to codes */
  float *y;
  uint8_t *code;          /* [h, w, 3] */
  uint16_t *along, *soft; /* [h] rows of [w, 3]: softened along rows; and along columns */
  size_t row;             /* values from one row to the next */
  uint16_t *wide;         /* a row for each thread, and what is beside it */
  size_t wide_row;
  uint8_t *mean;           /* [cells, cells, 3] */
  uint8_t *grey, *edge[2]; /* [h, w]: edges are 0, weak 1, strong 2 */
  int16_t *slope[2];       /* [h, w]: gx, gy */
  int *stack;              /* [threads, EDGE_TILE * EDGE_TILE + what is around a tile] */
};

enum { MAP_AROUND = 4 * EDGE_TILE + 4 };

/* Weights of pixels 0 to n / 2 * 3 away: of three boxes of n pixels after each other. All sum up to n^3. */
void cpu_map_weights(int n, int *weight);

/* Reserves what the definition takes. */
int cpu_map_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err);
/* The steps that may be done faster: the picture's codes, and soft of them. */
struct map_steps {
  void (*encode)(const struct cpu_kernels *kernels, const struct mapping *m);
  void (*soften)(const struct cpu_kernels *kernels, const struct mapping *m);
};
void cpu_map_run(const struct cpu_run *run, const struct cpu_node *node, const struct map_steps *steps);

#endif
