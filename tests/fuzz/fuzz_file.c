#include "tests/fuzz/fuzz_file.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"

/* Writes the sizes of a tensor's shape from a text such as "320,4,3,3", up to the first character that fits no size.
 * Returns the number of elements, at most FUZZ_DATA_MAX. */
static size_t write_shape(FILE *out, const char *text, size_t length) {
  size_t elements = 1, at = 0;
  for (bool first = true; at < length && text[at] >= '0' && text[at] <= '9'; first = false) {
    unsigned long long size = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++)
      size = size < 1ull << 50 ? 10 * size + (unsigned long long)(text[at] - '0') : size;
    fprintf(out, "%s%llu", first ? "" : ",", size);
    elements = size < FUZZ_DATA_MAX && elements * size < FUZZ_DATA_MAX ? elements * size : FUZZ_DATA_MAX;
    at += at < length && text[at] == ',';
  }
  return elements;
}

/* Writes the header of one tensor, and gives it data as long as FUZZ_DATA_MAX allows. */
static void write_tensor(FILE *out, const char *line, size_t length, size_t *used) {
  const char *space = memchr(line, ' ', length);
  size_t name = space ? (size_t)(space - line) : length, shape = space ? name + 1 : length;
  fprintf(out, "%s\"", ftell(out) > 1 ? "," : "");
  for (size_t i = 0; i < name; i++)
    fputc((unsigned char)line[i] < ' ' || strchr("\"\\", line[i]) ? '_' : line[i], out);
  fprintf(out, "\":{\"shape\":[");
  size_t bytes = 2 * write_shape(out, line + shape, length - shape);
  bool fits = bytes < 2 * FUZZ_DATA_MAX && *used + bytes <= FUZZ_DATA_MAX;
  fprintf(out, "],\"dtype\":\"%s\",\"data_offsets\":[%zu,", fits ? "F16" : "NONE", *used);
  *used += fits ? bytes : 0;
  fprintf(out, "%zu]}", *used);
}

static char *write_header(const uint8_t *data, size_t size, size_t *length, size_t *used) {
  char *header;
  FILE *out = open_memstream(&header, length);
  FUZZ_CHECK(out);
  fputc('{', out);
  for (size_t at = 0; at < size;) {
    const uint8_t *end = memchr(data + at, '\n', size - at);
    size_t line = end ? (size_t)(end - data) - at : size - at;
    if (line)
      write_tensor(out, (const char *)data + at, line, used);
    at += line + 1;
  }
  fputc('}', out);
  FUZZ_CHECK(!fclose(out));
  return header;
}

/* Returns the number of bytes of data that a header describes: the end of its last tensor. */
static size_t data_end(const char *header, size_t length) {
  static const char key[] = "data_offsets\":[";
  const char *end = header + length;
  size_t last = 0;
  for (const char *at = header; (at = memmem(at, (size_t)(end - at), key, sizeof key - 1)); at++) {
    size_t number = 0;
    for (const char *c = at + sizeof key - 1; c < end && *c != ']'; c++)
      number = *c >= '0' && *c <= '9' && number <= FUZZ_DATA_MAX ? 10 * number + (size_t)(*c - '0') : 0;
    last = number > last ? number : last;
  }
  return last < FUZZ_DATA_MAX ? last : FUZZ_DATA_MAX;
}

int fuzz_file(const uint8_t *data, size_t size) {
  size_t length = size - 1, used = 0;
  char *made = data[0] == 'l' ? write_header(data + 1, size - 1, &length, &used) : NULL;
  const char *header = made ? made : (const char *)data + 1;
  if (!made)
    used = data_end(header, length);
  uint64_t stated = length;
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  FUZZ_CHECK(fd >= 0 && write(fd, &stated, sizeof stated) == sizeof stated);
  FUZZ_CHECK(write(fd, header, length) == (ssize_t)length && !ftruncate(fd, (off_t)(sizeof stated + length + used)));
  free(made);
  return fd;
}

void fuzz_check_error(const struct error *err) {
  FUZZ_CHECK(err->status == STATUS_MODEL && *err->message && !strchr(err->message, '\n'));
}

void fuzz_check_tensor(const struct safetensors *view, const struct safetensor *t) {
  FUZZ_CHECK(safetensors_find(view, t->name) == t);
  FUZZ_CHECK(t->offset <= t->file->size && t->bytes <= t->file->size - t->offset);
  if (!t->usable)
    return;
  uint64_t elements = 1;
  for (int i = 0; i < t->rank; i++)
    elements *= (uint64_t)t->shape[i];
  FUZZ_CHECK(t->rank <= SAFETENSOR_RANK_MAX && elements * dtype_size(t->dtype) == t->bytes);
}
