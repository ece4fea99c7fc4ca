/* Conversion of a frame's pixels to the network's input, and of the network's output to pixels: the CUDA device's
 * OP_PIXELS_IN and OP_PIXELS_OUT. unet/cpu/cpu_pixels.c has the definition. blockIdx.z is the number of the picture. */
#include "cuda/kernels/common.cuh"

namespace {

/* A thread of pixels_in_kernel makes ROWS_IN pixels of one column, THREADS_Y rows apart. */
constexpr int THREADS_X = 32, THREADS_Y = 8, ROWS_IN = 2;

__device__ __forceinline__ bool is_rgb(enum pixel_format format) {
  return format == PIXEL_BGRA || format == PIXEL_RGBA;
}

/* Where the samples of one component of a frame (Y, Cb, Cr, or R, G, B) lie in memory. */
struct component {
  uint8_t *first;
  int pitch, stride; /* bytes from one row to the next, and from one sample to the next */
  int width, height;
  /* half_x, half_y: the component has half the frame's width, half its height; ten_bits: samples have 16 bits, of which
   * the upper 10 count */
  bool half_x, half_y, ten_bits;
};

__device__ component get_component(const struct planes &p, int index) {
  bool rgb = is_rgb(p.format), chroma = index > 0 && !rgb;
  bool pairs = p.format == PIXEL_NV12 || p.format == PIXEL_P010; /* true: Cb and Cr alternate in one plane */
  component c;
  c.ten_bits = p.format == PIXEL_P010;
  int size = c.ten_bits ? 2 : 1, plane = chroma && p.format != PIXEL_YUYV ? (pairs ? 1 : index) : 0;
  c.half_x = chroma;
  c.half_y = chroma && p.format != PIXEL_YUYV;
  c.width = c.half_x ? (p.width + 1) / 2 : p.width;
  c.height = c.half_y ? (p.height + 1) / 2 : p.height;
  c.pitch = p.pitch[plane];
  int offset = 0;
  c.stride = size;
  if (p.format == PIXEL_YUYV) {
    offset = index == 0 ? 0 : 2 * index - 1;
    c.stride = chroma ? 4 : 2;
  } else if (rgb) {
    offset = p.format == PIXEL_BGRA ? 2 - index : index;
    c.stride = 4;
  } else if (chroma && pairs) {
    offset = (index - 1) * size;
    c.stride = 2 * size;
  }
  c.first = p.plane[plane] + offset;
  return c;
}

/* --- pixels in: from a frame's components to the network's input --- */

/* What all pixels of a picture have in common. A thread block reads and calculates it once, in shared memory. */
struct source {
  struct geometry geometry;
  struct coding coding;
  component part[3];
  float step_x, step_y; /* width and height of the range that an output pixel covers, in pixels of the frame */
  bool rgb;
};

/* Fills `to`. Different warps read different things, so that all reads are on their way at the same time. */
__device__ __forceinline__ void read_source(source &to, const geometry &g, const planes &input) {
  int lane = threadIdx.x;
  if (threadIdx.y == 0 && lane < 3)
    to.part[lane] = get_component(input, lane);
  if (threadIdx.y == 1 && lane == 0)
    to.geometry = g;
  if (threadIdx.y == 2 && lane == 0)
    to.step_x = g.source_w / (float)g.dest_w;
  if (threadIdx.y == 3 && lane == 0)
    to.step_y = g.source_h / (float)g.dest_h;
  if (threadIdx.y == 4 && lane == 0)
    to.coding = input.coding;
  if (threadIdx.y == 5 && lane == 0)
    to.rgb = is_rgb(input.format);
  __syncthreads();
}

struct span {
  float low, high;
};

/* Returns the range of source samples that an output pixel covers along one axis, in samples. half: the component has
 * half as many samples as the frame has pixels. */
__device__ __forceinline__ span pixel_span(int position, float source, float step, int dest, bool half) {
  float centre = source + ((float)(position - dest) + 0.5f) * step;
  if (half)
    step *= 0.5f, centre *= 0.5f;
  float size = fmaxf(step, 1.0f);
  return {centre - size * 0.5f, centre + size * 0.5f};
}

__device__ __forceinline__ span span_across(const source &s, const component &c, int x) {
  return pixel_span(x, s.geometry.source_x, s.step_x, s.geometry.dest_x, c.half_x);
}

__device__ __forceinline__ span span_down(const source &s, const component &c, int y) {
  return pixel_span(y, s.geometry.source_y, s.step_y, s.geometry.dest_y, c.half_y);
}

__device__ __forceinline__ float coverage(span s, float i) {
  return fmaxf(fminf(s.high, i + 1.0f) - fmaxf(s.low, i), 0.0f);
}

__device__ __forceinline__ int within(int i, int count) {
  return min(max(i, 0), count - 1);
}

template <bool TEN_BITS> __device__ __forceinline__ int read_sample(const uint8_t *at) {
  return TEN_BITS ? *reinterpret_cast<const uint16_t *>(at) >> 6 : *at;
}

__device__ __forceinline__ float one_sample(const component &c, int x, int y) {
  const uint8_t *at = c.first + (size_t)within(y, c.height) * c.pitch + within(x, c.width) * c.stride;
  return (float)(c.ten_bits ? read_sample<true>(at) : read_sample<false>(at));
}

__device__ float mean(const component &c, span x, span y) {
  float sum = 0.0f;
  for (float j = floorf(y.low); j < y.high; j++) {
    float row_sum = 0.0f;
    for (float i = floorf(x.low); i < x.high; i++)
      row_sum += coverage(x, i) * one_sample(c, (int)i, (int)j);
    sum += coverage(y, j) * row_sum;
  }
  return sum / ((x.high - x.low) * (y.high - y.low));
}

/* The two samples of a row, or of a column, that a span one sample long overlaps: their places, and the part of the
 * span that lies in the second. If each output pixel shows exactly one source pixel, that part is 0, and a mean of the
 * two is the first one, to the bit. */
struct two_samples {
  int first, second;
  float part;
};

__device__ __forceinline__ two_samples samples_under(span s, int count) {
  float low = floorf(s.low);
  return {within((int)low, count), within((int)low + 1, count), s.low - low};
}

__device__ __forceinline__ float between(float first, float second, float part) {
  return (1.0f - part) * first + part * second;
}

/* Returns true if each output pixel shows exactly one source pixel. */
__device__ __forceinline__ bool is_same_size(const struct geometry &g) {
  return g.source_w == (float)g.dest_w && g.source_h == (float)g.dest_h && g.source_x == floorf(g.source_x) &&
         g.source_y == floorf(g.source_y);
}

/* Fills v[r][i] with component i of the thread's pixel r, a mean over two by two samples at most. All samples are asked
 * for before the first one is used, as each takes several hundred clocks to come. SAME_SIZE: is_same_size; then a
 * component that is not of half size has one sample for each pixel. */
template <bool TEN_BITS, bool SAME_SIZE>
__device__ __forceinline__ void means_of_four(const source &s, int x, int y, float v[ROWS_IN][3]) {
  two_samples across[2], down[2][ROWS_IN]; /* of the first component, and of the others, which lie alike */
  int sample[ROWS_IN][3][4];
#pragma unroll
  for (int i = 0; i < 3; i++) {
    const component &c = s.part[i];
    int k = i > 0;
    if (i < 2) {
      across[k] = samples_under(span_across(s, c, x), c.width);
#pragma unroll
      for (int r = 0; r < ROWS_IN; r++)
        down[k][r] = samples_under(span_down(s, c, y + r * THREADS_Y), c.height);
    }
    int first = across[k].first * c.stride, second = across[k].second * c.stride;
#pragma unroll
    for (int r = 0; r < ROWS_IN; r++) {
      const uint8_t *upper = c.first + (size_t)down[k][r].first * c.pitch;
      const uint8_t *lower = c.first + (size_t)down[k][r].second * c.pitch;
      sample[r][i][0] = read_sample<TEN_BITS>(upper + first);
      if (SAME_SIZE && !c.half_x)
        continue;
      sample[r][i][1] = read_sample<TEN_BITS>(upper + second);
      sample[r][i][2] = read_sample<TEN_BITS>(lower + first);
      sample[r][i][3] = read_sample<TEN_BITS>(lower + second);
    }
  }
#pragma unroll
  for (int i = 0; i < 3; i++)
#pragma unroll
    for (int r = 0; r < ROWS_IN; r++) {
      const int *four = sample[r][i], k = i > 0;
      v[r][i] = (float)four[0];
      if (SAME_SIZE && !s.part[i].half_x)
        continue;
      float upper = between((float)four[0], (float)four[1], across[k].part);
      float lower = between((float)four[2], (float)four[3], across[k].part);
      v[r][i] = between(upper, lower, down[k][r].part);
    }
}

/* Returns true if the source has at most one sample of the component for each output pixel, in both directions. A
 * pixel's span is then one sample long, and overlaps at most two samples. */
__device__ __forceinline__ bool has_few(const source &s, const component &c) {
  const struct geometry &g = s.geometry;
  return g.source_w <= (float)g.dest_w * (c.half_x ? 2.0f : 1.0f) &&
         g.source_h <= (float)g.dest_h * (c.half_y ? 2.0f : 1.0f);
}

/* Returns the mean over two by two samples at most. Unlike mean(), it has no loops, so that the four loads run at the
 * same time. */
__device__ __forceinline__ float mean_of_four(const component &c, span x, span y) {
  two_samples across = samples_under(x, c.width), down = samples_under(y, c.height);
  float upper = between(one_sample(c, across.first, down.first), one_sample(c, across.second, down.first), across.part);
  float lower =
      between(one_sample(c, across.first, down.second), one_sample(c, across.second, down.second), across.part);
  return between(upper, lower, down.part);
}

/* Does what means_of_four does where pixels may cover more samples. Chroma of half the size may have few where luma has
 * many. */
__device__ __noinline__ void means_of_many(const source &s, int x, int y, float v[ROWS_IN][3]) {
  for (int i = 0; i < 3; i++) {
    const component &c = s.part[i];
    span across = span_across(s, c, x);
    for (int r = 0; r < ROWS_IN; r++) {
      span down = span_down(s, c, y + r * THREADS_Y);
      v[r][i] = has_few(s, c) ? mean_of_four(c, across, down) : mean(c, across, down);
    }
  }
}

__global__ void pixels_in_kernel(const __grid_constant__ struct pixels_args p) {
  __shared__ source s;
  int x = blockIdx.x * THREADS_X + threadIdx.x, y = blockIdx.y * THREADS_Y * ROWS_IN + threadIdx.y;
  wait_for_previous();
  read_source(s, p.block->run.geometry[p.first + blockIdx.z], p.block->input[p.first + blockIdx.z]);
  if (x >= p.w || y >= p.h)
    return;
  /* Load and average the source's components. */
  float v[ROWS_IN][3];
  if (!has_few(s, s.part[0]) || !has_few(s, s.part[1]))
    means_of_many(s, x, y, v);
  else if (s.part[0].ten_bits)
    means_of_four<true, false>(s, x, y, v);
  else if (is_same_size(s.geometry))
    means_of_four<false, true>(s, x, y, v);
  else
    means_of_four<false, false>(s, x, y, v);
  /* Convert to R, G, B, or take black outside the rectangle that shows the source; scale to the network's range of
   * values and store. */
  const struct geometry &g = s.geometry;
  const struct coding &k = s.coding;
#pragma unroll
  for (int r = 0; r < ROWS_IN; r++) {
    int row = y + r * THREADS_Y;
    if (row >= p.h)
      return;
    float rgb[3] = {0.0f, 0.0f, 0.0f}, eight[8] = {};
    if (x >= g.dest_x && x < g.dest_x + g.dest_w && row >= g.dest_y && row < g.dest_y + g.dest_h) {
#pragma unroll
      for (int i = 0; i < 3; i++)
        v[r][i] = (v[r][i] - k.zero[i]) * k.scale[i];
      rgb[0] = s.rgb ? v[r][0] : v[r][0] + k.r_cr * v[r][2];
      rgb[1] = s.rgb ? v[r][1] : v[r][0] + k.g_cb * v[r][1] + k.g_cr * v[r][2];
      rgb[2] = s.rgb ? v[r][2] : v[r][0] + k.b_cb * v[r][1];
    }
    size_t pixel = ((size_t)blockIdx.z * p.h + row) * p.w + x;
#pragma unroll
    for (int i = 0; i < 3; i++) {
      eight[i] = __saturatef(rgb[i]) * p.scale + p.bias;
      p.y[pixel * 3 + i] = __float2half_rn(eight[i]);
    }
    if (p.padded)
      store8(p.padded + pixel * 8, eight);
  }
}

/* --- pixels out: from the network's output to a frame's planes --- */

/* What all pixels of an output picture have in common. A thread block reads and calculates it once, in shared
 * memory. */
struct sink {
  component part[3];
  struct coding coding;
  float codes[3];          /* codes of Y, Cb and Cr from 0 to 1 */
  float per_blue, per_red; /* Cb and Cr of a difference of 1 between blue, or red, and luma */
  enum pixel_format format;
  /* What this run shows: the generated picture, of which the part `mix` is blended with the input, or a map, or both
   * side by side. map: NULL if no map is shown. */
  float mix;
  const half_t *map;
  bool both;
};

/* Fills `to`. Different warps read different things, so that all reads are on their way at the same time. */
__device__ __forceinline__ void read_sink(sink &to, const struct pixels_args &p) {
  const struct planes &out = p.block->output[blockIdx.z];
  const struct run_params &run = p.block->run;
  int lane = threadIdx.x;
  if (threadIdx.y == 0 && lane < 3) {
    to.part[lane] = get_component(out, lane);
    to.codes[lane] = 1.0f / out.coding.scale[lane];
  }
  if (threadIdx.y == 1 && lane == 0)
    to.coding = out.coding;
  if (threadIdx.y == 2 && lane == 0) {
    to.per_blue = 1.0f / out.coding.b_cb;
    to.per_red = 1.0f / out.coding.r_cr;
    to.format = out.format;
  }
  if (threadIdx.y == 3 && lane == 0) {
    to.mix = run.mix;
    to.map = run.show == SHOW_PICTURE ? nullptr : p.map[run.show_control];
    to.both = run.show == SHOW_BOTH;
  }
  __syncthreads();
}

/* Returns a component of the output: the generated picture's value x, blended with the input's. */
__device__ __forceinline__ float blended(const struct pixels_args &p, float mix, half_t x, half_t input) {
  float v = __half2float(x) * p.scale + p.bias;
  if (p.input)
    v = mix * v + (1.0f - mix) * (__half2float(input) * p.input_scale + p.input_bias);
  return __saturatef(v);
}

__device__ __forceinline__ float3 picture_rgb(const struct pixels_args &p, float mix, int x, int y) {
  size_t at = (((size_t)blockIdx.z * p.h + y) * p.w + x) * 3;
  float rgb[3];
#pragma unroll
  for (int i = 0; i < 3; i++)
    rgb[i] = blended(p, mix, p.x[at + i], p.input ? p.input[at + i] : half_t());
  return make_float3(rgb[0], rgb[1], rgb[2]);
}

__device__ __forceinline__ float3 map_rgb(const struct pixels_args &p, const half_t *map, int x, int y) {
  const half_t *at = map + (((size_t)blockIdx.z * p.h + y) * p.w + x) * 3;
  return make_float3(__saturatef(__half2float(at[0])), __saturatef(__half2float(at[1])),
                     __saturatef(__half2float(at[2])));
}

__device__ __noinline__ float3 both_rgb(const struct pixels_args &p, const sink &s, int x, int y) {
  int w = p.out_w / 2, h = p.out_h / 2;
  bool left = x < w;
  x -= left ? 0 : w;
  y -= (p.out_h - h) / 2;
  float3 rgb = make_float3(0.0f, 0.0f, 0.0f);
  for (int i = 0; i < 4 && x < w && y >= 0 && y < h; i++) {
    float3 one =
        left ? map_rgb(p, s.map, 2 * x + i % 2, 2 * y + i / 2) : picture_rgb(p, s.mix, 2 * x + i % 2, 2 * y + i / 2);
    rgb.x += 0.25f * one.x;
    rgb.y += 0.25f * one.y;
    rgb.z += 0.25f * one.z;
  }
  return rgb;
}

/* A square of two by two pixels: where it begins, and how many of its columns and rows are inside the picture (none: at
 * most 0). */
struct square {
  int x, y, columns, rows;
};

/* The values of a square of the generated picture and of the input, R, G, B of each pixel. */
struct values {
  half_t x[2][2][3], input[2][2][3];
};

/* Asks for all values of a square, as each takes several hundred clocks to come. A pixel outside the picture has the
 * values of one inside. */
__device__ __forceinline__ values read_values(const struct pixels_args &p, const square &q) {
  values v = {};
#pragma unroll
  for (int j = 0; j < 2; j++)
#pragma unroll
    for (int i = 0; i < 2; i++) {
      int x = min(q.x + i, p.w - 1), y = min(q.y + j, p.h - 1);
      size_t at = (((size_t)blockIdx.z * p.h + y) * p.w + x) * 3;
#pragma unroll
      for (int c = 0; c < 3; c++) {
        v.x[j][i][c] = p.x[at + c];
        if (p.input)
          v.input[j][i][c] = p.input[at + c];
      }
    }
  return v;
}

__device__ __forceinline__ float3 output_rgb(const struct pixels_args &p, const sink &s, const values &v,
                                             const square &q, int i, int j) {
  if (s.map)
    return s.both ? both_rgb(p, s, q.x + i, q.y + j) : map_rgb(p, s.map, q.x + i, q.y + j);
  float rgb[3];
#pragma unroll
  for (int c = 0; c < 3; c++)
    rgb[c] = blended(p, s.mix, v.x[j][i][c], v.input[j][i][c]);
  return make_float3(rgb[0], rgb[1], rgb[2]);
}

__device__ __forceinline__ void store_sample(const component &c, int x, int y, float value) {
  uint8_t *at = c.first + (size_t)y * c.pitch + x * c.stride;
  int rounded = min(max(__float2int_rn(value), 0), c.ten_bits ? 1023 : 255);
  if (c.ten_bits)
    *reinterpret_cast<uint16_t *>(at) = (uint16_t)(rounded << 6);
  else
    *at = (uint8_t)rounded;
}

__device__ __forceinline__ void store_rgb(const sink &s, int x, int y, float3 rgb) {
  uint8_t r = (uint8_t)__float2int_rn(rgb.x * 255.0f), g = (uint8_t)__float2int_rn(rgb.y * 255.0f),
          b = (uint8_t)__float2int_rn(rgb.z * 255.0f);
  bool bgra = s.format == PIXEL_BGRA;
  /* the component that lies first in memory: B of BGRA, R of RGBA */
  const component &first = s.part[bgra ? 2 : 0];
  *reinterpret_cast<uchar4 *>(first.first + (size_t)y * first.pitch + 4 * x) =
      make_uchar4(bgra ? b : r, g, bgra ? r : b, 255);
}

/* Stores Cb and Cr of a row's or a square's pixels. blue, red: sums of the differences from luma; share: 1 / number of
 * pixels. */
__device__ __forceinline__ void store_chroma(const sink &s, int x, int y, float blue, float red, float share) {
  store_sample(s.part[1], x, y, s.coding.zero[1] + blue * share * s.per_blue * s.codes[1]);
  store_sample(s.part[2], x, y, s.coding.zero[2] + red * share * s.per_red * s.codes[2]);
}

__global__ void pixels_out_kernel(const __grid_constant__ struct pixels_args p) {
  __shared__ sink s;
  square q;
  q.x = 2 * (blockIdx.x * THREADS_X + threadIdx.x);
  q.y = 2 * (blockIdx.y * THREADS_Y + threadIdx.y);
  q.columns = min(2, p.out_w - q.x);
  q.rows = min(2, p.out_h - q.y);
  wait_for_previous();
  values v = read_values(p, q);
  read_sink(s, p);
  if (q.columns <= 0 || q.rows <= 0)
    return;
  bool rgb = is_rgb(s.format);
  float blue = 0.0f, red = 0.0f;
#pragma unroll
  for (int j = 0; j < 2; j++) {
    if (j >= q.rows)
      return;
#pragma unroll
    for (int i = 0; i < 2; i++) {
      if (i >= q.columns)
        continue;
      int x = q.x + i, y = q.y + j;
      float3 one = output_rgb(p, s, v, q, i, j);
      if (rgb) {
        store_rgb(s, x, y, one);
        continue;
      }
      float luma = s.coding.r * one.x + s.coding.g * one.y + s.coding.b * one.z;
      store_sample(s.part[0], x, y, s.coding.zero[0] + luma * s.codes[0]);
      /* the last column's second luma sample is outside the picture; it repeats the first one */
      if (s.format == PIXEL_YUYV && x + 1 == p.out_w && p.out_w % 2)
        store_sample(s.part[0], x + 1, y, s.coding.zero[0] + luma * s.codes[0]);
      blue += one.z - luma;
      red += one.x - luma;
    }
    /* A chroma sample is the mean over the pixels that share it: those of a row, or of the square. */
    if (rgb || (s.part[1].half_y && j + 1 < q.rows))
      continue;
    bool half = s.part[1].half_y;
    store_chroma(s, q.x / 2, half ? q.y / 2 : q.y + j, blue, red, 1.0f / (float)(q.columns * (half ? q.rows : 1)));
    blue = red = 0.0f;
  }
}

} // namespace

cudaError_t launch_pixels_in(const struct launch_queue *queue, const struct pixels_args *args) {
  dim3 grid(blocks_for((size_t)args->w, THREADS_X), blocks_for((size_t)args->h, THREADS_Y * ROWS_IN), args->n);
  return launch(queue, pixels_in_kernel, grid, dim3(THREADS_X, THREADS_Y), 0, *args);
}

cudaError_t launch_pixels_out(const struct launch_queue *queue, const struct pixels_args *args) {
  dim3 grid(blocks_for((size_t)args->out_w, 2 * THREADS_X), blocks_for((size_t)args->out_h, 2 * THREADS_Y), args->n);
  return launch(queue, pixels_out_kernel, grid, dim3(THREADS_X, THREADS_Y), 0, *args);
}
