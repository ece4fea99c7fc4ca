/* Replays seeded random mutations of a target's seeds: fuzz_X [RUNS [SEED]]. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "tests/rigs/fixture.h"

enum { SIZE_MAX_BYTES = 4096 };

struct input {
  uint8_t bytes[SIZE_MAX_BYTES];
  size_t size;
};

static size_t below(unsigned long long *random, size_t limit) {
  return limit ? (size_t)(fixture_random(random) % limit) : 0;
}

/* Puts size bytes in place of the cut bytes at a position. */
static void splice(struct input *in, size_t at, size_t cut, const void *bytes, size_t size) {
  size_t rest = in->size - at - cut;
  if (in->size - cut + size > SIZE_MAX_BYTES)
    return;
  memmove(in->bytes + at + size, in->bytes + at + cut, rest);
  memcpy(in->bytes + at, bytes, size);
  in->size += size - cut;
}

static void mutate(struct input *in, unsigned long long *random) {
  static const char *const words[] = {"0",
                                      "-1",
                                      "1e99",
                                      "18446744073709551615",
                                      "9007199254740993",
                                      "null",
                                      "true",
                                      "{",
                                      "[]",
                                      "\"\"",
                                      ",",
                                      "4294967296",
                                      "0.5",
                                      "\xff",
                                      "\\u0000",
                                      "é",
                                      "<|endoftext|>",
                                      " ",
                                      "[[",
                                      "2"};
  uint8_t chunk[32];
  size_t at = below(random, in->size), left = in->size - at, length;
  switch (below(random, 6)) {
  case 0:
    if (in->size)
      in->bytes[at] ^= (uint8_t)(1 << below(random, 8));
    break;
  case 1:
    if (in->size)
      in->bytes[at] = (uint8_t)fixture_random(random);
    break;
  case 2: /* delete */
    splice(in, at, below(random, left < 16 ? left + 1 : 16), "", 0);
    break;
  case 3: { /* write a word over something, or insert it */
    const char *word = words[below(random, sizeof words / sizeof *words)];
    splice(in, at, below(random, left < 8 ? left + 1 : 8), word, strlen(word));
    break;
  }
  case 4: /* copy a part elsewhere */
    length = below(random, left < sizeof chunk ? left + 1 : sizeof chunk);
    memcpy(chunk, in->bytes + at, length);
    splice(in, below(random, in->size), 0, chunk, length);
    break;
  default:
    if (!below(random, 8)) /* cut the end off */
      in->size = at;
  }
}

int main(int argc, char **argv) {
  long runs = argc > 1 ? atol(argv[1]) : 20000;
  unsigned long long random = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  for (size_t i = 0; i < fuzz_seed_count; i++)
    LLVMFuzzerTestOneInput((const uint8_t *)fuzz_seeds[i].data, fuzz_seeds[i].size);
  for (long run = 0; run < runs; run++) {
    const struct fuzz_seed *seed = &fuzz_seeds[below(&random, fuzz_seed_count)];
    struct input in = {.size = seed->size};
    memcpy(in.bytes, seed->data, seed->size);
    for (size_t n = 1 + below(&random, 4); n; n--)
      mutate(&in, &random);
    uint8_t *exact = malloc(in.size + !in.size); /* so that a sanitizer sees a read past the end */
    FUZZ_CHECK(exact);
    memcpy(exact, in.bytes, in.size);
    LLVMFuzzerTestOneInput(exact, in.size);
    free(exact);
  }
  printf("%ld runs\n", runs);
  return 0;
}
