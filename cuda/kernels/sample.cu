/* Kernels whose work depends on a run's parameters: iterations of the loop, regions (ops that a run may skip),
 * embeddings, rows of the time embedding, and the sampler's steps. All are small. They read the parameters from device
 * memory, so that captured graphs need no changes between runs. */
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS = 256;

__device__ __forceinline__ size_t thread_index() {
  return (size_t)blockIdx.x * THREADS + threadIdx.x;
}

/* Writes value number i of y, and the copy of it (struct sample_copy). The copy is made of what y holds, which may have
 * been rounded. */
__device__ __forceinline__ void write_twice(const struct sample_args &p, unsigned i, float v) {
  element_write(p.y, p.y_type, i, v);
  const struct sample_copy &copy = p.copy;
  if (!copy.y)
    return;
  if (p.y_type == DTYPE_F16)
    v = __half2float(__float2half_rn(v));
  unsigned channels = (unsigned)copy.c, channel = i % channels;
  __half *pixel = copy.y + (size_t)(i / channels) * copy.pitch;
  pixel[channel] = __float2half_rn(copy.act == ACT_NONE ? v : activate(v, copy.act));
  for (int c = copy.c; channel == 0 && c < copy.pitch; c++)
    pixel[c] = __float2half_rn(0.0f);
}

/* Returns how many guidance rows (computations for one prompt each) `count` latents have. Does the same as
 * guidance_total of unet/plan/operands.h. */
__device__ __forceinline__ int total_of(struct guidance_rows rows, int count) {
  return count ? rows.first + (count - 1) * rows.each : 0;
}

template <bool GRAPH>
__global__ void next_iteration_kernel(struct run_block *block, int iterations, cudaGraphConditionalHandle again) {
  wait_for_previous();
  int iteration = block->iteration + 1;
  block->iteration = iteration < iterations ? iteration : 0;
  if (GRAPH)
    cudaGraphSetConditional(again, iteration < iterations);
}

/* Returns true if the run executes the ops of this region (ops that a run may skip) in the loop's present iteration.
 * Does the same as region_runs of unet/plan/run.h. */
__device__ __forceinline__ bool runs_now(const struct region_when &when, const struct run_block *block) {
  if (when.kind == REGION_MAP)
    return block->run.control[when.index].map;
  if (when.kind == REGION_STYLE)
    return block->run.style[when.index].weight != 0.0f;
  if (when.kind == REGION_MOTION)
    return block->run.motion;
  if (when.kind == REGION_BANK)
    return block->run.bank.frames > 0;
  const float *gain = block->run.control[when.index].gain + when.step + block->iteration;
  bool any = false;
  for (int i = 0; i < (when.latents ? when.latents : 1); i++)
    any |= gain[i] != 0.0f;
  return any;
}

__global__ void __launch_bounds__(DECISIONS_MAX)
    decide_kernel(const struct run_block *block, const __grid_constant__ struct decisions p) {
  int i = threadIdx.x;
  wait_for_previous();
  if (i < p.count)
    cudaGraphSetConditional(p.node[i], runs_now(p.when[i], block));
}

__global__ void __launch_bounds__(THREADS) embed_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i >= p.count)
    return;
  size_t token = p.block->run.tokens[i / p.c];
  element_write(p.y, p.y_type, i, __half2float(p.table[token * p.c + i % p.c]) + __half2float(p.position[i]));
}

/* Returns the sine or cosine of position times frequency number k of `half`, where number 0 is the highest. It
 * calculates in double precision, which is affordable because each element of an embedding needs it only once. */
__device__ __forceinline__ float wave(double position, int k, int half, float shift, bool cosine) {
  double angle = position * exp(-log(10000.0) * k / (half - (double)shift));
  return (float)(cosine ? cos(angle) : sin(angle));
}

__global__ void __launch_bounds__(THREADS) timestep_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i >= p.count)
    return;
  int width = p.values ? p.c / p.values : p.c, half = width / 2, k = (int)(i % width);
  float t = p.values ? p.value[i % p.c / width] : p.block->run.step[index_of(p.rows, (int)(i / p.c))].timestep;
  element_write(p.y, p.y_type, i, wave((double)t, k % half, half, p.shift, p.cos_first == (k < half)));
}

__global__ void __launch_bounds__(THREADS) guidance_embed_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i >= p.count)
    return;
  int half = p.c / 2, k = (int)(i % p.c);
  double w = ((double)p.block->run.guidance - 1.0) * 1000.0;
  element_write(p.y, p.y_type, i, wave(w, k % half, half, 1.0f, k >= half));
}

__global__ void __launch_bounds__(THREADS) time_row_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i < p.count)
    static_cast<__half *>(p.y)[i] = p.table[(size_t)(p.step + p.block->iteration) * p.count + i];
}

__global__ void __launch_bounds__(THREADS) store_slot_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  const struct run_params &run = p.block->run;
  size_t slot = p.n ? run.turn % (unsigned)p.n : (unsigned)run.slot;
  if (i < p.count)
    element_write(p.y, p.y_type, slot * p.count + i, element_read(p.x, p.x_type, i));
}

/* Moves the p.n entries of the queue y (p.count values each) back by one place, and writes x, unless it is NULL, to the
 * first entry. The last entry is lost. Each thread moves one value of every entry. */
__global__ void __launch_bounds__(THREADS) shift_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i >= p.count)
    return;
  for (int row = p.n - 1; row > 0; row--)
    element_write(p.y, p.y_type, row * p.count + i, element_read(p.y, p.y_type, (row - 1) * p.count + i));
  if (p.x)
    element_write(p.y, p.y_type, i, element_read(p.x, p.x_type, i));
}

__global__ void __launch_bounds__(THREADS) affine_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i < p.count)
    element_write(p.y, p.y_type, i, p.scale * element_read(p.x, p.x_type, i) + p.shift);
}

/* Rearranges pixels as OP_BLOCKS does (squares of pixels become pixels). In x and in y the rows of all pictures follow
 * each other in memory, so the kernel treats all pictures as one high picture. */
__global__ void __launch_bounds__(THREADS) blocks_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i >= p.count)
    return;
  int blocks = p.size * p.size, channels = p.mean ? p.c : p.c * blocks;
  int channel = (int)(i % channels), c = p.mean ? channel : channel / blocks;
  size_t pixel = i / channels, row = pixel / p.w * p.size, column = pixel % p.w * p.size;
  auto at = [&](int k) {
    size_t x = (row + k / p.size) * p.w * p.size + column + k % p.size;
    return element_read(p.x, p.x_type, x * p.pitch + c);
  };
  float v = 0.0f;
  for (int k = 0; p.mean && k < blocks; k++)
    v += at(k);
  element_write(p.y, p.y_type, i, p.mean ? v / blocks : at(channel % blocks));
}

__global__ void __launch_bounds__(THREADS) end_token_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i < p.count)
    element_write(p.y, p.y_type, i, element_read(p.x, p.x_type, p.block->run.end * p.count + i));
}

/* Returns a thread's part of two sums over the whole text: of x, and of x times the tokens' emphasis. */
__device__ __forceinline__ float2 emphasis_sums(const struct sample_args &p) {
  float2 sum = {0, 0};
  for (size_t i = threadIdx.x; i < p.count; i += THREADS) {
    float x = element_read(p.x, p.x_type, i);
    sum.x += x;
    sum.y += (1.0f + p.block->run.emphasis[i / p.c]) * x;
  }
  return sum;
}

/* Returns the factor that gives the encoded text, after emphasis of some tokens, the mean that it had before. Every
 * thread block calculates this factor itself. */
__device__ __forceinline__ float emphasis_factor(const struct sample_args &p) {
  __shared__ float2 shared[THREADS];
  shared[threadIdx.x] = emphasis_sums(p);
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      shared[threadIdx.x].x += shared[threadIdx.x + half].x;
      shared[threadIdx.x].y += shared[threadIdx.x + half].y;
    }
  }
  __syncthreads();
  float factor = shared[0].x / shared[0].y;
  return isnan(factor) ? 1.0f : fminf(fmaxf(factor, -EMPHASIS_MAX), EMPHASIS_MAX);
}

/* Multiplies each token of a text by its emphasis, one thread block a token. If any token has emphasis, every thread
 * block reads the whole text, which is small. */
__global__ void __launch_bounds__(THREADS) emphasis_kernel(const __grid_constant__ struct sample_args p) {
  wait_for_previous();
  const float *emphasis = p.block->run.emphasis;
  bool changed = false;
  for (int i = threadIdx.x; i < p.n; i += THREADS)
    changed |= emphasis[i] != 0.0f;
  float factor = __syncthreads_or(changed) ? emphasis_factor(p) * (1.0f + emphasis[blockIdx.x]) : 1.0f;
  for (size_t i = (size_t)blockIdx.x * p.c + threadIdx.x; i < (size_t)(blockIdx.x + 1) * p.c; i += THREADS)
    element_write(p.y, p.y_type, i, factor * element_read(p.x, p.x_type, i));
}

/* Adds to each picture of y its biases from the time embedding (launch_add_times). Each thread calculates WIDTH values:
 * eight if rows and their addresses are multiples of 8 elements, else one. */
template <int WIDTH>
__global__ void __launch_bounds__(THREADS) add_times_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index() * WIDTH;
  wait_for_previous();
  if (i >= p.count * p.n)
    return;
  const __half *row = p.table + i / p.count * p.pitch + i % p.c;
  __half *y = static_cast<__half *>(p.y) + i;
  if constexpr (WIDTH == 8) {
    float v[8], time[8];
    load8(y, v);
    load8(row, time);
#pragma unroll
    for (int j = 0; j < 8; j++)
      v[j] += time[j];
    store8(y, v);
  } else {
    *y = __float2half_rn(__half2float(*y) + __half2float(*row));
  }
}

/* Adds gain * x to y (launch_inject). Each thread calculates WIDTH values: eight if p.count is a multiple of 8 and x is
 * FP16, else one. */
template <int WIDTH>
__global__ void __launch_bounds__(THREADS) inject_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index() * WIDTH;
  wait_for_previous();
  if (i >= p.count * p.n)
    return;
  float gain = gain_of(p.gain, (int)(i / p.count));
  size_t from = p.c ? i % p.count : i;
  __half *y = static_cast<__half *>(p.y) + i;
  if constexpr (WIDTH == 8) {
    float v[8], x[8];
    load8(y, v);
    load8(static_cast<const __half *>(p.x) + from, x);
#pragma unroll
    for (int j = 0; j < 8; j++)
      v[j] += gain * x[j];
    store8(y, v);
  } else {
    *y = __float2half_rn(__half2float(*y) + gain * element_read(p.x, p.x_type, from));
  }
}

__global__ void __launch_bounds__(THREADS) between_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i >= p.count)
    return;
  const float *part = p.block->run.between[i / (p.count / p.n) % p.together];
  element_write(p.y, p.y_type, i, part[0] * p.noise[i] + part[1] * p.noise[p.count + i]);
}

__global__ void __launch_bounds__(THREADS) start_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i >= p.count)
    return;
  const struct run_params &run = p.block->run;
  float v = run.start_noise * p.noise[i];
  if (p.x)
    v += run.start_latent * element_read(p.x, p.x_type, i);
  element_write(p.y, p.y_type, i, v);
}

__global__ void __launch_bounds__(THREADS) mask_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i < p.count)
    element_write(p.y, p.y_type, i, p.kept_pixels[i / p.c % p.size] >= 0.5f ? element_read(p.x, p.x_type, i) : p.shift);
}

/* Returns 1 if the mask says that the network repaints this pixel of the latent, 0 if the input picture stays there. */
__device__ __forceinline__ float repainted(const struct sample_args &p, size_t pixel) {
  /* the masks of all latents follow each other in memory, as the latents do, so the mask's row follows from the
   * latent's row alone */
  size_t row = pixel / p.w * p.size, column = pixel % p.w * p.size;
  return p.kept_pixels[row * p.w * p.size + column] >= 0.5f ? 0.0f : 1.0f;
}

__global__ void __launch_bounds__(THREADS) unet_input_kernel(const __grid_constant__ struct sample_args p) {
  /* 32 bits are enough for a latent, and dividing them takes a fraction of what 64 take */
  unsigned i = (unsigned)thread_index(), count = (unsigned)p.count;
  wait_for_previous();
  if (i >= count * p.n)
    return;
  int masks = p.kept_pixels != nullptr, channels = p.c + masks + p.c_image;
  int copy = (int)(i / count), latent = index_of(p.rows, copy), row = row_of(p.rows, copy);
  unsigned within = i % count / channels;
  size_t pixel = latent * (count / channels) + within;
  int channel = (int)(i % channels), image = channel - p.c - masks;
  float v = 0.0f;
  if (channel < p.c)
    v = element_read(p.x, p.x_type, pixel * p.c + channel);
  else if (image < 0)
    v = repainted(p, p.kept_n == 1 ? within : pixel);
  else if (p.image_rows >> row & 1)
    v = __half2float(p.image[pixel * p.c_image + image]);
  write_twice(p, i, v);
}

/* Returns value i of a latent's prediction after guidance, before guidance rescale. It is the sum of its guidance rows'
 * predictions times their weights; if residual guidance is used for this latent, plus the residual prediction. */
__device__ __forceinline__ float guided(const struct sample_args &p, int latent, size_t i) {
  const struct run_params &run = p.block->run;
  int rows = latent ? p.rows.each : p.rows.first;
  size_t row = total_of(p.rows, latent), at = latent * p.count + i;
  float m = 0.0f;
  for (int r = 0; r < rows; r++)
    m += run.row_weight[r] * element_read(p.model, p.model_type, (row + r) * p.count + i);
  if (!p.x || (p.anew && latent < p.together))
    return m;
  const struct residual_params &residual = run.residual[p.step + p.block->iteration + latent / p.together];
  float towards = residual.x * element_read(p.x, p.x_type, at);
  if (p.reference)
    towards += residual.reference * element_read(p.reference, p.reference_type, at);
  return m + run.virtual_weight * towards;
}

/* Adds each of four values over the thread block: sum and sum of squares of the prediction for the prompt, and of the
 * prediction after guidance. */
__device__ __forceinline__ void add_up(float sums[4], float *out) {
  __shared__ float of_warp[THREADS / 32][4];
  for (int j = 0; j < 4; j++) {
    for (int lane = 16; lane; lane /= 2)
      sums[j] += __shfl_down_sync(~0u, sums[j], lane);
    if (threadIdx.x % 32 == 0)
      of_warp[threadIdx.x / 32][j] = sums[j];
  }
  __syncthreads();
  if (threadIdx.x < 4) {
    float sum = 0.0f;
    for (int warp = 0; warp < THREADS / 32; warp++)
      sum += of_warp[warp][threadIdx.x];
    out[threadIdx.x] = sum;
  }
}

__global__ void __launch_bounds__(THREADS) guide_sums_kernel(const __grid_constant__ struct sample_args p) {
  int latent = blockIdx.y;
  wait_for_previous();
  if (p.block->run.guidance_rescale == 0.0f)
    return;
  size_t row = total_of(p.rows, latent);
  float sums[4] = {};
  for (size_t i = thread_index(); i < p.count; i += GUIDE_BLOCKS * THREADS) {
    float text = element_read(p.model, p.model_type, row * p.count + i), m = guided(p, latent, i);
    sums[0] += text;
    sums[1] += text * text;
    sums[2] += m;
    sums[3] += m * m;
  }
  add_up(sums, p.sums + (latent * GUIDE_BLOCKS + blockIdx.x) * 4);
}

/* Returns the factor by which guidance rescale multiplies a latent's prediction. */
__device__ __forceinline__ float rescaled(const struct sample_args &p, int latent) {
  float f = p.block->run.guidance_rescale;
  if (f == 0.0f)
    return 1.0f;
  double sums[4] = {};
  for (int block = 0; block < GUIDE_BLOCKS; block++)
    for (int j = 0; j < 4; j++)
      sums[j] += p.sums[(latent * GUIDE_BLOCKS + block) * 4 + j];
  double text = sums[1] - sums[0] * sums[0] / p.count, spread = sums[3] - sums[2] * sums[2] / p.count;
  return spread > 0.0 ? 1.0f - f + f * (float)sqrt(fmax(text, 0.0) / spread) : 1.0f;
}

__global__ void __launch_bounds__(THREADS) guide_kernel(const __grid_constant__ struct sample_args p) {
  __shared__ float factor;
  int latent = blockIdx.y;
  size_t i = thread_index();
  wait_for_previous();
  if (threadIdx.x == 0)
    factor = rescaled(p, latent);
  __syncthreads();
  if (i >= p.count)
    return;
  float m = guided(p, latent, i);
  if (p.anew && latent < p.together) {
    const struct residual_params &residual = p.block->run.residual[p.step + p.block->iteration];
    size_t at = latent * p.count + i, row = total_of(p.rows, latent) + 1;
    p.anew[at] = residual.clean_x * element_read(p.x, p.x_type, at) +
                 residual.clean_model * element_read(p.model, p.model_type, row * p.count + i);
  }
  element_write(p.y, p.y_type, latent * p.count + i, factor * m);
}

/* Returns the sum of the predictions of earlier steps times their weights, for multistep samplers. If this step stores
 * its prediction `now` for later steps, it becomes the newest of the stored ones, and these move back by one. */
__device__ __forceinline__ float look_back(const struct sample_args &p, const struct step_params &s, size_t i,
                                           float now) {
  float sum = 0.0f, *earlier = p.earlier + blockIdx.y * p.kept * p.count;
  bool keeps = s.keep_x != 0.0f || s.keep_model != 0.0f;
  for (int j = 0; j < p.kept; j++) {
    float *place = earlier + j * p.count + i, before = *place;
    if (s.earlier[j] != 0.0f)
      sum += s.earlier[j] * before;
    if (keeps)
      *place = now;
    now = before;
  }
  return sum;
}

__global__ void __launch_bounds__(THREADS) step_kernel(const __grid_constant__ struct sample_args p) {
  size_t i = thread_index();
  wait_for_previous();
  if (i >= p.count)
    return;
  const struct run_params &run = p.block->run;
  int step = p.step + p.block->iteration + blockIdx.y / p.together;
  const struct step_params &s = run.step[step];
  size_t at = blockIdx.y * p.count + i;
  float model = element_read(p.model, p.model_type, at);
  float x = element_read(p.x, p.x_type, at), v = s.x * x + s.model * model;
  if (p.noise && s.noise != 0.0f)
    v += s.noise * p.noise[((size_t)step * p.together + blockIdx.y % p.together) * p.count + i];
  if (p.kept)
    v += look_back(p, s, i, s.keep_x * x + s.keep_model * model);
  write_twice(p, (unsigned)at, v);
}

template <typename Kernel>
cudaError_t launch_over(const struct launch_queue *queue, Kernel kernel, size_t threads,
                        const struct sample_args *args) {
  return launch(queue, kernel, dim3(blocks_for(threads, THREADS)), dim3(THREADS), 0, *args);
}

} // namespace

cudaError_t launch_next_iteration(const struct launch_queue *queue, struct run_block *block, int iterations,
                                  const cudaGraphConditionalHandle *again) {
  return again ? launch(queue, next_iteration_kernel<true>, dim3(1), dim3(1), 0, block, iterations, *again)
               : launch(queue, next_iteration_kernel<false>, dim3(1), dim3(1), 0, block, iterations, 0);
}

cudaError_t launch_decide(const struct launch_queue *queue, const struct run_block *block,
                          const struct decisions *decisions) {
  return launch(queue, decide_kernel, dim3(1), dim3(DECISIONS_MAX), 0, block, *decisions);
}

cudaError_t launch_embed(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, embed_kernel, args->count, args);
}

cudaError_t launch_timestep(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, timestep_kernel, args->count, args);
}

cudaError_t launch_guidance_embed(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, guidance_embed_kernel, args->count, args);
}

cudaError_t launch_time_row(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, time_row_kernel, args->count, args);
}

cudaError_t launch_store_slot(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, store_slot_kernel, args->count, args);
}

cudaError_t launch_shift(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, shift_kernel, args->count, args);
}

cudaError_t launch_affine(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, affine_kernel, args->count, args);
}

cudaError_t launch_blocks(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, blocks_kernel, args->count, args);
}

cudaError_t launch_end_token(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, end_token_kernel, args->count, args);
}

cudaError_t launch_emphasis(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, emphasis_kernel, (size_t)args->n * THREADS, args);
}

cudaError_t launch_add_times(const struct launch_queue *queue, const struct sample_args *args) {
  size_t count = args->count * args->n;
  bool wide = args->c % 8 == 0 && args->pitch % 8 == 0 && (uintptr_t)args->table % 16 == 0;
  return wide ? launch_over(queue, add_times_kernel<8>, count / 8, args)
              : launch_over(queue, add_times_kernel<1>, count, args);
}

cudaError_t launch_inject(const struct launch_queue *queue, const struct sample_args *args) {
  size_t count = args->count * args->n;
  return args->count % 8 == 0 && args->x_type == DTYPE_F16 ? launch_over(queue, inject_kernel<8>, count / 8, args)
                                                           : launch_over(queue, inject_kernel<1>, count, args);
}

cudaError_t launch_between(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, between_kernel, args->count, args);
}

cudaError_t launch_start(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, start_kernel, args->count, args);
}

cudaError_t launch_mask(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, mask_kernel, args->count, args);
}

cudaError_t launch_unet_input(const struct launch_queue *queue, const struct sample_args *args) {
  return launch_over(queue, unet_input_kernel, args->count * args->n, args);
}

cudaError_t launch_guide_sums(const struct launch_queue *queue, const struct sample_args *args) {
  return launch(queue, guide_sums_kernel, dim3(GUIDE_BLOCKS, args->n), dim3(THREADS), 0, *args);
}

cudaError_t launch_guide(const struct launch_queue *queue, const struct sample_args *args) {
  dim3 grid(blocks_for(args->count, THREADS), args->n);
  return launch(queue, guide_kernel, grid, dim3(THREADS), 0, *args);
}

cudaError_t launch_step(const struct launch_queue *queue, const struct sample_args *args) {
  return launch(queue, step_kernel, dim3(blocks_for(args->count, THREADS), args->n), dim3(THREADS), 0, *args);
}
