/* Launches a group norm or a layer norm, with any activation after it. */
#include "cuda/kernels/norm.cuh"

cudaError_t launch_norm(const struct launch_queue *queue, const struct norm_args *args) {
  cudaError_t status = args->groups ? launch_group_norm(queue, args) : launch_layer_norm(queue, args);
  if (status != cudaSuccess || args->act == ACT_NONE || args->act == ACT_SILU)
    return status;
  /* The norms' own kernels apply SiLU only. Another activation, which no supported network has after a norm, is a
   * second launch that works in place. */
  struct gather_args rest = {};
  rest.x = rest.y = args->y;
  rest.n = args->n;
  rest.h = 1;
  rest.w = args->pixels;
  rest.c = rest.pitch = args->pitch;
  rest.act = args->act;
  return launch_gather(queue, &rest);
}
