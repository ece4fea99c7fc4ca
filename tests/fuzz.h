/* Fuzz targets. Each fuzz_*.c has libFuzzer's entry point and a few good inputs to start from. fuzz_main.c replays a
 * fixed number of mutations of those, the same every time, so that the targets run under any compiler in the test
 * suite. To fuzz in earnest, leave fuzz_main.c out:
 *
 *   CC=clang meson setup build-fuzz -Dcuda=disabled -Donednn=disabled -Dprogram=auto -Db_lundef=false \
 *     -Dc_args='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined'
 *   ninja -C build-fuzz unet/libunet_{model,core,noise}.a
 *   clang -std=gnu17 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -I. \
 *     -DGOLDENS='"tests/data/goldens"' tests/fuzz_single.c tests/fuzz_file.c tests/fixture.c \
 *     -Wl,--start-group build-fuzz/unet/libunet_{model,core,noise}.a -Wl,--end-group \
 *     -lcjson -lpcre2-8 -lutf8proc -lz -lm -o fuzz_single
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct fuzz_seed {
  const char *data;
  size_t size;
};

extern const struct fuzz_seed fuzz_seeds[];
extern const size_t fuzz_seed_count;

/* A seed from a string literal that begins with the byte that chooses the kind of input. */
#define FUZZ_SEED(kind, text)                                                                                          \
  { kind text, sizeof(kind text) - 1 }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold; prints the condition and aborts, as a sanitizer does. */
#define FUZZ_CHECK(condition)                                                                                          \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                  \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

#endif
