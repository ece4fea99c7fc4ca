/* Launches a group norm or a layer norm, with any activation after it. */
#include "cuda/kernels/norm.cuh"

static cudaError_t launch_group(const struct launch_queue *queue, const struct norm_args *args,
                                const struct norm_beside *beside) {
  if (group_norm_is_apart(queue, args))
    return launch_group_norm_apart(queue, args, beside);
  return beside->joined || beside->sum ? cudaErrorInvalidConfiguration : launch_group_norm(queue, args);
}

bool norm_has_beside(const struct launch_queue *queue, const struct norm_args *args) {
  return args->groups && group_norm_is_apart(queue, args);
}

cudaError_t launch_norm_beside(const struct launch_queue *queue, const struct norm_args *args,
                               const struct norm_beside *beside) {
  cudaError_t status = args->groups ? launch_group(queue, args, beside) : launch_layer_norm(queue, args);
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

cudaError_t launch_norm(const struct launch_queue *queue, const struct norm_args *args) {
  const struct norm_beside nothing = {};
  return launch_norm_beside(queue, args, &nothing);
}
