/* Compares mixtures of two frames that the GPU makes with those of the definition (unet/base/mixture.h): random pixels,
 * formats, sizes, parts, matrices and ranges. With an argument it prints how long mixtures take. Skipped without a
 * GPU. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "unet/base/gpu.h"
#include "unet/base/mixture.h"
#include "unet/base/platform.h"

enum { SKIPPED = 77, CASES = 400 };

static struct gpu gpu;
static unsigned seed = 12345;

static int random_below(int end) {
  seed = seed * 1664525u + 1013904223u;
  return (int)((seed >> 8) % (unsigned)end);
}

/* A frame with pixels in host memory, of which the GPU has a copy or which it reads where they are. */
struct place {
  struct frame frame;
  size_t bytes;
  uint8_t *host;   /* page-locked memory */
  uint8_t *device; /* NULL: the GPU reads the host's */
};

static void open_place(struct place *place, enum pixel_format format, int width, int height, bool on_device) {
  struct frame *frame = &place->frame;
  *frame = (struct frame){.format = format,
                          .matrix = (enum color_matrix)random_below(3),
                          .range = random_below(2) ? RANGE_FULL : RANGE_LIMITED,
                          .width = width,
                          .height = height};
  place->bytes = frame_lay_out(frame, NULL);
  place->host = gpu.impl->alloc_host(&gpu, place->bytes);
  place->device = NULL;
  assert_non_null(place->host);
  frame_lay_out(frame, place->host);
  for (size_t i = 0; i < place->bytes; i++)
    place->host[i] = (uint8_t)random_below(256);
  if (on_device) {
    assert_int_equal(cudaMalloc((void **)&place->device, place->bytes), cudaSuccess);
    assert_int_equal(cudaMemcpy(place->device, place->host, place->bytes, cudaMemcpyHostToDevice), cudaSuccess);
  }
}

static void close_place(struct place *place) {
  cudaFree(place->device);
  gpu.impl->free_host(&gpu, place->host);
}

/* Returns the frame with the addresses of planes that the GPU reads. */
static struct frame seen_there(const struct place *place) {
  struct frame frame = place->frame;
  if (place->device)
    frame_lay_out(&frame, place->device);
  return frame;
}

/* Returns a part of the frame with even left and top. */
static struct mixture_part some_part(const struct frame *frame, bool whole) {
  struct mixture_part part = {0, 0, frame->width, frame->height};
  if (whole)
    return part;
  part.left = 2 * random_below(frame->width / 4 + 1);
  part.top = 2 * random_below(frame->height / 4 + 1);
  part.width = 1 + random_below(frame->width - part.left);
  part.height = 1 + random_below(frame->height - part.top);
  return part;
}

/* Fails the test unless the samples are the same, but for rounding. */
static void compare(const struct frame *frame, const uint8_t *got, const uint8_t *expected, int number) {
  bool wide = frame->format == PIXEL_P010;
  for (int plane = 0; plane < 2; plane++)
    for (int y = 0; y < frame_rows(frame->format, plane, frame->height); y++)
      for (int x = 0; x < frame_row_bytes(frame->format, plane, frame->width); x += 1 + wide) {
        size_t at =
            (size_t)(frame->plane[plane] - frame->plane[0]) + (size_t)y * (size_t)frame->pitch[plane] + (size_t)x;
        int a = got[at] | (wide ? got[at + 1] << 8 : 0), b = expected[at] | (wide ? expected[at + 1] << 8 : 0);
        if (abs(a - b) > (wide ? 4 : 1))
          fail_msg("case %d, plane %d, byte %d of row %d: %d is not %d", number, plane, x, y, a, b);
      }
}

static int mix(const struct place *from, const struct mixture_part *of, const struct place *to,
               const struct mixture_part *at, float share, struct gpu_share *memory, struct error *err) {
  struct frame one = seen_there(from), other = seen_there(to);
  struct mixture mixture;
  mixture_set_up(&mixture, &one, of, &other, at, share);
  const struct gpu_mixing mixing = {&mixture, {NULL, NULL}, (size_t)(other.plane[1] - other.plane[0])};
  return gpu.impl->mix(&gpu, memory, &mixing, err);
}

static void one_case(int number) {
  struct place from, to;
  struct gpu_share *memory;
  struct error err = {0};
  struct mixture expected;
  enum pixel_format formats[] = {PIXEL_NV12, PIXEL_P010};
  open_place(&from, formats[random_below(2)], 1 + random_below(200), 1 + random_below(120), random_below(4));
  bool like = random_below(3) == 0; /* true: both frames have one size */
  open_place(&to, formats[random_below(2)], like ? from.frame.width : 1 + random_below(200),
             like ? from.frame.height : 1 + random_below(120), true);
  if (like)
    to.frame.matrix = from.frame.matrix, to.frame.range = from.frame.range;
  struct mixture_part of = some_part(&from.frame, like), at = some_part(&to.frame, like);
  float share = (float)random_below(257) / 256;
  uint8_t *got = malloc(to.bytes), *wanted = malloc(to.bytes);
  assert_true(got && wanted);
  if (gpu.impl->make_share(&gpu, to.bytes, &memory, &err) || mix(&from, &of, &to, &at, share, memory, &err))
    fail_msg("%s", err.message);
  assert_int_equal(cudaMemcpy(got, memory->memory, to.bytes, cudaMemcpyDeviceToHost), cudaSuccess);
  mixture_set_up(&expected, &from.frame, &of, &to.frame, &at, share);
  mixture_make(&expected, (uint8_t *const[]){wanted, wanted + (to.frame.plane[1] - to.frame.plane[0])});
  compare(&to.frame, got, wanted, number);
  gpu.impl->free_share(&gpu, memory);
  free(got);
  free(wanted);
  close_place(&from);
  close_place(&to);
}

static void test_random_mixtures(void **state) {
  (void)state;
  for (int number = 0; number < CASES; number++)
    one_case(number);
}

/* --- times --- */

static void time_mixture(const char *what, enum pixel_format format, int from_size, int to_size, bool on_device) {
  enum { TIMES = 200 };
  struct place from, to;
  struct gpu_share *memory;
  struct error err = {0};
  open_place(&from, format, from_size, from_size * 9 / 16, on_device);
  open_place(&to, format, to_size, to_size * 9 / 16, true);
  struct mixture_part of = some_part(&from.frame, true), at = some_part(&to.frame, true);
  if (gpu.impl->make_share(&gpu, to.bytes, &memory, &err))
    fail_msg("%s", err.message);
  int64_t begun_ns = 0;
  for (int i = -10; i < TIMES; i++) {
    if (i == 0)
      begun_ns = platform_now_ns();
    if (mix(&from, &of, &to, &at, 0.5f, memory, &err))
      fail_msg("%s", err.message);
  }
  printf("%-52s %7.1f us\n", what, (double)(platform_now_ns() - begun_ns) / 1000 / TIMES);
  gpu.impl->free_share(&gpu, memory);
  close_place(&from);
  close_place(&to);
}

static int time_all(void) {
  time_mixture("nv12 1920x1080", PIXEL_NV12, 1920, 1920, true);
  time_mixture("nv12 3840x2160", PIXEL_NV12, 3840, 3840, true);
  time_mixture("p010 3840x2160", PIXEL_P010, 3840, 3840, true);
  time_mixture("nv12 3840x2160 into 1920x1080", PIXEL_NV12, 3840, 1920, true);
  time_mixture("nv12 1920x1080 of the host's memory", PIXEL_NV12, 1920, 1920, false);
  return 0;
}

int main(int count, char **args) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_mixtures)};
  (void)args;
  if (!devices_find_gpu("cuda", &gpu)) {
    printf("skipped: there is no GPU\n");
    return SKIPPED;
  }
  return count > 1 ? time_all() : cmocka_run_group_tests(tests, NULL, NULL);
}
