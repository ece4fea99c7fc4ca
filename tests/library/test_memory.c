/* Frames and pictures in CUDA memory where no GPU computes: what is refused, and what of it works with the host's
 * memory. test_cuda.c has the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <reverie.h>

enum { SIDE = 64, PITCH = 4 * SIDE };

static uint8_t pixels[SIDE][PITCH];

static struct reverie_frame a_frame(void) {
  return (struct reverie_frame){.size = sizeof(struct reverie_frame),
                                .format = REVERIE_RGBA,
                                .width = SIDE,
                                .height = SIDE,
                                .plane = {pixels},
                                .pitch = {PITCH}};
}

static bool refused(int returned, const struct reverie_error *error, int status, const char *words) {
  if (returned == status && error->status == status && strstr(error->message, words) && !strchr(error->message, '\n'))
    return true;
  print_message("status %d and \"%s\" instead of %d and \"%s\"\n", returned, error->message, status, words);
  return false;
}

static struct reverie *made(struct reverie_config config) {
  struct reverie *reverie;
  struct reverie_error error = {.size = sizeof error};
  config.size = sizeof config;
  config.device = "cpu";
  if (reverie_create(&reverie, &config, &error) || reverie_open(reverie, &error) ||
      reverie_prepare(reverie, SIDE, SIDE, &error))
    fail_msg("%s", error.message);
  return reverie;
}

static struct reverie_picture picture_of(struct reverie *reverie) {
  struct reverie_frame frame = a_frame();
  struct reverie_picture picture = {.size = sizeof picture};
  assert_int_equal(reverie_submit(reverie, &frame, NULL), 0);
  assert_int_equal(reverie_collect(reverie, &picture, NULL), 0);
  return picture;
}

static void pictures_need_a_gpu(void **state) {
  (void)state;
  struct reverie *reverie;
  struct reverie_error error = {.size = sizeof error};
  struct reverie_config config = {.size = sizeof config, .device = "cpu", .memory = REVERIE_CUDA};
  assert_int_equal(reverie_create(&reverie, &config, NULL), 0);
  assert_true(refused(reverie_open(reverie, &error), &error, REVERIE_DEVICE, "pictures in CUDA memory: the model was"));
  assert_true(refused(reverie_open(reverie, &error), &error, REVERIE_DEVICE, "not on a GPU"));
  reverie_destroy(&reverie);
  config.memory = 7;
  assert_true(refused(reverie_create(&reverie, &config, &error), &error, REVERIE_USAGE, "memory 7"));
  config = (struct reverie_config){.size = sizeof config, .flags = REVERIE_EARLY};
  assert_true(refused(reverie_create(&reverie, &config, &error), &error, REVERIE_USAGE, "reverie_config.memory"));
  config = (struct reverie_config){.size = sizeof config, .shares = 1};
  assert_true(refused(reverie_create(&reverie, &config, &error), &error, REVERIE_USAGE, "reverie_config.memory"));
  config = (struct reverie_config){.size = sizeof config, .pictures = INT32_MAX};
  assert_true(refused(reverie_create(&reverie, &config, &error), &error, REVERIE_USAGE, "2147483647 pictures"));
  /* a program of the first version, whose struct ends before the field, has pictures in the host's memory */
  config = (struct reverie_config){.size = offsetof(struct reverie_config, memory), .memory = 7, .shares = 7};
  assert_int_equal(reverie_create(&reverie, &config, NULL), 0);
  reverie_destroy(&reverie);
}

static void frames_need_a_gpu(void **state) {
  struct reverie *reverie = *state;
  struct reverie_error error = {.size = sizeof error};
  struct reverie_frame frame = a_frame(), plain = a_frame();
  frame.memory = REVERIE_CUDA;
  assert_true(
      refused(reverie_submit(reverie, &frame, &error), &error, REVERIE_INPUT, "the engine computes on the CPU"));
  plain.control = &frame;
  assert_true(refused(reverie_submit(reverie, &plain, &error), &error, REVERIE_INPUT, "the second source: a frame in"));
  assert_true(refused(reverie_set_mask(reverie, &frame, 0, &error), &error, REVERIE_INPUT, "the host's memory"));
  frame.memory = 2;
  assert_true(refused(reverie_submit(reverie, &frame, &error), &error, REVERIE_INPUT, "memory 2"));
  frame.size = offsetof(struct reverie_frame, memory);
  assert_int_equal(reverie_submit(reverie, &frame, NULL), 0);
  struct reverie_picture picture = {.size = sizeof picture};
  assert_int_equal(reverie_collect(reverie, &picture, NULL), 0);
  reverie_release(&picture);
}

static void pictures_are_the_hosts(void **state) {
  struct reverie *reverie = *state;
  struct reverie_error error = {.size = sizeof error};
  struct reverie_info info = {.size = sizeof info};
  struct reverie_picture picture = picture_of(reverie), second = picture_of(reverie), none = {.size = sizeof none};
  int stream, descriptor = 3;
  size_t bytes = 3;
  assert_true(picture.memory == REVERIE_HOST && !picture.ready && picture.number && picture.number != second.number);
  assert_true(refused(reverie_wait_on(&picture, &stream, &error), &error, REVERIE_USAGE, "no stream reads it"));
  assert_true(
      refused(reverie_export(&picture, &descriptor, &bytes, &error), &error, REVERIE_USAGE, "it is the host's"));
  assert_true(descriptor == -1 && bytes == 0);
  assert_true(refused(reverie_release_on(&picture, &stream, &error), &error, REVERIE_USAGE, "no stream reads it"));
  assert_null(picture.plane[0]);
  assert_true(refused(reverie_wait_on(&none, &stream, &error), &error, REVERIE_USAGE, "no picture"));
  assert_true(refused(reverie_release_on(&none, &stream, &error), &error, REVERIE_USAGE, "no picture"));
  uint64_t number = second.number;
  reverie_release(&second);
  second = picture_of(reverie);
  assert_int_equal(second.number, number); /* the same memory again */
  reverie_release(&second);
  assert_int_equal(reverie_get_info(reverie, &info, NULL), 0);
  assert_true(info.gpu == -1 && !info.stream && !info.gpu_uuid[0] && !info.unused);
}

/* A program of the first version, whose struct of a picture ends before the fields for CUDA memory. */
static void shorter_structs_are_left(void **state) {
  struct reverie *reverie = *state;
  struct reverie_frame frame = a_frame();
  struct reverie_picture picture;
  memset(&picture, 0x5a, sizeof picture);
  picture.size = offsetof(struct reverie_picture, memory);
  assert_int_equal(reverie_submit(reverie, &frame, NULL), 0);
  assert_int_equal(reverie_collect(reverie, &picture, NULL), 0);
  reverie_release(&picture);
  assert_null(picture.plane[0]);
  for (size_t i = picture.size; i < sizeof picture; i++)
    assert_int_equal(((const uint8_t *)&picture)[i], 0x5a);
}

/* The two forms of DLPack's tensors, as its header has them. */
struct tensor {
  void *data;
  int32_t device, number, axes;
  uint8_t type, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
};

struct plain {
  struct tensor tensor;
  void *owner;
  void (*deleter)(struct plain *);
};

struct versioned {
  uint32_t major, minor;
  void *owner;
  void (*deleter)(struct versioned *);
  uint64_t flags;
  struct tensor tensor;
};

static void assert_tensor(const struct tensor *tensor, const struct reverie_picture *picture) {
  assert_true(tensor->data == picture->plane[0] && tensor->offset == 0);
  assert_true(tensor->device == 1 && tensor->number == 0);
  assert_true(tensor->type == 1 && tensor->bits == 8 && tensor->lanes == 1 && tensor->axes == 3);
  assert_true(tensor->shape[0] == SIDE && tensor->shape[1] == SIDE && tensor->shape[2] == 4);
  assert_true(tensor->strides[0] == picture->pitch[0] && tensor->strides[1] == 4 && tensor->strides[2] == 1);
}

/* A tensor has its own part in the memory, whichever is released first, also when the engine is gone. */
static void pictures_are_tensors(void **state) {
  (void)state;
  struct reverie *reverie = made((struct reverie_config){.pictures = 2});
  struct reverie_error error = {.size = sizeof error};
  struct reverie_picture picture = picture_of(reverie), other = picture_of(reverie);
  uint8_t before[PITCH];
  void *first, *second;
  assert_int_equal(reverie_to_dlpack(&picture, 0, NULL, &first, NULL), 0);
  assert_int_equal(reverie_to_dlpack(&picture, 1, NULL, &second, NULL), 0);
  struct plain *plain = first;
  struct versioned *versioned = second;
  assert_tensor(&plain->tensor, &picture);
  assert_tensor(&versioned->tensor, &picture);
  assert_true(versioned->major == 1 && versioned->minor == 0 && versioned->flags == 0);
  memcpy(before, picture.plane[0], sizeof before);
  plain->deleter(plain);
  reverie_release(&picture);
  reverie_release(&other);
  for (int i = 0; i < 3; i++) { /* the tensor's memory is not written */
    pixels[0][0] ^= 255;
    struct reverie_picture next = picture_of(reverie);
    assert_true(next.plane[0] != versioned->tensor.data);
    reverie_release(&next);
  }
  reverie_destroy(&reverie);
  assert_memory_equal(versioned->tensor.data, before, sizeof before);
  versioned->deleter(versioned);
  assert_true(refused(reverie_to_dlpack(&picture, 0, NULL, &first, &error), &error, REVERIE_USAGE, "no picture"));
  assert_null(first);
}

static void planes_are_no_tensor(void **state) {
  (void)state;
  struct reverie *reverie = made((struct reverie_config){.format = REVERIE_NV12});
  struct reverie_error error = {.size = sizeof error};
  struct reverie_picture picture = picture_of(reverie);
  void *tensor;
  assert_true(refused(reverie_to_dlpack(&picture, 0, NULL, &tensor, &error), &error, REVERIE_USAGE, "several planes"));
  reverie_release(&picture);
  reverie_destroy(&reverie);
}

static int set_up(void **state) {
  for (int i = 0; i < SIDE * PITCH; i++)
    ((uint8_t *)pixels)[i] = (uint8_t)(i * 7 + i / 256);
  *state = made((struct reverie_config){.pictures = 2});
  return 0;
}

static int tear_down(void **state) {
  reverie_destroy((struct reverie **)state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pictures_need_a_gpu),    cmocka_unit_test(frames_need_a_gpu),
      cmocka_unit_test(pictures_are_the_hosts), cmocka_unit_test(shorter_structs_are_left),
      cmocka_unit_test(pictures_are_tensors),   cmocka_unit_test(planes_are_no_tensor),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
