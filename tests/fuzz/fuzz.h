/* Fuzz targets. Each fuzz_*.c has libFuzzer's entry point and a few good inputs to start from. fuzz_main.c replays a
 * fixed number of mutations of those, the same every time, so that the targets run under any compiler in the test
 * suite. To fuzz in earnest, have the targets built with libFuzzer in its place:
 *
 *   CC=clang meson setup build-fuzz -Dlibfuzzer=true -Dcuda=disabled -Donednn=disabled -Db_lundef=false \
 *     -Dc_args='-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined' \
 *     -Dc_link_args=-fsanitize=address,undefined
 *   ninja -C build-fuzz tests/fuzz/fuzz_single
 *   build-fuzz/tests/fuzz/fuzz_single -max_total_time=600 -detect_leaks=1 CORPUS
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

/* Makes an input to start from out of a string literal. Its first byte, kind, selects how the target reads the rest. */
#define FUZZ_SEED(kind, text)                                                                                          \
  { kind text, sizeof(kind text) - 1 }

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks that a condition holds; otherwise prints it and aborts, as a sanitizer does. */
#define FUZZ_CHECK(condition)                                                                                          \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                                  \
      abort();                                                                                                         \
    }                                                                                                                  \
  } while (0)

#endif
