/* Kernels of noise that moves with the picture (OP_ADVECT, OP_CARRIED_NOISE), and of feedback, which mixes the last
 * picture's latent into the next one (OP_START). A field gives each cell of the latent a place in a texture of noise,
 * in whole numbers; unet/plan/texture.h has the functions. Each thread has a cell, or one value of the noise. A field
 * has few cells (4096 at 512x512), so the latency of loads limits the kernels, and another launch takes less time than
 * a barrier over the grid. */
#include "cuda/kernels/advect.h"
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 256;
/* A latent with at most this many cells (a picture of 1024x1024) does without count_kernel: every thread block of
 * show_kernel counts all strained cells (stretched or squeezed by zooms) itself. In a larger latent that would take
 * longer, since it has more thread blocks and each would count more cells. */
constexpr int COUNTED_BY_ALL = 128 * 128;

/* Return the field: for each cell of the latent its position in the texture of noise. last_field is that before this
 * frame's motion (`places`), moved_field that after it (`advected`). */
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

__device__ __forceinline__ int strain_counts(const struct texture_field &field, int i) {
  return texture_strain(&field, i / field.w, i % field.w) > TEXTURE_STRAINED;
}

/* Returns the sum of `mine` over all threads of the thread block, to each of them. */
__device__ __forceinline__ int block_sum(int mine) {
  __shared__ int sum;
  if (threadIdx.x == 0)
    sum = 0;
  __syncthreads();
  atomicAdd(&sum, mine);
  __syncthreads();
  return sum;
}

/* Counts the cells that are strained, which means stretched or squeezed too much by zooms. Each thread block stores how
 * many of its own cells are strained. */
__global__ void __launch_bounds__(THREADS) count_kernel(const __grid_constant__ struct advect_args p) {
  int i = blockIdx.x * THREADS + threadIdx.x;
  wait_for_previous();
  int count = block_sum(i < p.h * p.w && strain_counts(moved_field(p), i));
  if (threadIdx.x == 0)
    p.strained[blockIdx.x] = count;
}

/* Returns true if the texture of noise must be renewed, because too many cells are strained (stretched or squeezed by
 * zooms). Each thread block adds up the numbers that count_kernel has stored; without those it counts the cells of the
 * whole latent. */
__device__ __forceinline__ bool is_strained(const struct advect_args &p, const struct texture_field &field) {
  int cells = p.h * p.w, parts = p.strained ? (int)gridDim.x : cells, mine = 0;
  for (int i = threadIdx.x; i < parts; i += THREADS)
    mine += p.strained ? p.strained[i] : strain_counts(field, i);
  return block_sum(mine) * TEXTURE_PART > cells;
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

/* Returns a value of the last picture's latent at a position between its cells, by linear interpolation. py, px: the
 * position in 1/256 pixel of the picture, counted from the middle of the first cell. */
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
  if (run.feedback != 0.0f && p.visible[cell] && !p.global[GLOBAL_BLANK]) {
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

size_t advect_scratch_bytes(int h, int w) {
  size_t cells = (size_t)h * w;
  return cells > COUNTED_BY_ALL ? blocks_for(cells, THREADS) * sizeof(int32_t) : 0;
}

cudaError_t launch_advect_move(const struct launch_queue *queue, const struct advect_args *args) {
  return launch_over_cells(queue, move_kernel, args);
}

cudaError_t launch_advect_count(const struct launch_queue *queue, const struct advect_args *args) {
  return launch_over_cells(queue, count_kernel, args);
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
