/* Kernels of noise that moves with the picture, and of feedback. The field of places is whole numbers, computed by the
 * functions of unet/plan/texture.h. Each thread has a cell, or one value of the noise. A field has few cells (4096 at
 * 512x512), so that the latency of loads limits the kernels, and a launch more costs less than a barrier over the
 * grid. */
#include "cuda/kernels/advect.h"
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 256;

/* The field as it was (places) and as it is after moving (advected). */
__device__ __forceinline__ struct texture_field last_field(const struct advect_args &p) {
  return {p.h, p.w, 256 * p.cell, p.places, 2};
}
__device__ __forceinline__ struct texture_field moved_field(const struct advect_args &p) {
  return {p.h, p.w, 256 * p.cell, p.advected, ADVECTED_VALUES};
}

__global__ void __launch_bounds__(THREADS) move_kernel(const __grid_constant__ struct advect_args p) {
  int i = blockIdx.x * THREADS + threadIdx.x, y = i / p.w, x = i % p.w;
  wait_for_previous();
  if (y >= p.h)
    return;
  const struct texture_field last = last_field(p);
  const struct texture_motion motion = {p.flow, p.visible};
  struct texture_place place = {y * last.unit, x * last.unit};
  if (p.global[0])
    p.entries[i] = i;
  else
    place = texture_move(&last, &motion, y, x);
  p.advected[i * ADVECTED_VALUES + ADVECTED_Y] = place.y;
  p.advected[i * ADVECTED_VALUES + ADVECTED_X] = place.x;
}

/* Returns true if so many cells are strained that the texture is to be renewed. Every thread block looks at all
 * cells. */
__device__ __forceinline__ bool is_strained(const struct advect_args &p, const struct texture_field &field) {
  __shared__ int count;
  int cells = p.h * p.w, mine = 0;
  if (threadIdx.x == 0)
    count = 0;
  __syncthreads();
  for (int i = threadIdx.x; i < cells; i += THREADS)
    mine += texture_strain(&field, i / p.w, i % p.w) > TEXTURE_STRAINED;
  atomicAdd(&count, mine);
  __syncthreads();
  return count * TEXTURE_PART > cells;
}

__global__ void __launch_bounds__(THREADS) show_kernel(const __grid_constant__ struct advect_args p) {
  int i = blockIdx.x * THREADS + threadIdx.x, y = i / p.w, x = i % p.w;
  wait_for_previous();
  const struct texture_field field = moved_field(p);
  bool renewed = is_strained(p, field);
  if (y >= p.h)
    return;
  p.advected[i * ADVECTED_VALUES + ADVECTED_ENTRY] = texture_entry(&field, p.entries, y, x);
  p.advected[i * ADVECTED_VALUES + ADVECTED_RENEWED] = renewed;
  struct texture_place place = renewed ? texture_renew(&field, y, x) : texture_at(&field, y, x);
  p.places[2 * i] = place.y;
  p.places[2 * i + 1] = place.x;
}

__global__ void __launch_bounds__(THREADS) keep_kernel(const __grid_constant__ struct advect_args p) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  wait_for_previous();
  if (i < p.h * p.w && p.advected[i * ADVECTED_VALUES + ADVECTED_RENEWED])
    p.entries[i] = p.advected[i * ADVECTED_VALUES + ADVECTED_ENTRY];
}

__global__ void __launch_bounds__(THREADS) noise_kernel(const __grid_constant__ struct advect_args p) {
  int i = blockIdx.x * THREADS + threadIdx.x, cells = p.h * p.w, pixel = i / p.c, channel = i % p.c;
  int sample = pixel / cells, cell = pixel % cells;
  wait_for_previous();
  if (sample >= p.samples)
    return;
  uint32_t entry = cell;
  if (p.block->run.carried)
    entry = p.advected[cell * ADVECTED_VALUES + ADVECTED_ENTRY];
  bool is_first = entry < (uint32_t)cells;
  int at = is_first ? (int)entry : texture_second(entry - cells, p.first + sample, cells);
  const float *from = is_first ? p.noise + (size_t)sample * cells * p.c : p.second;
  static_cast<float *>(p.y)[i] = from[(size_t)at * p.c + channel];
}

/* Returns the last latent at a position in 1/256 pixel from the middle of its first cell. */
__device__ __forceinline__ float last_at(const struct advect_args &p, int py, int px, int channel) {
  int unit = 256 * p.cell, iy = texture_clamp(py, (p.h - 1) * unit), ix = texture_clamp(px, (p.w - 1) * unit);
  int y = iy / unit, x = ix / unit, below = min(y + 1, p.h - 1), right = min(x + 1, p.w - 1);
  float ty = (float)(iy % unit) / unit, tx = (float)(ix % unit) / unit;
  float a = p.last[(y * p.w + x) * p.c + channel], b = p.last[(y * p.w + right) * p.c + channel],
        c = p.last[(below * p.w + x) * p.c + channel], d = p.last[(below * p.w + right) * p.c + channel];
  return (a * (1.0f - tx) + b * tx) * (1.0f - ty) + (c * (1.0f - tx) + d * tx) * ty;
}

__global__ void __launch_bounds__(THREADS) feedback_kernel(const __grid_constant__ struct advect_args p) {
  int i = blockIdx.x * THREADS + threadIdx.x, cell = i / p.c, channel = i % p.c;
  wait_for_previous();
  if (cell >= p.h * p.w)
    return;
  const struct run_params &run = p.block->run;
  float z = element_read(p.x, p.x_type, i);
  if (run.feedback != 0.0f && p.visible[cell]) {
    int y = cell / p.w * 256 * p.cell + p.flow[2 * cell], x = cell % p.w * 256 * p.cell + p.flow[2 * cell + 1];
    z += run.feedback * (last_at(p, y, x, channel) - z);
  }
  element_write(p.y, p.y_type, i, run.start_noise * p.noise[i] + run.start_latent * z);
}

cudaError_t launch_over_cells(const struct launch_queue *queue, void (*kernel)(const struct advect_args),
                              const struct advect_args *args) {
  return launch(queue, kernel, dim3(blocks_for((size_t)args->h * args->w, THREADS)), dim3(THREADS), 0, *args);
}

cudaError_t launch_over_values(const struct launch_queue *queue, void (*kernel)(const struct advect_args),
                               const struct advect_args *args) {
  size_t values = (size_t)args->samples * args->h * args->w * args->c;
  return launch(queue, kernel, dim3(blocks_for(values, THREADS)), dim3(THREADS), 0, *args);
}

} // namespace

cudaError_t launch_advect_move(const struct launch_queue *queue, const struct advect_args *args) {
  return launch_over_cells(queue, move_kernel, args);
}

cudaError_t launch_advect_show(const struct launch_queue *queue, const struct advect_args *args) {
  return launch_over_cells(queue, show_kernel, args);
}

cudaError_t launch_advect_keep(const struct launch_queue *queue, const struct advect_args *args) {
  return launch_over_cells(queue, keep_kernel, args);
}

cudaError_t launch_carried_noise(const struct launch_queue *queue, const struct advect_args *args) {
  return launch_over_values(queue, noise_kernel, args);
}

cudaError_t launch_feedback(const struct launch_queue *queue, const struct advect_args *args) {
  return launch_over_values(queue, feedback_kernel, args);
}
