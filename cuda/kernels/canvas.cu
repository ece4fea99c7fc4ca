/* Kernels of the canvas, an endless plane on which the scene stands still while the camera moves. They find where a
 * frame lies on it, draw the frame into a window of the canvas, cut the frame out of the window again, and make the
 * window's noise. Positions on the canvas are whole numbers; unet/plan/canvas_place.h has the functions. Memory limits
 * the kernels: a thread moves one pixel, and neighbours in a warp have neighbouring pixels. */
#include "cuda/kernels/canvas.h"
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 256;

__global__ void place_kernel(const __grid_constant__ struct canvas_args p) {
  wait_for_previous();
  const struct canvas_motion motion = {p.global[GLOBAL_CUT] != 0, p.global[GLOBAL_A], p.global[GLOBAL_B],
                                       p.global[GLOBAL_Y], p.global[GLOBAL_X]};
  canvas_move(p.place, &motion, &p.size);
}

__device__ __forceinline__ size_t pixel_at(const struct canvas_args &p, int y, int x) {
  return ((size_t)canvas_mirrored(y, p.h) * p.w + canvas_mirrored(x, p.w)) * p.c;
}

/* Adds a pixel of x times `weight` to the sums, one for each channel. from: index of the pixel's first channel in
 * x. */
__device__ __forceinline__ void add(const struct canvas_args &p, size_t from, float weight, float sum[3]) {
#pragma unroll
  for (int k = 0; k < 3; k++)
    if (k < p.c)
      sum[k] += weight * element_read(p.x, p.x_type, from + k);
}

/* Draws the frame into the window of the canvas (the part of an endless plane that the network computes); if p.back is
 * set, cuts the frame's part out of the window instead. A picture has at most three channels. */
__global__ void __launch_bounds__(THREADS) draw_kernel(const __grid_constant__ struct canvas_args p) {
  int pixel = blockIdx.x * THREADS + threadIdx.x, i = pixel / p.y_w, j = pixel % p.y_w;
  wait_for_previous();
  if (i >= p.y_h)
    return;
  const struct canvas_view view = canvas_view_of(p.place, &p.size);
  const struct canvas_point at =
      p.back ? canvas_to_window(&view, &p.size, i, j) : canvas_to_frame(&view, &p.size, i, j);
  float sum[3] = {0, 0, 0};
  if (view.warped && !p.nearest) {
    float down[4], across[4];
    canvas_weights(at.y & (CANVAS_PIXEL - 1), down);
    canvas_weights(at.x & (CANVAS_PIXEL - 1), across);
#pragma unroll
    for (int tap = 0; tap < 16; tap++)
      add(p, pixel_at(p, (at.y >> 8) + tap / 4 - 1, (at.x >> 8) + tap % 4 - 1), down[tap / 4] * across[tap % 4], sum);
  } else {
    add(p, pixel_at(p, (at.y + CANVAS_PIXEL / 2) >> 8, (at.x + CANVAS_PIXEL / 2) >> 8), 1, sum);
  }
#pragma unroll
  for (int k = 0; k < 3; k++)
    if (k < p.c)
      element_write(p.y, p.y_type, (size_t)pixel * p.c + k, sum[k]);
}

__global__ void __launch_bounds__(THREADS) noise_kernel(const __grid_constant__ struct canvas_args p) {
  int e = blockIdx.x * THREADS + threadIdx.x, pixel = e / p.c, k = e % p.c;
  int j = pixel % p.w, i = pixel / p.w % p.h, n = pixel / p.w / p.h;
  wait_for_previous();
  if (n >= p.n)
    return;
  const struct canvas_view view = canvas_view_of(p.place, &p.size);
  int row = (i + view.cell_y / p.cell) % p.h, column = (j + view.cell_x / p.cell) % p.w;
  static_cast<float *>(p.y)[e] = static_cast<const float *>(p.x)[(((size_t)n * p.h + row) * p.w + column) * p.c + k];
}

} // namespace

cudaError_t launch_canvas_place(const struct launch_queue *queue, const struct canvas_args *args) {
  return launch(queue, place_kernel, 1, 1, 0, *args);
}

cudaError_t launch_canvas_draw(const struct launch_queue *queue, const struct canvas_args *args) {
  return launch(queue, draw_kernel, blocks_for((size_t)args->y_h * args->y_w, THREADS), THREADS, 0, *args);
}

cudaError_t launch_canvas_noise(const struct launch_queue *queue, const struct canvas_args *args) {
  size_t elements = (size_t)args->n * args->h * args->w * args->c;
  return launch(queue, noise_kernel, blocks_for(elements, THREADS), THREADS, 0, *args);
}
