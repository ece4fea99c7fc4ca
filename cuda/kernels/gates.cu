/* GEGLU of a product that a library has computed: y = (values + bias) * GELU(gates + bias), where the left half of the
 * product's columns are values and the right half gates.
 *
 * A thread has eight columns of some rows, so that it loads their biases once: as FP32 these are as many bytes as the
 * values and gates of two rows. Reading and writing is the limit: 4096 x 2560 halves and half as many are 31 MB. */
#include "cuda/kernels/common.cuh"
#include "cuda/kernels/gates.h"

namespace {

constexpr int GATE_THREADS = 256;

/* Loads eight biases; zeros if there are none. */
__device__ __forceinline__ void load_bias(const float *bias, unsigned column, float out[8]) {
  float4 low = make_float4(0, 0, 0, 0), high = low;
  if (bias) {
    low = __ldg(reinterpret_cast<const float4 *>(bias + column));
    high = __ldg(reinterpret_cast<const float4 *>(bias + column) + 1);
  }
  out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
  out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
}

/* Copies eight columns of some rows of the matrix that is put beside the result. */
template <int ROWS>
__device__ __forceinline__ void copy_rows(const __half *from, int pitch, __half *to, int to_pitch, size_t left) {
  uint4 held[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    if (r < left)
      held[r] = *reinterpret_cast<const uint4 *>(from + (size_t)r * pitch);
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    if (r < left)
      *reinterpret_cast<uint4 *>(to + (size_t)r * to_pitch) = held[r];
}

/* ROWS: number of rows of a thread. width: number of columns of the result. across: number of threads that a row of y
 * takes. */
template <int ROWS>
__global__ void __launch_bounds__(GATE_THREADS)
    gates_kernel(const __grid_constant__ struct epilogue_args p, const __grid_constant__ struct gates_beside beside,
                 unsigned width, unsigned across) {
  unsigned i = blockIdx.x * GATE_THREADS + threadIdx.x, turn = i / across, column = (i - turn * across) * 8;
  unsigned pitch = across * 8;
  size_t first = (size_t)turn * ROWS;
  float bias[8], gate_bias[8];
  if (first < p.rows && column < width) {
    load_bias(p.bias, column, bias);
    load_bias(p.bias, p.bias ? width + column : 0, gate_bias);
  }
  wait_for_previous();
  for (unsigned j = i; beside.x && j < (unsigned)beside.count; j += gridDim.x * GATE_THREADS)
    beside.bias_f16[j] = __float2half_rn(beside.bias[j]);
  if (first >= p.rows)
    return;
  if (column >= width) {
    copy_rows<ROWS>(beside.x + first * beside.c + (column - width), beside.c, p.y + first * pitch + column, pitch,
                    p.rows - first);
    return;
  }
  const __half *from = p.x + first * p.columns + column;
  uint4 values[ROWS], gates[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; r++)
    if (first + r < p.rows) {
      values[r] = *reinterpret_cast<const uint4 *>(from + (size_t)r * p.columns);
      gates[r] = *reinterpret_cast<const uint4 *>(from + (size_t)r * p.columns + width);
    }
#pragma unroll
  for (int r = 0; r < ROWS; r++) {
    if (first + r >= p.rows)
      break;
    size_t at = (first + r) * pitch + column;
    float v[8], gate[8], add[8];
    unpack8(values[r], v);
    unpack8(gates[r], gate);
    unpack8(fetch_residual(p.residual, at, true), add);
#pragma unroll
    for (int j = 0; j < 8; j++)
      v[j] = (v[j] + bias[j]) * gelu(gate[j] + gate_bias[j]) + add[j];
    store8(p.y + at, v);
  }
}

template <int ROWS>
cudaError_t launch_rows_of_gates(const struct launch_queue *queue, const struct epilogue_args *args,
                                 const struct gates_beside *beside) {
  unsigned width = (unsigned)args->columns / 2, across = (width + (beside->x ? (unsigned)beside->c : 0)) / 8;
  unsigned turns = blocks_for(args->rows, ROWS);
  return launch(queue, gates_kernel<ROWS>, dim3(blocks_for((size_t)turns * across, GATE_THREADS)), dim3(GATE_THREADS),
                0, *args, *beside, width, across);
}

} // namespace

cudaError_t launch_gates(const struct launch_queue *queue, const struct epilogue_args *args,
                         const struct gates_beside *beside) {
  /* a thread has several rows if there are enough for all multiprocessors */
  enum { THREADS_LEAST = 512 };
  size_t vectors = args->rows * (size_t)args->columns / 16, least = (size_t)queue->sms * THREADS_LEAST;
  return vectors / 4 >= least   ? launch_rows_of_gates<4>(queue, args, beside)
         : vectors / 2 >= least ? launch_rows_of_gates<2>(queue, args, beside)
                                : launch_rows_of_gates<1>(queue, args, beside);
}
