/* The feed-forward layers of a transformer block and the end of a transformer (rows.h): h = x + W2 GEGLU(W1 layer
 * norm(x)); y = residual + W3 h. */
#include "cuda/kernels/rows.cuh"

using namespace rows;

namespace {

/* A cluster calculates 16 * M rows. W1 is the wide layer (4 * C channels), W2 the narrow layer (C channels). Each
 * thread block of the cluster calculates some channels of the wide layer; their products with W2 are a part of the
 * narrow layer's sum, for all columns. Then it adds up all parts for its own columns of the narrow layer, sends the
 * result to the whole cluster, and calculates its own columns of the last product. */
template <int C, int M, int CLUSTER> struct leave_shape {
  static constexpr int CHANNELS = C, TILES = M, PARTS = CLUSTER;
  static constexpr int ROWS = 16 * M, OWN = C / CLUSTER, WIDE = 4 * C / CLUSTER, EACH = WIDE / (C / 16);
  static_assert(EACH % 8 == 0 && OWN % 8 == 0, "tensor cores make eight columns");
  struct memory {
    __half x[ROWS * PITCH<C>], tile[ROWS * PITCH<C>];
    __half wide[ROWS * PITCH<WIDE>];
    float parts[CLUSTER][ROWS][OWN];
    float2 norm[C], bias[OWN / 2];
    uint64_t parts_there, rows_there;
  };
};

/* Calculates the wide layer's values times the GELU of their gates, for a warp's own columns. */
template <class S, int N, int BLOCKS>
__device__ __forceinline__ void widen(typename S::memory *m, int warp, const uint4 (&values)[N][BLOCKS],
                                      const uint4 (&gates)[N][BLOCKS], const float2 (&value_bias)[N],
                                      const float2 (&gate_bias)[N]) {
  float value[S::TILES][N][4], gate[S::TILES][N][4];
  begin(value, value_bias);
  begin(gate, gate_bias);
  multiply(value, m->tile, PITCH<S::CHANNELS>, values);
  multiply(gate, m->tile, PITCH<S::CHANNELS>, gates);
#pragma unroll
  for (int i = 0; i < S::TILES; i++)
#pragma unroll
    for (int j = 0; j < N; j++)
#pragma unroll
      for (int k = 0; k < 4; k++)
        value[i][j][k] *= gelu(gate[i][j][k]);
  share_rounded(m->wide, warp * S::EACH, PITCH<S::WIDE>, value);
}

/* Multiplies the channels of the wide layer that this thread block has by the narrow layer's weights. Each column's
 * partial sums are sent to the thread block that adds up this column. */
template <class S, int BLOCKS>
__device__ __forceinline__ void send_parts(typename S::memory *m, int rank, int column,
                                           const uint4 (&weights)[2][BLOCKS]) {
  float sum[S::TILES][2][4] = {};
  multiply(sum, m->wide, PITCH<S::WIDE>, weights);
#pragma unroll
  for (int i = 0; i < S::TILES; i++)
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int half = 0; half < 2; half++) {
        int at = column + 8 * j, to = at / S::OWN, row = 16 * i + 8 * half + lane_row();
        store_remote(&m->parts[rank][row][at - to * S::OWN + 2 * lane_column()], to, &m->parts_there,
                     make_float2(sum[i][j][2 * half], sum[i][j][2 * half + 1]));
      }
}

/* Adds up the partial sums of this thread block's own columns, adds bias and input x, and sends the result to all
 * thread blocks of the cluster. */
template <class S> __device__ __forceinline__ void send_rows(typename S::memory *m, int own) {
  for (int i = threadIdx.x; i < S::ROWS * S::OWN / 2; i += 2 * S::CHANNELS) {
    int row = i / (S::OWN / 2), at = i % (S::OWN / 2) * 2;
    float2 sum = m->bias[at / 2];
#pragma unroll
    for (int part = 0; part < S::PARTS; part++) {
      float2 add = *reinterpret_cast<const float2 *>(&m->parts[part][row][at]);
      sum.x += add.x;
      sum.y += add.y;
    }
    float2 add = unpack2(*reinterpret_cast<const uint32_t *>(m->x + row * PITCH<S::CHANNELS> + place(own + at)));
    uint32_t both = pack2(sum.x + add.x, sum.y + add.y);
#pragma unroll
    for (int part = 0; part < S::PARTS; part++)
      store_remote(m->tile + row * PITCH<S::CHANNELS> + place(own + at), part, &m->rows_there, both);
  }
}

template <int C, int M, int CLUSTER>
__global__ void __launch_bounds__(2 * C, 1) leave_kernel(const __grid_constant__ struct row_leave p) {
  using S = leave_shape<C, M, CLUSTER>;
  extern __shared__ uint4 dynamic_memory[];
  typename S::memory *m = reinterpret_cast<typename S::memory *>(dynamic_memory);
  constexpr int P = PITCH<C>, N = S::EACH / 8;
  int warp = threadIdx.x / 32, column = warp * 16, rank = blockIdx.x % CLUSTER, own = rank * S::OWN;
  int wide = rank * S::WIDE + warp * S::EACH;
  size_t first = (size_t)(blockIdx.x / CLUSTER) * S::ROWS;
  /* true: this warp calculates 8 columns of 16 rows of the last product; false: the warps before it have all of them */
  bool works = warp / M < S::OWN / 8;
  int last_column = works ? own + warp / M * 8 : own, last_row = warp % M * 16;
  portion<C> part_of_row;
  uint4 values[N][C / 32], gates[N][C / 32], narrow[2][S::WIDE / 32], last[1][C / 32];
  float2 value_bias[N], gate_bias[N], last_bias[1];
  vectors<C> layer;
  /* Load weights and constants, which do not depend on the preceding kernel in the stream. */
  if (threadIdx.x == 0) {
    arrivals_make(&m->parts_there, (int)sizeof m->parts);
    arrivals_make(&m->rows_there, S::ROWS * C * (int)sizeof(__half));
  }
  cluster_begin();
  fetch(values, p.wide.weight + (size_t)wide * C, C);
  fetch(gates, p.wide.weight + (size_t)(4 * C + wide) * C, C);
  fetch(narrow, p.narrow.weight + (size_t)column * 4 * C + rank * S::WIDE, 4 * C);
  fetch_bias(value_bias, p.wide.bias, wide);
  fetch_bias(gate_bias, p.wide.bias, 4 * C + wide);
  fetch_bias(last_bias, p.last.bias, last_column);
  layer.fetch(p.norm.gamma, p.norm.beta);
  layer.put(m->norm);
  if (threadIdx.x < S::OWN / 2)
    m->bias[threadIdx.x] = p.narrow.bias ? load_pair(p.narrow.bias + own + 2 * threadIdx.x) : make_float2(0, 0);
  wait_for_previous();
  /* Load the rows. */
  halves<1, 1> residual;
  residual.read(p.residual + (first + last_row) * C + last_column, C);
#pragma unroll
  for (int i = 0; i < M; i++)
    part_of_row.share_out(m->x + 16 * i * P, part_of_row.read(p.x + (first + 16 * i) * C, C));
  __syncthreads();
  /* Layer norm, then the wide layer: product with W1, and GEGLU. */
  normalise<C, S::ROWS>(m->tile, m->x, m->norm, p.norm.eps);
  __syncthreads();
  widen<S>(m, warp, values, gates, value_bias, gate_bias);
  /* Second layer (W2): each thread block of the cluster has partial sums of all rows; they are exchanged and added, and
   * then each block sends its results to the others. */
  fetch(last, p.last.weight + (size_t)last_column * C, C);
  cluster_begun();
  __syncthreads();
  send_parts<S>(m, rank, column, narrow);
  arrivals_wait(&m->parts_there);
  send_rows<S>(m, own);
  /* Last product: y = residual + W3 h. */
  float sum[1][1][4];
  begin(sum, last_bias);
  if (!works)
    return;
  arrivals_wait(&m->rows_there);
  multiply(sum, m->tile + last_row * P, P, last);
  residual.add_to(sum);
  residual.round(sum);
  residual.write(p.y + (first + last_row) * C + last_column, C);
}

template <int C, int M, int CLUSTER>
cudaError_t launch_leave(const struct launch_queue *queue, const struct row_leave *a) {
  using S = leave_shape<C, M, CLUSTER>;
  return launch_cluster(queue, leave_kernel<C, M, CLUSTER>, dim3((unsigned)(a->rows / S::ROWS * CLUSTER)), 2 * C,
                        sizeof(typename S::memory), CLUSTER, *a);
}

} // namespace

bool row_leave_supported(const struct launch_queue *queue, const struct row_leave *a) {
  /* Largest number of rows. Every cluster reads all weights, so for more rows separate launches are faster. */
  const int most = a->c == 128 ? 1024 : 256;
  return queue->overlap && has_rows(a->c, a->rows) && a->rows <= most && aligned(a->x) && aligned(a->residual) &&
         aligned(a->y) && aligned(a->wide.weight) && aligned(a->narrow.weight) && aligned(a->last.weight);
}

cudaError_t launch_row_leave(const struct launch_queue *queue, const struct row_leave *a) {
  if (!row_leave_supported(queue, a))
    return cudaErrorNotSupported;
  if (a->c == 128) /* with many rows, clusters of two thread blocks suffice to fill the chip */
    return a->rows > 384 ? launch_leave<128, 1, 2>(queue, a) : launch_leave<128, 1, 8>(queue, a);
  return a->rows % 32 == 0 && a->rows >= 256 ? launch_leave<192, 2, 8>(queue, a) : launch_leave<192, 1, 8>(queue, a);
}
