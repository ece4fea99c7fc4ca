/* Fuzzes weight files: "f", then a whole file; otherwise what fuzz_file.h writes. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz_file.h"
#include "unet/checkpoint/safetensors.h"

#define PAIR                                                                                                           \
  "{\"__metadata__\":{\"format\":\"pt\"},\"a.weight\":{\"dtype\":\"F16\",\"shape\":[2,3,1,1],\"data_offsets\":[0,12]}" \
  ","                                                                                                                  \
  "\"b\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[12,28]},"                                                  \
  "\"c\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[28,36]}}  "

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("h", PAIR),
    FUZZ_SEED("h", "{\"x\":{\"dtype\":\"BF16\",\"shape\":[0,9007199254740992],\"data_offsets\":[0,0]}}"),
    FUZZ_SEED("f",
              "\x3e\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"F16\",\"shape\":[2,2],\"data_offsets\":[0,8]}}      01234567"),
    FUZZ_SEED("f", "\2\0\0\0\0\0\0\0{}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static int write_whole(const uint8_t *data, size_t size) {
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
  return fd;
}

/* Reads every byte that a usable tensor claims to have. */
static void check_tensor(const struct safetensors *files, const struct safetensor *t) {
  FUZZ_CHECK(safetensors_find(files, t->name) == t);
  if (!t->usable) {
    FUZZ_CHECK(!safetensors_get(files, t->name, NULL));
    return;
  }
  uint64_t elements = 1;
  for (int i = 0; i < t->rank; i++)
    elements *= (uint64_t)t->shape[i];
  FUZZ_CHECK(t->rank <= SAFETENSOR_RANK_MAX && elements * dtype_size(t->dtype) == t->bytes);
  void *bytes = malloc(t->bytes + !t->bytes);
  FUZZ_CHECK(bytes && !weight_file_read(t->file, t->offset, bytes, t->bytes, NULL));
  free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size)
    return 0;
  int fd = data[0] == 'f' ? write_whole(data + 1, size - 1) : fuzz_file(data, size);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct safetensors *files = NULL;
  struct error err = {0};
  if (safetensors_open_file(&files, path, &err)) {
    FUZZ_CHECK(!files && err.status == STATUS_MODEL && *err.message && !strchr(err.message, '\n'));
  } else {
    for (size_t i = 0; i < safetensors_count(files); i++)
      check_tensor(files, safetensors_at(files, i));
    safetensors_close(&files);
  }
  close(fd);
  return 0;
}
