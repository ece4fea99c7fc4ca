/* The steps of OP_MAP, which makes a map of a picture (edges, colours, ...) for ControlNets. cpu_maps.c has them in
 * plain C; the fast implementation replaces two of them. */
#ifndef UNET_CPU_CPU_MAPS_H
#define UNET_CPU_CPU_MAPS_H

#include "unet/cpu/cpu_device.h"

/* The arguments of one execution of OP_MAP. The arrays are in scratch memory; each kind of map has only those that it
 * needs. */
struct mapping {
  const struct op_map *op;
  /* w, h: size of the picture in pixels; parameter: the map's parameters, rounded to integers (the gain in
   * sixteenths) */
  int w, h, parameter[MAP_PARAMS];
  const float *x;
  float scale, bias; /* factor and summand that turn the tensor's values into 8-bit codes: x * scale + bias */
  float *y;
  uint8_t *code; /* the picture as 8-bit codes, [h, w, 3] */
  /* h rows of [w, 3] each: along: the 8-bit codes blurred along rows; soft: the values of `along` blurred along
   * columns */
  uint16_t *along, *soft;
  size_t row;     /* number of values from one row of `along` and `soft` to the next */
  uint16_t *wide; /* scratch for each thread: a row of 8-bit codes, with room for more pixels at its left and right */
  size_t wide_row;
  uint8_t *mean; /* mean colour of each cell of the picture: [cells, cells, 3] */
  /* grey: brightness, [h, w]; edge: the edges before and after a round of hysteresis, [h, w] each: 0 none, 1 weak, 2
   * strong */
  uint8_t *grey, *edge[2];
  int16_t *slope[2]; /* slopes gx and gy of the brightness: [h, w] each */
  /* scratch for each thread: a stack of pixels whose neighbours are still to be looked at, with room for all pixels of
   * a tile and those around it */
  int *stack;
};

enum { MAP_AROUND = 4 * EDGE_TILE + 4 };

/* Computes the weights of a blur by three box filters of n pixels in succession, for pixels at distances 0 to n / 2 *
 * 3. Their sum over all pixels is n^3. */
void cpu_map_weights(int n, int *weight);

/* Reserves the scratch memory that the plain definition of OP_MAP needs. */
int cpu_map_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err);
/* The steps of a map that have faster implementations: converting the picture to 8-bit codes, and blurring these. */
struct map_steps {
  void (*encode)(const struct cpu_kernels *kernels, const struct mapping *m);
  void (*soften)(const struct cpu_kernels *kernels, const struct mapping *m);
};
void cpu_map_run(const struct cpu_run *run, const struct cpu_node *node, const struct map_steps *steps);

#endif
