/* Conversion of a frame's pixels to the network's input, and of the network's output to pixels: the CUDA device's
 * OP_PIXELS_IN and OP_PIXELS_OUT. unet/cpu/cpu_pixels.c has the definition. blockIdx.z is the number of the picture. */
#include "cuda/kernels/common.cuh"

namespace {

constexpr int THREADS_X = 32, THREADS_Y = 8;

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

struct span {
  float low, high;
};

/* Returns the range of source samples that an output pixel covers along one axis, in samples. half: the component has
 * half as many samples as the frame has pixels. */
__device__ __forceinline__ span pixel_span(int position, float source, float source_size, int dest, int dest_size,
                                           bool half) {
  float step = source_size / (float)dest_size, centre = source + ((float)(position - dest) + 0.5f) * step;
  if (half)
    step *= 0.5f, centre *= 0.5f;
  float size = fmaxf(step, 1.0f);
  return {centre - size * 0.5f, centre + size * 0.5f};
}

__device__ __forceinline__ float coverage(span s, float i) {
  return fmaxf(fminf(s.high, i + 1.0f) - fmaxf(s.low, i), 0.0f);
}

__device__ __forceinline__ float one_sample(const component &c, int x, int y) {
  const uint8_t *at = c.first + (size_t)min(max(y, 0), c.height - 1) * c.pitch + min(max(x, 0), c.width - 1) * c.stride;
  return c.ten_bits ? (float)(*reinterpret_cast<const uint16_t *>(at) >> 6) : (float)*at;
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

__device__ __forceinline__ bool is_whole(float x) {
  return x == floorf(x);
}

/* Returns true if each output pixel shows exactly one source pixel. Components of full size are then read without
 * averaging. */
__device__ __forceinline__ bool is_same_size(const struct geometry &g) {
  return g.source_w == (float)g.dest_w && g.source_h == (float)g.dest_h && is_whole(g.source_x) && is_whole(g.source_y);
}

/* Returns the mean over a range of at most two by two samples. Unlike mean(), it has no loops, so that the four loads
 * run at the same time. */
__device__ __forceinline__ float mean_of_four(const component &c, span x, span y) {
  float left = floorf(x.low), top = floorf(y.low), right_part = x.low - left, lower_part = y.low - top;
  int i = (int)left, j = (int)top;
  float upper = (1.0f - right_part) * one_sample(c, i, j) + right_part * one_sample(c, i + 1, j);
  float lower = (1.0f - right_part) * one_sample(c, i, j + 1) + right_part * one_sample(c, i + 1, j + 1);
  return (1.0f - lower_part) * upper + lower_part * lower;
}

__device__ __forceinline__ float component_value(const component &c, const struct geometry &g, int x, int y) {
  if (!c.half_x && is_same_size(g))
    return one_sample(c, x - g.dest_x + (int)g.source_x, y - g.dest_y + (int)g.source_y);
  span across = pixel_span(x, g.source_x, g.source_w, g.dest_x, g.dest_w, c.half_x);
  span down = pixel_span(y, g.source_y, g.source_h, g.dest_y, g.dest_h, c.half_y);
  bool few = g.source_w <= (float)g.dest_w * (c.half_x ? 2.0f : 1.0f) &&
             /* few: the source has at most one sample for each output pixel, in both directions. A pixel's span is
              * then one sample long, and overlaps at most two samples. */
             g.source_h <= (float)g.dest_h * (c.half_y ? 2.0f : 1.0f);
  return few ? mean_of_four(c, across, down) : mean(c, across, down);
}

__global__ void pixels_in_kernel(const __grid_constant__ struct pixels_args p) {
  int x = blockIdx.x * THREADS_X + threadIdx.x, y = blockIdx.y * THREADS_Y + threadIdx.y;
  wait_for_previous();
  if (x >= p.w || y >= p.h)
    return;
  /* Load and average the source's components, or take black outside the rectangle that shows the source; convert to R,
   * G, B. */
  const struct geometry &g = p.block->run.geometry[p.first + blockIdx.z];
  const struct planes &input = p.block->input[p.first + blockIdx.z];
  float v[3], rgb[3] = {0.0f, 0.0f, 0.0f};
  if (x >= g.dest_x && x < g.dest_x + g.dest_w && y >= g.dest_y && y < g.dest_y + g.dest_h) {
    const struct coding &k = input.coding;
#pragma unroll
    for (int i = 0; i < 3; i++) {
      component c = get_component(input, i);
      v[i] = (component_value(c, g, x, y) - k.zero[i]) * k.scale[i];
    }
    bool plain = is_rgb(input.format);
    rgb[0] = plain ? v[0] : v[0] + k.r_cr * v[2];
    rgb[1] = plain ? v[1] : v[0] + k.g_cb * v[1] + k.g_cr * v[2];
    rgb[2] = plain ? v[2] : v[0] + k.b_cb * v[1];
  }
  /* Scale to the network's range of values and store. */
  size_t pixel = ((size_t)blockIdx.z * p.h + y) * p.w + x;
  float eight[8] = {};
  for (int i = 0; i < 3; i++) {
    eight[i] = __saturatef(rgb[i]) * p.scale + p.bias;
    p.y[pixel * 3 + i] = __float2half_rn(eight[i]);
  }
  if (p.padded)
    store8(p.padded + pixel * 8, eight);
}

/* --- pixels out: from the network's output to a frame's planes --- */

/* What the output shows in this run: the picture, a map, or both side by side. */
struct view {
  float mix;
  const half_t *map; /* the map to show; NULL: only the picture is shown */
  bool both;
};

__device__ __forceinline__ view get_view(const struct pixels_args &p) {
  const struct run_params &run = p.block->run;
  return {run.mix, run.show == SHOW_PICTURE ? nullptr : p.map[run.show_control], run.show == SHOW_BOTH};
}

__device__ __forceinline__ void picture_rgb(const struct pixels_args &p, float mix, int x, int y, float rgb[3]) {
  size_t at = (((size_t)blockIdx.z * p.h + y) * p.w + x) * 3;
  for (int i = 0; i < 3; i++) {
    float v = __half2float(p.x[at + i]) * p.scale + p.bias;
    if (p.input)
      v = mix * v + (1.0f - mix) * (__half2float(p.input[at + i]) * p.input_scale + p.input_bias);
    rgb[i] = __saturatef(v);
  }
}

__device__ __forceinline__ void map_rgb(const struct pixels_args &p, const half_t *map, int x, int y, float rgb[3]) {
  for (int i = 0; i < 3; i++)
    rgb[i] = __saturatef(__half2float(map[(((size_t)blockIdx.z * p.h + y) * p.w + x) * 3 + i]));
}

__device__ __noinline__ void both_rgb(const struct pixels_args &p, const view &v, int x, int y, float rgb[3]) {
  int w = p.out_w / 2, h = p.out_h / 2;
  bool left = x < w;
  x -= left ? 0 : w;
  y -= (p.out_h - h) / 2;
  rgb[0] = rgb[1] = rgb[2] = 0.0f;
  for (int i = 0; i < 4 && x < w && y >= 0 && y < h; i++) {
    float one[3];
    if (left)
      map_rgb(p, v.map, 2 * x + i % 2, 2 * y + i / 2, one);
    else
      picture_rgb(p, v.mix, 2 * x + i % 2, 2 * y + i / 2, one);
    for (int c = 0; c < 3; c++)
      rgb[c] += 0.25f * one[c];
  }
}

__device__ __forceinline__ void read_rgb(const struct pixels_args &p, const view &v, int x, int y, float rgb[3]) {
  if (!v.map)
    picture_rgb(p, v.mix, x, y, rgb);
  else if (v.both)
    both_rgb(p, v, x, y, rgb);
  else
    map_rgb(p, v.map, x, y, rgb);
}

__device__ __forceinline__ void store_sample(const component &c, int x, int y, float value) {
  uint8_t *at = c.first + (size_t)y * c.pitch + x * c.stride;
  int rounded = min(max(__float2int_rn(value), 0), c.ten_bits ? 1023 : 255);
  if (c.ten_bits)
    *reinterpret_cast<uint16_t *>(at) = (uint16_t)(rounded << 6);
  else
    *at = (uint8_t)rounded;
}

__device__ void store_rgb(const struct planes &out, int x, int y, const float rgb[3]) {
  uint8_t v[3];
  for (int i = 0; i < 3; i++)
    v[i] = (uint8_t)__float2int_rn(rgb[i] * 255.0f);
  bool bgra = out.format == PIXEL_BGRA;
  *reinterpret_cast<uchar4 *>(out.plane[0] + (size_t)y * out.pitch[0] + 4 * x) =
      make_uchar4(v[bgra ? 2 : 0], v[1], v[bgra ? 0 : 2], 255);
}

/* Stores luma and chroma of a square of 2 x 2 pixels, as far as it is inside the picture. A chroma sample is the mean
 * over the pixels that share it. */
__device__ void store_yuv(const struct pixels_args &p, const struct planes &out, const view &v, int x0, int y0) {
  const struct coding &k = out.coding;
  component luma = get_component(out, 0), cb = get_component(out, 1), cr = get_component(out, 2);
  float blue = 0.0f, red = 0.0f;
  int count = 0;
  for (int y = y0; y < min(y0 + 2, p.out_h); y++) {
    for (int x = x0; x < min(x0 + 2, p.out_w); x++) {
      float rgb[3];
      read_rgb(p, v, x, y, rgb);
      float l = k.r * rgb[0] + k.g * rgb[1] + k.b * rgb[2];
      store_sample(luma, x, y, k.zero[0] + l / k.scale[0]);
      /* the last column's second luma sample is outside the picture; it repeats the first one */
      if (out.format == PIXEL_YUYV && x + 1 == p.out_w && p.out_w % 2)
        store_sample(luma, x + 1, y, k.zero[0] + l / k.scale[0]);
      blue += (rgb[2] - l) / k.b_cb;
      red += (rgb[0] - l) / k.r_cr;
      count++;
    }
    if (!cb.half_y || y + 1 == min(y0 + 2, p.out_h)) {
      int row = cb.half_y ? y0 / 2 : y;
      store_sample(cb, x0 / 2, row, k.zero[1] + blue / ((float)count * k.scale[1]));
      store_sample(cr, x0 / 2, row, k.zero[2] + red / ((float)count * k.scale[2]));
      blue = red = 0.0f;
      count = 0;
    }
  }
}

__global__ void pixels_out_kernel(const __grid_constant__ struct pixels_args p) {
  int x0 = 2 * (blockIdx.x * THREADS_X + threadIdx.x), y0 = 2 * (blockIdx.y * THREADS_Y + threadIdx.y);
  wait_for_previous();
  if (x0 >= p.out_w || y0 >= p.out_h)
    return;
  const struct planes &out = p.block->output[blockIdx.z];
  const view v = get_view(p);
  if (!is_rgb(out.format)) {
    store_yuv(p, out, v, x0, y0);
    return;
  }
  for (int y = y0; y < min(y0 + 2, p.out_h); y++)
    for (int x = x0; x < min(x0 + 2, p.out_w); x++) {
      float rgb[3];
      read_rgb(p, v, x, y, rgb);
      store_rgb(out, x, y, rgb);
    }
}

} // namespace

cudaError_t launch_pixels_in(const struct launch_queue *queue, const struct pixels_args *args) {
  dim3 grid(blocks_for((size_t)args->w, THREADS_X), blocks_for((size_t)args->h, THREADS_Y), args->n);
  return launch(queue, pixels_in_kernel, grid, dim3(THREADS_X, THREADS_Y), 0, *args);
}

cudaError_t launch_pixels_out(const struct launch_queue *queue, const struct pixels_args *args) {
  dim3 grid(blocks_for((size_t)args->out_w, 2 * THREADS_X), blocks_for((size_t)args->out_h, 2 * THREADS_Y), args->n);
  return launch(queue, pixels_out_kernel, grid, dim3(THREADS_X, THREADS_Y), 0, *args);
}
