/* The start of a transformer (rows.h): y = W1 group_norm(x), z = W2 layer_norm(y). Each thread block calculates 16
 * rows. The group norm needs sums over the whole picture; if the picture is large, the thread blocks of a cluster
 * calculate a part of them each, and exchange them. */
#include "cuda/kernels/rows.cuh"

using namespace rows;

namespace {

template <int C, int CLUSTER> struct enter_memory {
  float2 partial[TILE][C];
  /* sums for each channel from each thread block of the cluster */
  float2 parts[CLUSTER][C];
  float2 channels[C], factors[C], norm[C];
  __half tile[TILE * PITCH<C>], other[TILE * PITCH<C>];
  uint64_t parts_there;
};

/* For each channel, sums up how far its values lie above its first value (negative if below), and the squares of these
 * distances; stores the sums in m->partial. begin, end: range of the picture's rows. */
template <int C, int CLUSTER>
__device__ __forceinline__ void add_up(const __half *picture, int begin, int end, enter_memory<C, CLUSTER> *m) {
  portion<C> part_of_row;
  float sum[8] = {}, square[8] = {}, pivot[8];
  load8(picture + part_of_row.column, pivot);
#pragma unroll 8
  for (int i = begin; i < end; i += TILE) {
    float v[8];
    unpack8(part_of_row.read(picture + (size_t)i * C, C), v);
#pragma unroll
    for (int k = 0; k < 8; k++) {
      float distance = v[k] - pivot[k];
      sum[k] += distance;
      square[k] += distance * distance;
    }
  }
#pragma unroll
  for (int k = 0; k < 8; k += 2)
    *reinterpret_cast<float4 *>(&m->partial[part_of_row.row][part_of_row.column + k]) =
        make_float4(sum[k], square[k], sum[k + 1], square[k + 1]);
}

template <int LINES, int C> __device__ __forceinline__ float2 add_lines(const float2 (&lines)[LINES][C]) {
  float2 total = make_float2(0, 0);
#pragma unroll
  for (int i = 0; i < LINES; i++) {
    total.x += lines[i][threadIdx.x].x;
    total.y += lines[i][threadIdx.x].y;
  }
  return total;
}

/* Stores in m->factors the factor and the shift with which each channel is normalised. first, size: first channel and
 * number of channels of the thread's group. */
template <int C, int CLUSTER>
__device__ __forceinline__ void find_factors(const struct row_enter &p, float pivot, int first, int size,
                                             const vectors<C> &affine, enter_memory<C, CLUSTER> *m) {
  /* Exchange the sums of the channels within the cluster. */
  if (CLUSTER > 1) {
    cluster_begun();
    if (threadIdx.x < C) {
      float2 part = add_lines<TILE, C>(m->partial);
#pragma unroll
      for (int to = 0; to < CLUSTER; to++)
        store_remote(&m->parts[blockIdx.x % CLUSTER][threadIdx.x], to, &m->parts_there, part);
    }
    arrivals_wait(&m->parts_there);
  }
  /* Calculate the mean of each channel, and the sum of the squares of the distances to that mean. */
  if (threadIdx.x < C) {
    float2 total = CLUSTER > 1 ? add_lines<CLUSTER, C>(m->parts) : add_lines<TILE, C>(m->partial);
    float distance = __fdividef(total.x, (float)p.rows);
    m->channels[threadIdx.x] = make_float2(pivot + distance, total.y - total.x * distance);
  }
  __syncthreads();
  /* Calculate mean and variance of the group, then factor and shift of the channel. */
  if (threadIdx.x < C) {
    float mean = 0, square = 0;
#pragma unroll 4
    for (int i = 0; i < size; i++)
      mean += m->channels[first + i].x;
    mean = __fdividef(mean, (float)size);
#pragma unroll 4
    for (int i = 0; i < size; i++) {
      float2 channel = m->channels[first + i];
      square += channel.y + (float)p.rows * (channel.x - mean) * (channel.x - mean);
    }
    float variance = __fdividef(fmaxf(square, 0.0f), (float)size * (float)p.rows);
    float scale = affine.gamma * rsqrtf(variance + p.eps);
    m->factors[threadIdx.x] = make_float2(scale, affine.beta - mean * scale);
  }
  __syncthreads();
}

/* The kernel that computes the start of a transformer (rows.h). All rows of a cluster belong to the same picture. */
template <int C, int CLUSTER>
__global__ void __launch_bounds__(2 * C, 1) enter_kernel(const __grid_constant__ struct row_enter p) {
  extern __shared__ uint4 dynamic_memory[];
  enter_memory<C, CLUSTER> *m = reinterpret_cast<enter_memory<C, CLUSTER> *>(dynamic_memory);
  constexpr int P = PITCH<C>;
  int column = threadIdx.x / 32 * 16, second = blockIdx.y * C, channel = threadIdx.x % C;
  int size = p.groups ? C / p.groups : 1, group = channel / size * size;
  size_t first = (size_t)blockIdx.x * TILE;
  const __half *picture = p.x + first / p.rows * p.rows * C;
  portion<C> part_of_row;
  uint4 weights[2][C / 32], second_weights[2][C / 32];
  float2 bias[2], second_bias[2];
  vectors<C> affine, layer;
  /* Load weights and constants, which do not depend on the preceding kernel in the stream. */
  if (CLUSTER > 1) {
    if (threadIdx.x == 0)
      arrivals_make(&m->parts_there, (int)sizeof m->parts);
    cluster_begin();
  }
  fetch(weights, p.first.weight + (size_t)column * C, C);
  fetch(second_weights, p.second.weight + (size_t)(second + column) * C, C);
  fetch_bias(bias, p.first.bias, column);
  fetch_bias(second_bias, p.second.bias, second + column);
  affine.fetch(p.gamma, p.beta);
  layer.fetch(p.norm.gamma, p.norm.beta);
  layer.put(m->norm);
  wait_for_previous();
  /* Load the rows, and apply the group norm. */
  uint4 row_values = part_of_row.read(p.x + first * C, C);
  if (p.groups) {
    float v[8], pivot = __half2float(picture[channel]);
    int each = p.rows / CLUSTER, top = blockIdx.x % CLUSTER * each;
    add_up(picture, top, top + each, m);
    __syncthreads();
    find_factors(p, pivot, group, size, affine, m);
    unpack8(row_values, v);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      float2 f = m->factors[part_of_row.column + i];
      v[i] = v[i] * f.x + f.y;
    }
    row_values = make_uint4(pack2(v[0], v[1]), pack2(v[2], v[3]), pack2(v[4], v[5]), pack2(v[6], v[7]));
  }
  part_of_row.share_out(m->tile, row_values);
  __syncthreads();
  /* First product: y = W1 x, after the group norm. */
  float sum[1][2][4];
  begin(sum, bias);
  multiply(sum, m->tile, P, weights);
  share_rounded(m->other, column, P, sum);
  __syncthreads();
  if (blockIdx.y == 0)
    part_of_row.write(p.y + first * C, C, part_of_row.take(m->other));
  /* Layer norm, and second product: z = W2 layer_norm(y). */
  normalise<C, TILE>(m->tile, m->other, m->norm, p.norm.eps);
  __syncthreads();
  begin(sum, second_bias);
  multiply(sum, m->tile, P, second_weights);
  share_rounded(m->other, column, P, sum);
  __syncthreads();
  part_of_row.write(p.z + first * p.columns + second, p.columns, part_of_row.take(m->other));
}

template <int C, int CLUSTER> cudaError_t launch_enter(const struct launch_queue *queue, const struct row_enter *a) {
  dim3 grid((unsigned)(a->n * a->rows / TILE), (unsigned)(a->columns / C));
  return launch_cluster(queue, enter_kernel<C, CLUSTER>, grid, 2 * C, sizeof(enter_memory<C, CLUSTER>), CLUSTER, *a);
}

template <int C> cudaError_t launch_enter_any(const struct launch_queue *queue, const struct row_enter *a) {
  /* SHARED: number of thread blocks in a cluster. One thread block reads a small picture as fast as a cluster exchanges
   * its sums, so for small pictures each thread block works alone, and so it does where there are no clusters. */
  enum { SHARED = 8 };
  bool shared = queue->overlap && a->groups && a->rows % (SHARED * TILE) == 0;
  return shared ? launch_enter<C, SHARED>(queue, a) : launch_enter<C, 1>(queue, a);
}

} // namespace

bool row_enter_has_norm(int rows, int c) {
  /* Largest picture, in values. Every thread block or cluster reads the whole picture for the sums of the group norm,
   * so for larger pictures a separate launch of the norm is faster. */
  const int most = 256 * 192;
  return rows * c <= most;
}

bool row_enter_supported(const struct launch_queue *queue, const struct row_enter *a) {
  return has_rows(a->c, a->rows) && are_few(queue, (long)a->n * a->rows / TILE) && a->columns % a->c == 0 &&
         aligned(a->x) && aligned(a->y) && aligned(a->z) && aligned(a->first.weight) && aligned(a->second.weight) &&
         (!a->groups || (a->c % a->groups == 0 && row_enter_has_norm(a->rows, a->c)));
}

cudaError_t launch_row_enter(const struct launch_queue *queue, const struct row_enter *a) {
  if (!row_enter_supported(queue, a))
    return cudaErrorNotSupported;
  return a->c == 128 ? launch_enter_any<128>(queue, a) : launch_enter_any<192>(queue, a);
}
