/* Tensor copies (TMA) of the product kernels: boxes of a matrix and windows of a picture, to one thread block, or to
 * both thread blocks of a pair (a cluster of two). */
#ifndef CUDA_KERNELS_COPIES_SM90_CUH
#define CUDA_KERNELS_COPIES_SM90_CUH

#include <cuda.h>
#include <stdint.h>

namespace product_sm90 {

/* Returns true in exactly one thread of a warp. All threads of the warp must call it. From this instruction the
 * compiler knows that a branch on the result runs in one thread. Otherwise it would make a loop over all threads, for
 * the case that their arguments differ. */
__device__ __forceinline__ bool elect() {
  uint32_t elected;
  asm volatile("{\n"
               ".reg .pred p;\n"
               "elect.sync _|p, 0xffffffff;\n"
               "selp.u32 %0, 1, 0, p;\n"
               "}\n"
               : "=r"(elected));
  return elected;
}

__device__ __forceinline__ void load_box(uint32_t to, const CUtensorMap *map, uint32_t barrier, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          to),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}

/* Copies all tokens of a text, and the channels of one head. */
__device__ __forceinline__ void load_text(uint32_t to, const CUtensorMap *map, uint32_t barrier, int channel,
                                          int text) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::
          "r"(to),
      "l"(map), "r"(barrier), "r"(channel), "r"(0), "r"(text)
      : "memory");
}

/* Copies one box of a tensor to the shared memory of both thread blocks of a pair (a cluster of two). Each thread
 * block's barrier counts the bytes that arrive in it. */
__device__ __forceinline__ void load_box_both(uint32_t to, const CUtensorMap *map, uint32_t barrier, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
               "[%1, {%3, %4}], [%2], %5;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(x), "r"(y), "h"((uint16_t)3)
               : "memory");
}

struct pixel {
  int w, h, n;
};

/* Copies the input pixels that one tap of a convolution (place in its window) reads, for several neighbouring output
 * pixels; the tensor map says how many. at: input position of the first window's upper left corner; dx, dy: column and
 * row of the tap in the window. */
__device__ __forceinline__ void load_pixels(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c,
                                            const pixel &at, uint16_t dx, uint16_t dy) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, "
               "%5, %6}], [%2], {%7, %8};" ::"r"(to),
               "l"(map), "r"(barrier), "r"(c), "r"(at.w), "r"(at.h), "r"(at.n), "h"(dx), "h"(dy)
               : "memory");
}

__device__ __forceinline__ void load_pixels_both(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c,
                                                 const pixel &at, uint16_t dx, uint16_t dy) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8}, %9;" ::"r"(to),
               "l"(map), "r"(barrier), "r"(c), "r"(at.w), "r"(at.h), "r"(at.n), "h"(dx), "h"(dy), "h"((uint16_t)3)
               : "memory");
}

__device__ __forceinline__ void store_box(uint32_t from, const CUtensorMap *map, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(from),
               "r"(x), "r"(y)
               : "memory");
}

/* Stores results of a convolution that makes 2x2 output pixels of each input pixel (it follows an upsampling by 2). One
 * call stores the output pixels at column dx and row dy of their 2x2 squares. w, h: column and row of the first input
 * pixel. */
__device__ __forceinline__ void store_quarter(uint32_t from, const CUtensorMap *map, int c, int w, int h, int dx,
                                              int dy) {
  asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(map),
               "r"(from), "r"(c), "r"(dx), "r"(w), "r"(dy), "r"(h)
               : "memory");
}

__device__ __forceinline__ void load_bytes(uint32_t to, const void *from, int bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

/* Loads and stores of four or two 8x8 matrices of halves, by all lanes of a warp. Lane l gives the address of row l % 8
 * of matrix l / 8. Of each matrix the lane gets (loads) or gives (stores) elements 2 (l % 4) and 2 (l % 4) + 1 of row l
 * / 4. */

__device__ __forceinline__ void load_matrices(uint32_t (&v)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(row)
               : "memory");
}

__device__ __forceinline__ void load_two_matrices(uint32_t (&v)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(v[0]), "=r"(v[1])
               : "r"(row)
               : "memory");
}

__device__ __forceinline__ void store_matrices(uint32_t row, const uint32_t (&v)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(v[0]), "r"(v[1]),
               "r"(v[2]), "r"(v[3])
               : "memory");
}

__device__ __forceinline__ void store_two_matrices(uint32_t row, const uint32_t (&v)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(row), "r"(v[0]), "r"(v[1]) : "memory");
}

/* A load and a store of four matrices, transposed. Of each matrix the lane gets or gives element l / 4 of row 2 (l % 4)
 * and element l / 4 of the next row. */
__device__ __forceinline__ void load_transposed(uint32_t (&v)[4], uint32_t row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(row)
               : "memory");
}
__device__ __forceinline__ void store_transposed(uint32_t row, const uint32_t (&v)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(v[0]),
               "r"(v[1]), "r"(v[2]), "r"(v[3])
               : "memory");
}

} // namespace product_sm90

#endif
