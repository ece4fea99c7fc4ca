/* Mixtures of two frames of NV12 or P010, one of which fades into the other: unet/base/mixture.c has the definition. A
 * thread makes the samples of 2 x 2 pixels: four of luma, and the Cb and Cr that they share. */
#include "cuda/kernels/mix.h"
#include "cuda/kernels/common.cuh"

namespace {

constexpr int MIX_X = 32, MIX_Y = 8;

template <typename Sample>
__device__ __forceinline__ float load_sample(const struct mixture_planes &p, int plane, int x, int y) {
  return (float)reinterpret_cast<const Sample *>(p.plane[plane] + (size_t)y * p.pitch[plane])[x];
}

/* The range of samples, along one axis, whose weighted mean is the value at a point. The weight of a sample falls from
 * `radius` at the centre to 0. */
struct taps {
  float centre, radius;
  int first, count, least, most;
};

__device__ __forceinline__ taps find_taps(float position, int at, int at_size, int of, int of_size, bool half) {
  taps t;
  float step = (float)of_size / (float)at_size, scale = half ? 0.5f : 1.0f;
  t.centre = ((float)of + (position - (float)at) * step) * scale - 0.5f;
  t.radius = fmaxf(step * scale, 1.0f);
  t.first = (int)ceilf(t.centre - t.radius);
  t.count = (int)ceilf(t.centre + t.radius) - t.first;
  t.least = half ? of / 2 : of;
  t.most = (half ? (of + of_size + 1) / 2 : of + of_size) - 1;
  return t;
}

__device__ __forceinline__ float tap_weight(const taps &t, int i) {
  return t.radius - fabsf((float)i - t.centre);
}

__device__ __forceinline__ int tap_place(const taps &t, int i) {
  return min(max(i, t.least), t.most);
}

/* Returns the mean of `from`'s samples around a point. stride, offset: sample i of the component is number i * stride +
 * offset of its row. */
template <typename Sample>
__device__ float mean_around(const struct mixture_planes &p, int plane, int stride, int offset, const taps &x,
                             const taps &y) {
  float sum = 0.0f, total = 0.0f;
  for (int j = y.first; j < y.first + y.count; j++) {
    float down = tap_weight(y, j);
    for (int i = x.first; i < x.first + x.count; i++) {
      float weight = tap_weight(x, i) * down;
      sum += weight * load_sample<Sample>(p, plane, tap_place(x, i) * stride + offset, tap_place(y, j));
      total += weight;
    }
  }
  return sum / total;
}

struct chroma {
  float blue, red;
};

template <typename Sample> __device__ __forceinline__ chroma chroma_at(const struct mixture &m, float x, float y) {
  taps across = find_taps(x, m.at.left, m.at.width, m.of.left, m.of.width, true);
  taps down = find_taps(y, m.at.top, m.at.height, m.of.top, m.of.height, true);
  return {mean_around<Sample>(m.from, 1, 2, 0, across, down), mean_around<Sample>(m.from, 1, 2, 1, across, down)};
}

template <typename Sample> __device__ __forceinline__ float luma_at(const struct mixture &m, float x, float y) {
  taps across = find_taps(x, m.at.left, m.at.width, m.of.left, m.of.width, false);
  taps down = find_taps(y, m.at.top, m.at.height, m.of.top, m.of.height, false);
  float value = m.luma[0] + m.luma[1] * mean_around<Sample>(m.from, 0, 1, 0, across, down);
  if (m.luma[2] == 0.0f && m.luma[3] == 0.0f)
    return value;
  chroma c = chroma_at<Sample>(m, x, y);
  return value + m.luma[2] * c.blue + m.luma[3] * c.red;
}

/* Stores the mixture of a value of `from`, which has been converted, with the sample of `to` at the same place. */
template <typename Sample>
__device__ __forceinline__ void store_mixed(const struct mix_args &a, int plane, int x, int y, float from) {
  const struct mixture &m = a.mixture;
  int to = (int)load_sample<Sample>(m.to, plane, x, y), most = sizeof(Sample) == 2 ? 65535 : 255;
  int value = min(max(__float2int_rn(from), 0), most);
  reinterpret_cast<Sample *>(a.out[plane] + (size_t)y * m.to.pitch[plane])[x] =
      (Sample)((value * (256 - m.share) + to * m.share + 128) >> 8);
}

template <typename From, typename To>
__global__ void __launch_bounds__(MIX_X *MIX_Y) mix_kernel(const __grid_constant__ struct mix_args a) {
  const struct mixture &m = a.mixture;
  int cx = blockIdx.x * MIX_X + threadIdx.x, cy = blockIdx.y * MIX_Y + threadIdx.y;
  wait_for_previous();
  if (2 * cx >= m.to.width || 2 * cy >= m.to.height)
    return;
  int right = m.at.left + m.at.width, bottom = m.at.top + m.at.height;
  for (int i = 0; i < 4; i++) {
    int x = 2 * cx + i % 2, y = 2 * cy + i / 2;
    if (x >= m.to.width || y >= m.to.height)
      continue;
    bool inside = x >= m.at.left && y >= m.at.top && x < right && y < bottom;
    store_mixed<To>(a, 0, x, y, inside ? luma_at<From>(m, (float)x + 0.5f, (float)y + 0.5f) : (float)m.black[0]);
  }
  bool inside = 2 * cx >= m.at.left && 2 * cy >= m.at.top && 2 * cx < right && 2 * cy < bottom;
  float blue = (float)m.black[1], red = blue;
  if (inside) {
    chroma c = chroma_at<From>(m, 2.0f * (float)cx + 1.0f, 2.0f * (float)cy + 1.0f);
    blue = m.blue[0] + m.blue[1] * c.blue + m.blue[2] * c.red;
    red = m.red[0] + m.red[1] * c.blue + m.red[2] * c.red;
  }
  store_mixed<To>(a, 1, 2 * cx, cy, blue);
  store_mixed<To>(a, 1, 2 * cx + 1, cy, red);
}

} // namespace

cudaError_t launch_mix(const struct launch_queue *queue, const struct mix_args *args) {
  const struct mixture *m = &args->mixture;
  dim3 grid(blocks_for(((size_t)m->to.width + 1) / 2, MIX_X), blocks_for(((size_t)m->to.height + 1) / 2, MIX_Y));
  auto kernel = m->from.wide ? (m->to.wide ? mix_kernel<uint16_t, uint16_t> : mix_kernel<uint16_t, uint8_t>)
                             : (m->to.wide ? mix_kernel<uint8_t, uint16_t> : mix_kernel<uint8_t, uint8_t>);
  return launch(queue, kernel, grid, dim3(MIX_X, MIX_Y), 0, *args);
}
