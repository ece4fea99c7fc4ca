/* Device helpers that the kernels share: launching, 16-byte vectors, activations, tensor-core fragments. */
#ifndef CUDA_KERNELS_COMMON_CUH
#define CUDA_KERNELS_COMMON_CUH

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <stdint.h>

#include "cuda/kernels/kernels.h"

/* --- starting kernels early, and waiting for the preceding one --- */

/* Enqueues kernel<<<grid, block, shared>>>(args). If queue->overlap is set, the kernel may start before the preceding
 * one has ended (programmatic dependent launch). */
template <typename... Parameters, typename... Arguments>
static cudaError_t launch(const struct launch_queue *queue, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                          size_t shared, Arguments... arguments) {
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = queue->stream;
  config.attrs = &attribute;
  config.numAttrs = queue->overlap ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, Parameters(arguments)...);
}

/* Waits until the preceding kernel in the stream has finished, and allows the next kernel to start. Every kernel calls
 * it before it reads results of earlier kernels, and before it writes anything. In a kernel that was launched without
 * overlap it does nothing. */
static __device__ __forceinline__ void wait_for_previous() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

static inline unsigned blocks_for(size_t items, size_t per_block) {
  return (unsigned)((items + per_block - 1) / per_block);
}

/* --- reading and writing of elements that are FP32 or FP16 --- */

static __device__ __forceinline__ float element_read(const void *x, enum dtype type, size_t i) {
  return type == DTYPE_F32 ? static_cast<const float *>(x)[i] : __half2float(static_cast<const __half *>(x)[i]);
}

static __device__ __forceinline__ void element_write(void *y, enum dtype type, size_t i, float v) {
  if (type == DTYPE_F32)
    static_cast<float *>(y)[i] = v;
  else
    static_cast<__half *>(y)[i] = __float2half_rn(v);
}

/* --- conversion between eight halves in 16 bytes and floats --- */

union pack8 {
  uint4 raw;
  __half2 pair[4];
};

static __device__ __forceinline__ uint32_t pack2(float low, float high) {
  __half2 two = __floats2half2_rn(low, high);
  return *reinterpret_cast<uint32_t *>(&two);
}

static __device__ __forceinline__ float2 unpack2(uint32_t raw) {
  return __half22float2(*reinterpret_cast<__half2 *>(&raw));
}

static __device__ __forceinline__ void unpack8(uint4 raw, float out[8]) {
  union pack8 pack;
  pack.raw = raw;
#pragma unroll
  for (int i = 0; i < 4; i++) {
    float2 two = __half22float2(pack.pair[i]);
    out[2 * i] = two.x;
    out[2 * i + 1] = two.y;
  }
}

static __device__ __forceinline__ void load8(const __half *from, float out[8]) {
  unpack8(*reinterpret_cast<const uint4 *>(from), out);
}

static __device__ __forceinline__ void store8(__half *to, const float in[8]) {
  union pack8 pack;
#pragma unroll
  for (int i = 0; i < 4; i++)
    pack.pair[i] = __floats2half2_rn(in[2 * i], in[2 * i + 1]);
  *reinterpret_cast<uint4 *>(to) = pack.raw;
}

/* --- activations ---
 *
 * A kernel has a few thousand instructions at most, and fetching rarely used code from memory can take longer than the
 * rest of it. So the common activations (none, ReLU, SiLU) are inlined, and the others are called. */

static __device__ __forceinline__ float silu(float x) {
  float power, inverse;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(-1.44269504f * x));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(1.0f + power));
  return x * inverse;
}

/* Returns GELU: x times the normal distribution function of x. The function's tail is half of q = erfc(|x| / sqrt(2)),
 * by formula 7.1.26 of Abramowitz and Stegun, "Handbook of Mathematical Functions" (error below 1.5e-7). That takes a
 * third of the instructions of erff. */
static __device__ __forceinline__ float gelu(float x) {
  float size = fabsf(x), t, tail;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(t) : "f"(1.0f + 0.23164190f * size));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(tail) : "f"(-0.72134752f * x * x));
  float q = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  return fmaxf(x, 0.0f) - 0.5f * size * (q * tail);
}

static __device__ __noinline__ float activate(float x, enum activation act) {
  switch (act) {
  case ACT_RELU:
    return fmaxf(x, 0.0f);
  case ACT_SILU:
    return silu(x);
  case ACT_GELU:
    return gelu(x);
  case ACT_QUICK_GELU:
    return x / (1.0f + __expf(-1.702f * x));
  case ACT_TANH3:
    return 3.0f * tanhf(x * (1.0f / 3.0f));
  default:
    return x;
  }
}

/* --- values that depend on the run's parameters --- */

/* Guidance rows: each latent is computed once for each of several prompts, and each of these computations is a row.
 * index_of returns the number of the latent to which row number `row` belongs. row_of returns the row's number among
 * those of that latent. They do the same as guidance_index and guidance_row of unet/plan/operands.h. */
static __device__ __forceinline__ int index_of(struct guidance_rows rows, int row) {
  return row < rows.first ? 0 : 1 + (row - rows.first) / rows.each;
}

static __device__ __forceinline__ int row_of(struct guidance_rows rows, int row) {
  return row < rows.first ? row : (row - rows.first) % rows.each;
}

/* Returns the factor by which a control network's result is multiplied before it is added to picture number `picture`.
 * Does the same as inject_gain of unet/plan/run.h. */
static __device__ __forceinline__ float gain_of(const struct product_gain &gain, int picture) {
  const struct control_params &control = gain.block->run.control[gain.control];
  float g = control.gain[gain.step + gain.block->iteration + index_of(gain.rows, picture)];
  if (!control.guess)
    return g;
  return row_of(gain.rows, picture) ? 0.0f : g * gain.guess;
}

/* --- the epilogue of a matrix product: bias, time row (from the time embedding), residual, activation --- */

struct tail {
  const float *bias;
  const __half *time, *residual;
  enum activation act;
  bool residual_last;
};

/* Applies the epilogue (struct tail) to one value v of a product's result. column: index of the value in bias and time;
 * at: index in residual. */
static __device__ __forceinline__ float finish(const struct tail &tail, float v, int column, size_t at) {
  if (tail.bias)
    v += tail.bias[column];
  if (tail.time)
    v += __half2float(tail.time[column]);
  float residual = tail.residual ? __half2float(tail.residual[at]) : 0.0f;
  return tail.residual_last ? activate(v, tail.act) + residual : activate(v + residual, tail.act);
}

/* Returns true if finish8 supports this activation: none or ReLU. */
static __device__ __forceinline__ bool is_simple(enum activation act) {
  return act == ACT_NONE || act == ACT_RELU;
}

/* Applies the epilogue (struct tail) to eight neighbouring values of a row. column: index of the first value in bias
 * and time, a multiple of 8. residual: the eight FP16 values of the residual, which the caller has loaded. */
static __device__ __forceinline__ void finish8(const struct tail &tail, float v[8], int column, uint4 residual) {
  float add[8], least = tail.act == ACT_RELU ? 0.0f : -INFINITY;
  unpack8(residual, add);
  if (tail.bias) {
    float4 low = __ldg(reinterpret_cast<const float4 *>(tail.bias + column));
    float4 high = __ldg(reinterpret_cast<const float4 *>(tail.bias + column) + 1);
    v[0] += low.x, v[1] += low.y, v[2] += low.z, v[3] += low.w;
    v[4] += high.x, v[5] += high.y, v[6] += high.z, v[7] += high.w;
  }
  if (tail.time) {
#pragma unroll
    for (int i = 0; i < 8; i++)
      v[i] += __half2float(tail.time[column + i]);
  }
#pragma unroll
  for (int i = 0; i < 8; i++)
    v[i] = tail.residual_last ? fmaxf(v[i], least) + add[i] : fmaxf(v[i] + add[i], least);
}

/* Returns eight FP16 values of the residual from index `at` on, a multiple of 8; zeros if there is no residual or
 * `there` is false. */
static __device__ __forceinline__ uint4 fetch_residual(const __half *residual, size_t at, bool there) {
  return residual && there ? *reinterpret_cast<const uint4 *>(residual + at) : make_uint4(0, 0, 0, 0);
}

/* --- asynchronous copies and tensor cores (compute capability 8.0 and up) --- */

static __device__ __forceinline__ uint32_t shared_address(const void *pointer) {
  return (uint32_t)__cvta_generic_to_shared(pointer);
}

/* Bytes behind a kernel's dynamic shared memory that hold a flag. A static variable would lie ahead of that memory and
 * move it, so that no row in it began at a multiple of 32 bytes; copies to such rows read all from L2 twice. */
constexpr int FLAG_BYTES = 16;

/* Starts an asynchronous copy of 16 bytes from global to shared memory; if `there` is false, 16 bytes of zeros are
 * written instead. */
static __device__ __forceinline__ void copy16(void *shared, const void *global, bool there) {
  int bytes = there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(shared)), "l"(global), "r"(bytes)
               : "memory");
}

static __device__ __forceinline__ void copies_commit() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Waits until all groups of copies (copies_commit) have arrived, except the newest `pending` groups. */
template <int pending> static __device__ __forceinline__ void copies_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}

/* Loads four 8x8 matrices of halves (ldmatrix). Lane l gives the address of row l % 8 of matrix l / 8. From each matrix
 * it gets elements 2 (l % 4) and 2 (l % 4) + 1 of row l / 4. */
static __device__ __forceinline__ void load_matrices(uint32_t out[4], const void *row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
               : "r"(shared_address(row))
               : "memory");
}

/* d[16x8] += a[16x16] b[16x8] on the tensor cores: FP16 products summed in FP32. Lane l holds, of rows l / 4 and l / 4
 * + 8 of d, columns 2 (l % 4) and 2 (l % 4) + 1. */
static __device__ __forceinline__ void multiply_add(float d[4], const uint32_t a[4], const uint32_t b[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

/* Does the same with d in FP16: d[0] holds the two columns of row l / 4, d[1] those of row l / 4 + 8. Sums beyond 65504
 * become infinite. */
static __device__ __forceinline__ void multiply_add_f16(uint32_t d[2], const uint32_t a[4], const uint32_t b[2]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
      : "+r"(d[0]), "+r"(d[1])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

#endif
