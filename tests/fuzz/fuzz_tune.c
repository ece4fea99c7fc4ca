/* Fuzzes the file of tuning results: "v", then what follows a valid first line; "r", then the whole file. Any file is
 * read, a choice of this process is added, and what was saved must be read and saved again unchanged. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "cuda/ways/tuner.h"
#include "tests/rigs/fixture.h"

#define KEY "1x64x64 c320+0 to 64x64 c320 k3"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("v", "gemm 3 1 " KEY "\ncublaslt 0 1 4096x320 to 1280\ncudnn 2 1 own\nnarrow 0 0 x\n"),
    FUZZ_SEED("v",
              "gemm 3 1 0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890"
              "12345678901234567890123456789012345\ngemm 2147483647 -2147483648 " KEY "\n\n"),
    FUZZ_SEED("v", "gemm 99999999999999999999 1 a\ngemm 1 1 \n gemm 1\t1   b\nother 1 1 c"),
    FUZZ_SEED("r", "ways 0123456789abcdef, Some GPU, driver 1.2, cuDNN 0, cuBLASLt 0\ngemm 3 1 " KEY "\n"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static char *folder, *path, *first; /* first: the valid first line of a file */

static struct tuner *open_tuner(void) {
  static struct cuda_device device = {.driver = "1.2"};
  strcpy(device.properties.name, "Some GPU");
  struct tuner *tuner;
  FUZZ_CHECK(!tuner_open(&tuner, &device, folder, NULL));
  return tuner;
}

/* Saves one choice of this process, and returns the contents of the file, which the caller frees. */
static char *save_own(size_t *size) {
  struct tuner *tuner = open_tuner();
  struct choice own = {&way_cudnn, 5, 7}, found;
  tuner_find(tuner, KEY, &found);
  tuner_store(tuner, "own", &own, true);
  tuner_save(tuner, NULL);
  FUZZ_CHECK(tuner_find(tuner, "own", &found) && found.way == &way_cudnn && found.index == 5 && found.splits == 7);
  tuner_close(tuner);
  char *bytes = fixture_read(path, size);
  FUZZ_CHECK(bytes);
  return bytes;
}

static void clean(void) {
  fixture_remove(folder);
  free(path);
  free(first);
}

static void make_folder(void) {
  size_t size;
  if (folder)
    return;
  folder = fixture_make();
  path = fixture_path(folder, "tuning-Some-GPU.txt");
  first = save_own(&size);
  first[strcspn(first, "\n") + 1] = 0;
  atexit(clean);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size)
    return 0;
  make_folder();
  FILE *file = fopen(path, "wb");
  FUZZ_CHECK(file);
  if (data[0] == 'v')
    fputs(first, file);
  fwrite(data + 1, 1, size - 1, file);
  FUZZ_CHECK(!fclose(file));
  size_t once_size, again_size;
  char *once = save_own(&once_size), *again = save_own(&again_size);
  FUZZ_CHECK(once_size == again_size && !memcmp(once, again, once_size));
  FUZZ_CHECK(!strncmp(once, first, strlen(first)));
  free(once);
  free(again);
  return 0;
}
