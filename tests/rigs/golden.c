#include "tests/rigs/golden.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/fixture.h"

static char *read_text(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return NULL;
  size_t capacity = 1 << 16;
  char *text = calloc(1, capacity);
  size_t length = text ? fread(text, 1, capacity - 1, file) : 0;
  fclose(file);
  if (length == 0) {
    free(text);
    return NULL;
  }
  return text;
}

/* Makes a frame from the input picture, of the golden's size. */
static void make_frame(struct golden *golden) {
  struct values input = golden_values(golden, "input");
  int height = input.shape[1], width = input.shape[2];
  golden->input = malloc((size_t)height * (size_t)width * 4);
  for (int i = 0; i < height * width; i++) {
    for (int c = 0; c < 3; c++)
      golden->input[4 * i + c] = (uint8_t)input.data[3 * i + c];
    golden->input[4 * i + 3] = 255;
  }
  golden->frame = (struct frame){
      .format = PIXEL_RGBA, .width = width, .height = height, .plane = {golden->input}, .pitch = {4 * width}, .pts = 1};
  free(input.data);
}

/* Opens a safetensors file that gzip has packed. It is unpacked into memory that has a path while it is open. */
static int open_packed(struct safetensors **files, const char *path, struct error *err) {
  size_t length = 0;
  char *bytes = fixture_unpack(path, &length), unpacked[64];
  if (!bytes)
    return error_set(err, STATUS_MODEL, "%s: cannot be read", path);
  int memory = memfd_create("golden", MFD_CLOEXEC);
  bool written = memory >= 0 && write(memory, bytes, length) == (ssize_t)length;
  free(bytes);
  snprintf(unpacked, sizeof unpacked, "/proc/self/fd/%d", memory);
  int result = written ? safetensors_open_file(files, unpacked, err)
                       : error_set(err, STATUS_FAILED, "%s: cannot be unpacked into memory", path);
  if (memory >= 0)
    close(memory);
  return result;
}

int golden_open(struct golden *golden, const char *root, const char *name) {
  *golden = (struct golden){0};
  snprintf(golden->folder, sizeof golden->folder, "%s/%s", root, name);
  char path[1024];
  snprintf(path, sizeof path, "%s/golden.json", golden->folder);
  char *text = read_text(path);
  golden->json = text ? cJSON_Parse(text) : NULL;
  free(text);
  struct error err = {0};
  snprintf(path, sizeof path, "%s/golden.safetensors.gz", golden->folder);
  if (!golden->json || open_packed(&golden->tensors, path, &err) < 0) {
    snprintf(golden->missing, sizeof golden->missing, "%s: %s", golden->folder,
             golden->json ? err.message : "no golden.json");
    golden_close(golden);
    return -1;
  }
  make_frame(golden);
  return 0;
}

void golden_close(struct golden *golden) {
  cJSON_Delete(golden->json);
  golden->json = NULL;
  safetensors_close(&golden->tensors);
  free(golden->input);
  golden->input = NULL;
}

struct values golden_values(const struct golden *golden, const char *format, ...) {
  char name[128];
  va_list args;
  va_start(args, format);
  vsnprintf(name, sizeof name, format, args);
  va_end(args);
  struct error err = {0};
  const struct safetensor *t = safetensors_get(golden->tensors, name, &err);
  if (!t)
    fail_msg("%s", err.message);
  struct values v = {.count = t->bytes / dtype_size(t->dtype), .shape = {1, 1, 1, 1}};
  for (int i = 0; i < t->rank; i++)
    v.shape[4 - t->rank + i] = (int)t->shape[i];
  v.data = malloc(v.count * sizeof *v.data);
  assert_non_null(v.data);
  void *stored = malloc(t->bytes);
  assert_non_null(stored);
  if (weight_file_read(t->file, t->offset, stored, t->bytes, &err))
    fail_msg("%s", err.message);
  weights_to_f32(t->dtype, stored, v.count, v.data);
  free(stored);
  return v;
}

double relative_error(const float *a, const float *b, size_t count) {
  double error = 0, size = 0;
  for (size_t i = 0; i < count; i++) {
    error += pow((double)a[i] - (double)b[i], 2);
    size += pow((double)b[i], 2);
  }
  return sqrt(error / size);
}

double json_number(const cJSON *object, const char *name, double otherwise) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  return cJSON_IsNumber(item) ? item->valuedouble : otherwise;
}

const char *json_string(const cJSON *object, const char *name, const char *otherwise) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  return cJSON_IsString(item) ? item->valuestring : otherwise;
}

static double psnr(double squares, double count) {
  return squares == 0 ? 99 : 10 * log10(255.0 * 255.0 * count / squares);
}

double picture_psnr(const struct frame *picture, const struct values *golden) {
  assert_int_equal(picture->format, PIXEL_RGBA);
  assert_int_equal(picture->height, golden->shape[1]);
  assert_int_equal(picture->width, golden->shape[2]);
  double squares = 0;
  for (int y = 0; y < picture->height; y++)
    for (int x = 0; x < picture->width; x++)
      for (int c = 0; c < 3; c++) {
        double ours = picture->plane[0][y * picture->pitch[0] + 4 * x + c];
        squares += pow(ours - (double)golden->data[(y * picture->width + x) * 3 + c], 2);
      }
  return psnr(squares, (double)golden->count);
}

double frame_psnr(const struct frame *a, const struct frame *b) {
  assert_int_equal(a->height, b->height);
  assert_int_equal(a->width, b->width);
  double squares = 0;
  for (int y = 0; y < a->height; y++)
    for (int x = 0; x < a->width; x++)
      for (int c = 0; c < 3; c++)
        squares += pow((double)a->plane[0][y * a->pitch[0] + 4 * x + c] - b->plane[0][y * b->pitch[0] + 4 * x + c], 2);
  return psnr(squares, 3.0 * a->height * a->width);
}

uint8_t *picture_copy(struct frame *picture) {
  size_t row = (size_t)frame_row_bytes(picture->format, 0, picture->width);
  uint8_t *copy = malloc(row * (size_t)picture->height);
  assert_non_null(copy);
  for (int y = 0; y < picture->height; y++)
    memcpy(copy + row * (size_t)y, picture->plane[0] + picture->pitch[0] * y, row);
  frame_release(picture);
  return copy;
}
