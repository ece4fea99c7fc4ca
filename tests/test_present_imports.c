/* Tests drawing of pictures that OpenGL reads in a GPU's memory: the result is the same, and nothing is copied. */
#include "tests/rigs/cmocka_all.h"

#include <epoxy/gl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "app/window/import.h"
#include "tests/rigs/present_rig.h"

static int pictures_opened, fences_made;
static bool passes;

static bool suits(void *opaque, const struct gpu_id *gpu) {
  (void)opaque;
  return gpu->uuid[0] == 7;
}

/* Opens an import whose pixels are those of the memory itself. */
static int open_memory(void *opaque, int share, size_t bytes, struct imported *imported, struct error *err) {
  (void)opaque;
  (void)err;
  void *memory = mmap(NULL, bytes, PROT_READ, MAP_SHARED, share, 0);
  assert_true(memory != MAP_FAILED);
  glGenBuffers(1, &imported->buffer);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, imported->buffer);
  glBufferData(GL_PIXEL_UNPACK_BUFFER, (GLsizeiptr)bytes, memory, GL_STREAM_DRAW);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  munmap(memory, bytes);
  pictures_opened++;
  return 0;
}

static void close_memory(void *opaque, const struct imported *imported) {
  (void)opaque;
  glDeleteBuffers(1, &imported->buffer);
  pictures_opened--;
}

static void renew(void *opaque) {
  (void)opaque;
}

static void *make_fence(void *opaque) {
  fences_made++;
  return opaque;
}

static bool has_passed(void *opaque, void *fence) {
  (void)opaque;
  (void)fence;
  return passes;
}

static void free_fence(void *opaque, void *fence) {
  (void)opaque;
  (void)fence;
  fences_made--;
}

static const struct import_impl memory_impl = {suits,      open_memory, close_memory, renew,
                                               make_fence, has_passed,  free_fence};

/* Moves the pixels to device memory, and makes the host's memory black. */
static void move_away(struct frame *picture) {
  size_t bytes = 0;
  uint8_t *pixels = frame_plane(picture, 0);
  for (int plane = 0; plane < frame_planes(picture->format); plane++) {
    picture->picture->device_plane[plane] = frame_plane(picture, plane);
    bytes = (size_t)(picture->plane[plane] - pixels) +
            (size_t)picture->pitch[plane] * (size_t)frame_rows(picture->format, plane, picture->height);
  }
  picture->picture->share = memfd_create("picture", 0);
  assert_int_equal(write(picture->picture->share, pixels, bytes), bytes);
  picture->picture->share_bytes = bytes;
  picture->picture->memory |= MEMORY_DEVICE | MEMORY_SHARED;
  picture->picture->gpu.uuid[0] = 7;
  memset(pixels, 0, bytes);
}

static void come_back(struct frame *picture) {
  close(picture->picture->share);
  picture->picture->share = -1;
  picture->picture->memory = MEMORY_HOST;
  frame_release(picture);
}

static void reads_pictures_where_they_lie(void **state) {
  (void)state;
  struct frame moved = {0}, same = {0};
  struct gpu_id gpu = {.uuid = {7}}, other = {.uuid = {8}};
  struct present_view view = plain_view();
  present_close(&present);
  assert_int_equal(present_open(&present, &memory_impl, &fences_made, NULL, NULL), 0);
  fill_random(&moved, PIXEL_RGBA, WIDTH, HEIGHT);
  fill_random(&same, PIXEL_RGBA, WIDTH, HEIGHT);
  move_away(&moved);
  passes = false;
  present_picture(present, &moved);
  draw(&view);
  for (int y = 0; y < HEIGHT; y++)
    for (int x = 0; x < WIDTH; x++)
      assert_memory_equal(shown[y][x], pixel_of(&same, x, y), 3);
  struct present_counts counts = present_count(present);
  assert_true(counts.shared == 1 && counts.uploaded == 0 && counts.bytes == 0);
  assert_true(present_shares(present, &gpu) && !present_shares(present, &other));
  assert_true(pictures_opened == 1 && fences_made == 1);
  passes = true;
  present_picture(present, &same);
  counts = present_count(present);
  assert_true(counts.uploaded == 1 && counts.bytes == 4 * WIDTH * HEIGHT && fences_made == 0);
  present_close(&present);
  assert_int_equal(pictures_opened, 0);
  assert_int_equal(present_open(&present, NULL, NULL, NULL, NULL), 0);
  assert_false(present_shares(present, &gpu));
  come_back(&moved);
  frame_release(&same);
}

/* Source frames next to the picture, whole or in part, are also read in device memory and not copied. */
static void reads_frames_where_they_lie(void **state) {
  (void)state;
  static canvas whole;
  struct present_view view = plain_view();
  view.fit = FIT_STRETCH;
  view.split = true;
  for (int format = 0; format < PIXEL_FORMATS; format++)
    for (int part = 0; part < 2; part++) {
      struct frame picture = {0}, here = {0}, moved = {0};
      present_close(&present);
      assert_int_equal(present_open(&present, &memory_impl, &fences_made, NULL, NULL), 0);
      passes = true;
      view.split_at = part ? 0.25f : 1;
      fill_random(&picture, PIXEL_RGBA, WIDTH, HEIGHT);
      fill_random(&here, (enum pixel_format)format, 162, HEIGHT - 1);
      fill_random(&moved, (enum pixel_format)format, 162, HEIGHT - 1);
      present_picture(present, &picture);
      present_input(present, &here, view.split_at);
      draw(&view);
      memcpy(whole, shown, sizeof whole);
      move_away(&moved);
      for (int again = 0; again < 2; again++) {
        /* a frame for which textures are allocated in the first round, and not in the second */
        struct frame dark = {0};
        fill_dark(&dark, (enum pixel_format)format, again ? 162 : 160, HEIGHT - 1);
        present_input(present, &dark, 1);
        frame_release(&dark);
        uint64_t bytes = present_count(present).bytes;
        present_input(present, &moved, view.split_at);
        present_source(present, &moved);
        draw(&view);
        assert_memory_equal(whole, shown, sizeof whole);
        assert_true(present_count(present).bytes == bytes);
      }
      assert_int_equal(pictures_opened, 1);
      present_picture(present, &picture);
      assert_int_equal(fences_made, 0);
      frame_release(&here);
      frame_release(&picture);
      present_close(&present);
      assert_int_equal(pictures_opened, 0);
      assert_int_equal(present_open(&present, NULL, NULL, NULL, NULL), 0);
      come_back(&moved);
    }
}

int main(void) {
#define CASE(function) cmocka_unit_test_setup_teardown(function, present_rig_open, present_rig_close)
  const struct CMUnitTest tests[] = {
      CASE(reads_pictures_where_they_lie),
      CASE(reads_frames_where_they_lie),
  };
  if (!present_rig_begin())
    return 77;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  present_rig_end();
  return failed;
}
