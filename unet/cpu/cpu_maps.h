/* The steps that make a map (OP_MAP): cpu_maps.c has them in plain C; the fast implementation replaces two of them. */
#ifndef UNET_CPU_CPU_MAPS_H
#define UNET_CPU_CPU_MAPS_H

#include "unet/cpu/cpu_device.h"

/* An OP_MAP in a run. The arrays are scratch; a kind of map has only those that it needs. */
struct mapping {
  const struct op_map *op;
  int w, h, parameter[MAP_PARAMS]; /* the map's parameters, rounded to integers; gain in sixteenths */
  const float *x;
  float scale, bias; /* x * scale + bias is the 8-bit value from which the map is made */
  float *y;
  uint8_t *code; /* [h, w, 3] */
  /* [h] rows of [w, 3]: the picture's 8-bit values softened along rows, and these softened along columns */
  uint16_t *along, *soft;
  size_t row;     /* values from one row to the next */
  uint16_t *wide; /* a row with margins for each thread */
  size_t wide_row;
  uint8_t *mean;           /* [cells, cells, 3] */
  uint8_t *grey, *edge[2]; /* [h, w]; in edge, 0 is no edge, 1 a weak one, 2 a strong one */
  int16_t *slope[2];       /* [h, w]: gx, gy */
  int *stack;              /* [threads, EDGE_TILE * EDGE_TILE + pixels around a tile] */
};

enum { MAP_AROUND = 4 * EDGE_TILE + 4 };

/* Computes the weights of pixels at distances 0 to n / 2 * 3: those of three box filters of n pixels in succession.
 * Their sum over all pixels is n^3. */
void cpu_map_weights(int n, int *weight);

/* Reserves the scratch that the definition needs. */
int cpu_map_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err);
/* The steps that have faster implementations: converting the picture to 8-bit values, and softening these. */
struct map_steps {
  void (*encode)(const struct cpu_kernels *kernels, const struct mapping *m);
  void (*soften)(const struct cpu_kernels *kernels, const struct mapping *m);
};
void cpu_map_run(const struct cpu_run *run, const struct cpu_node *node, const struct map_steps *steps);

#endif
