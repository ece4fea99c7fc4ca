/* The eight tiles of a processor's matrix units: 16 rows of 64 bytes each. Files that include this header are compiled
 * for the units (AMX), and for tests with plain loops in place of their instructions. An instruction has the number of
 * a tile in itself, so it is a constant in each call. */
#ifndef UNET_CPU_CPU_TILE_OPS_H
#define UNET_CPU_CPU_TILE_OPS_H

#include <stdint.h>
#include <string.h>

#include "unet/cpu/cpu_tiles.h"
#include "unet/plan/weights.h"

enum {
  TILE_ROWS = 16,
  TILE_HALVES = 32, /* number of bfloat16 numbers in a row of a tile */
  TILE_FLOATS = 16, /* number of FP32 numbers in a row of a tile */
};

/* TILE_PRODUCT adds to `sums`, a tile of FP32 numbers, the matrix product of the tiles a and b of bfloat16 numbers. a
 * is [rows][depth]; b has two of its rows side by side: [depth / 2][columns][2]. A pitch is the number of bytes from
 * one row in memory to the next. */
#if defined(__AMX_BF16__)
#include <immintrin.h>
#define TILES(name) cpu_tiles_amx_##name
#define TILE_ZERO(tile) _tile_zero(tile)
#define TILE_LOAD(tile, from, pitch) _tile_loadd(tile, from, pitch)
#define TILE_STORE(tile, to, pitch) _tile_stored(tile, to, pitch)
#define TILE_PRODUCT(sums, a, b) _tile_dpbf16ps(sums, a, b)

/* A thread calls tiles_begin before it uses tiles, and tiles_end afterwards. */
static inline void tiles_begin(void) {
  struct {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
  } config __attribute__((aligned(64))) = {.palette = 1};
  for (int i = 0; i < 8; i++) {
    config.bytes[i] = 64;
    config.rows[i] = 16;
  }
  _tile_loadconfig(&config);
}

static inline void tiles_end(void) {
  _tile_release();
}
#else
static _Thread_local union {
  float floats[TILE_ROWS][TILE_FLOATS];
  uint16_t halves[TILE_ROWS][TILE_HALVES];
} tiles[8];

#define TILES(name) cpu_tiles_plain_##name
#define TILE_ZERO(tile) memset(&tiles[tile], 0, sizeof tiles[tile])
#define TILE_LOAD(tile, from, pitch) tile_load(tile, from, pitch)
#define TILE_STORE(tile, to, pitch) tile_store(tile, to, pitch)
#define TILE_PRODUCT(sums, a, b) tile_product(sums, a, b)

static inline void tile_load(int tile, const void *from, size_t pitch) {
  for (size_t row = 0; row < TILE_ROWS; row++)
    memcpy(tiles[tile].halves[row], (const char *)from + row * pitch, sizeof tiles[tile].halves[row]);
}

static inline void tile_store(int tile, void *to, size_t pitch) {
  for (size_t row = 0; row < TILE_ROWS; row++)
    memcpy((char *)to + row * pitch, tiles[tile].floats[row], sizeof tiles[tile].floats[row]);
}

static inline void tile_product(int sums, int a, int b) {
  for (int m = 0; m < TILE_ROWS; m++)
    for (int n = 0; n < TILE_FLOATS; n++)
      for (int k = 0; k < TILE_HALVES; k++)
        tiles[sums].floats[m][n] +=
            bf16_to_f32(tiles[a].halves[m][k]) * bf16_to_f32(tiles[b].halves[k / 2][2 * n + k % 2]);
}

static inline void tiles_begin(void) {}

static inline void tiles_end(void) {}
#endif

size_t TILES(attend_packed)(int keys, int dim);
size_t TILES(attend_tile)(int dim);
void TILES(attend)(const struct attend *a);

#endif
