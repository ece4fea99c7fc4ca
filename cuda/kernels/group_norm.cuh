/* Parts of group norms in which a thread block has a slice of the channels, a few whole groups (group_norm.cu,
 * group_norm_apart.cu): how threads lie over a slice, loads and stores, and sums of a slice's groups. */
#ifndef CUDA_KERNELS_GROUP_NORM_CUH
#define CUDA_KERNELS_GROUP_NORM_CUH

#include "cuda/kernels/norm.cuh"

namespace norms {

/* SLICE_GROUPS, SLICE_CHANNELS: most groups and channels of a slice. ROWS_MIN: least number of rows of threads. */
enum { SLICE_GROUPS = 32, SLICE_CHANNELS = 256, ROWS_MIN = 8 };

/* Applies SiLU to two values with one reciprocal, because special functions take longer than all the rest of a norm.
 * The exponents are bounded, so that the product of the two denominators stays finite. */
__device__ __forceinline__ void silu_two(float &x, float &y) {
  float of_x, of_y, inverse;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(of_x) : "f"(fminf(-1.44269504f * x, 60.0f)));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(of_y) : "f"(fminf(-1.44269504f * y, 60.0f)));
  of_x += 1.0f;
  of_y += 1.0f;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(of_x * of_y));
  x *= inverse * of_y;
  y *= inverse * of_x;
}

/* A divisor that the host has prepared, so that the kernel divides numbers of threads and channels by a multiplication
 * and a shift. */
struct divisor {
  unsigned factor;
};

__host__ __device__ inline divisor divide_by(int by) {
  return {65535u / (unsigned)by + 1};
}

__device__ __forceinline__ int quotient(int of, divisor by) {
  return (int)((unsigned)of * by.factor >> 16);
}

struct division {
  int slices, cluster;
  /* columns: number of vectors (8 channels of a pixel each) side by side in a slice of the channels; rows: number of
   * threads that work on the same column of vectors, each on other pixels */
  int columns, rows;
  int held;         /* largest number of vectors (8 channels of a pixel each) that any thread keeps in registers */
  int size, groups; /* size: number of channels in a group; groups: number of groups in a slice of the channels */
  int run;          /* number of consecutive pixels of the picture that a thread block has */
  divisor by_columns, by_size;
  float inverse_count; /* 1 / number of values in a group */
};

/* The vectors (8 channels of a pixel each) that a thread keeps in registers. They are `rows` pixels apart. */
template <int HELD> struct vectors {
  uint4 held[HELD];

  /* Calls use(vector, its index) for each of the thread's vectors that exists. left: number of pixels from the thread's
   * first one to the end of the thread block's pixels. */
  template <typename Use> __device__ __forceinline__ void each(int left, int rows, Use use) {
#pragma unroll
    for (int j = 0; j < HELD; j++)
      if (j * rows < left)
        use(held[j], j);
  }
};

/* Returns two sums over all values that a thread block has of one group: of their differences from the pivot (the
 * group's first value), and of the squares of these differences. sums[columns][rows + 1] has the threads' own sums: x
 * and y of a float4 are for the group in which the thread's vector begins, z and w for the next group. All lanes of one
 * warp call it and get the result. */
__device__ __forceinline__ float2 add_group(const float4 *sums, const division &d, int group) {
  float2 total = make_float2(0, 0);
  int lane = threadIdx.x % 32, begin = group * d.size / 8, end = ((group + 1) * d.size + 7) / 8;
#pragma unroll 1
  for (int column = begin; column < end; column++) {
    bool first = column * 8 >= group * d.size;
#pragma unroll 1
    for (int row = lane; row < d.rows; row += 32) {
      float4 part = sums[column * (d.rows + 1) + row];
      add(total, first ? part.x : part.z, first ? part.y : part.w);
    }
  }
  return add_lanes(total, 32);
}

/* Returns the address of one channel of one pixel. Channels from p.c on are in the second input, x2. */
__device__ __forceinline__ const __half *place_of(const struct norm_args &p, size_t pixel, int channel) {
  bool second = channel >= p.c;
  const __half *x = static_cast<const __half *>(second ? p.x2 : p.x);
  return x + pixel * (second ? p.c2 : p.c) + (second ? channel - p.c : channel);
}

/* Returns the address unchanged, but makes the compiler calculate it at this point of the code, ahead of
 * wait_for_previous. */
__device__ __forceinline__ const __half *here(const __half *address) {
  asm volatile("" : "+l"(address));
  return address;
}

__device__ __forceinline__ uint4 load16(const __half *from) {
  uint4 v;
  asm volatile("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
  return v;
}

__device__ __forceinline__ __half load_half(const __half *from) {
  unsigned short v;
  asm volatile("ld.global.u16 %0, [%1];" : "=h"(v) : "l"(from));
  return __ushort_as_half(v);
}

/* Stores 16 bytes by one instruction; the compiler would split a plain store. */
__device__ __forceinline__ void store16(__half *to, uint4 v) {
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

/* Normalises a thread's vectors, activates and stores them. to: where the first one goes, to_step: the distance to the
 * next one; factors: factor and shift of the vectors' first channel. */
template <bool ACTIVATED, int HELD>
__device__ __forceinline__ void store_vectors(vectors<HELD> &pixels, int left, const division &d, const float2 *factors,
                                              __half *to, int to_step) {
  float2 factor[8];
#pragma unroll
  for (int i = 0; i < 8; i++)
    factor[i] = factors[i];
  pixels.each(left, d.rows, [&](const uint4 &held, int j) {
    float v[8];
    unpack8(held, v);
#pragma unroll
    for (int i = 0; i < 8; i++) {
      v[i] = v[i] * factor[i].x + factor[i].y;
      if (ACTIVATED && i % 2)
        silu_two(v[i - 1], v[i]);
    }
    store16(to + j * to_step, make_uint4(pack2(v[0], v[1]), pack2(v[2], v[3]), pack2(v[4], v[5]), pack2(v[6], v[7])));
  });
}

/* Returns true if every vector of 8 channels in a slice belongs to at most two groups of the norm. columns: number
 * of vectors in a slice; size: number of channels in a group. */
inline bool vectors_fit(int columns, int size) {
  for (int column = 0; column < columns; column++)
    if ((column * 8 + 7) / size > column * 8 / size + 1)
      return false;
  return true;
}

/* Returns the number of slices, each of whole groups, into which the channels are divided. It is the largest possible
 * number with which a slice has at least least_bytes bytes of each pixel; if there is none, the smallest possible
 * number. 0: the channels cannot be divided in this way. */
inline int count_slices(const struct norm_args *args, int least_bytes) {
  int channels = args->c + args->c2, size = channels / args->groups, least = 0;
  for (int slices = 1; slices <= args->groups; slices++) {
    int width = channels / slices;
    if (args->groups % slices || width % 8 || width > SLICE_CHANNELS || width / size > SLICE_GROUPS ||
        !vectors_fit(width / 8, size))
      continue;
    if (!least || width * (int)sizeof(__half) >= least_bytes)
      least = slices;
  }
  return least;
}

} // namespace norms

#endif
