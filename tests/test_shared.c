/* Tests an engine's pictures in a window on SDL's offscreen driver: OpenGL draws exactly their bits, whether it reads
 * them in GPU memory or they are copied through the host. If OpenGL draws on the same GPU, every picture must be read
 * in its memory.
 *
 *   test_shared GOLDENS DEVICE       skipped where there is no such device, or no OpenGL; and where OpenGL cannot
 *                                    read that GPU's memory, after the copied pictures were tested */
#include <epoxy/gl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/rig.h"

#include "app/window/import_gl.h"
#include "app/window/present.h"
#include "app/window/window.h"

enum { SKIPPED = 77, WIDTH = 256, HEIGHT = 256, PICTURES = 100 };

static char **args; /* arguments of the test program */
static struct gpu gpu;
static bool shares; /* true: OpenGL is expected to read GPU memory */

static void open_engine(struct rig *rig) {
  *rig = (struct rig){.controls = CONTROLS_DEFAULTS};
  if (golden_open(&rig->golden, args[1], "turbo") < 0)
    fail_msg("%s", rig->golden.missing);
  struct engine_params params = default_params(&rig->golden, args[2]);
  params.device.shares_pictures = true;
  const struct engine_shape shape = default_shape(&rig->golden);
  must(rig_engine(rig, &params, &shape), &rig->err);
}

/* Makes a picture with seed i, which may stay on the device. */
static struct frame make_picture(struct rig *rig, int i) {
  struct engine_result made;
  rig->controls.seed = (uint64_t)i;
  struct engine_request request = {.prepared = rig->prepared,
                                   .controls = &rig->controls,
                                   .frame = &rig->golden.frame,
                                   .identity = frame_identity(&rig->golden.frame),
                                   .on_device = true};
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  must(engine_collect(rig->engine, &made, &rig->err), &rig->err);
  return made.picture;
}

static bool is_drawn(struct present *present, const struct frame *picture) {
  static uint8_t drawn[HEIGHT * WIDTH * 4];
  struct present_view view = {.width = picture->width, .height = picture->height};
  size_t row = 4 * (size_t)picture->width;
  bool same = true;
  present_draw(present, &view);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, picture->width, picture->height, GL_RGBA, GL_UNSIGNED_BYTE, drawn);
  must(frame_wait(picture, MEMORY_HOST, NULL), NULL);
  for (int y = 0; y < picture->height; y++)
    same = same && !memcmp(drawn + (size_t)(picture->height - 1 - y) * row,
                           picture->plane[0] + (size_t)y * (size_t)picture->pitch[0], row);
  return same;
}

/* Draws pictures of an engine, and of a second engine, whose pictures are at other addresses. */
static void test_drawn_to_the_bit(void **state) {
  struct present *present = *state;
  for (int engine = 0; engine < 2; engine++) {
    struct rig rig;
    open_engine(&rig);
    struct present_counts before = present_count(present);
    assert_true(rig.golden.frame.width <= WIDTH && rig.golden.frame.height <= HEIGHT);
    for (int i = 0; i < PICTURES; i++) {
      struct frame picture = make_picture(&rig, i);
      present_picture(present, &picture);
      if (!is_drawn(present, &picture))
        fail_msg("picture %d is not what is drawn (%s)", i, shares ? "shared" : "uploaded");
      frame_release(&picture);
    }
    struct present_counts after = present_count(present);
    fprintf(stderr, "%s: %ld pictures shared, %ld uploaded\n", info_of(&rig).device, after.shared - before.shared,
            after.uploaded - before.uploaded);
    assert_int_equal(after.shared - before.shared, shares ? PICTURES : 0);
    assert_int_equal(after.uploaded - before.uploaded, shares ? 0 : PICTURES);
    rig_close(&rig);
  }
}

/* --- copies of pictures in memory that is shared with OpenGL, as for decoded frames --- */

struct copy {
  struct picture base;
  struct gpu_share *share;
};

static int make_copy(void *opaque, struct picture *picture, struct error *err) {
  const struct frame *from = opaque;
  struct copy *copy = (struct copy *)picture;
  size_t bytes = (size_t)from->pitch[0] * (size_t)from->height;
  if (gpu.impl->make_share(&gpu, bytes, &copy->share, err) || gpu.impl->fill_share(&gpu, copy->share, from, err) ||
      gpu.impl->wait_share(&gpu, copy->share, err))
    return -1;
  picture->template = *from;
  picture->memory = MEMORY_SHARED;
  picture->gpu = gpu.id;
  picture->share = copy->share->descriptor;
  picture->share_bytes = copy->share->bytes;
  picture->device_plane[0] = from->picture->device_plane[0];
  return 0;
}

static void destroy_copy(struct picture *picture) {
  gpu.impl->free_share(&gpu, ((struct copy *)picture)->share);
}

static const struct picture_owner copies = {.bytes = sizeof(struct copy), .make = make_copy, .destroy = destroy_copy};

/* Draws source frames without a picture yet, whose pictures are in other memory. */
static void test_copies_drawn_to_the_bit(void **state) {
  struct rig rig;
  struct error err;
  (void)state;
  if (!shares)
    return;
  open_engine(&rig);
  for (int i = 0; i < 8; i++) {
    struct present *present;
    struct picture_pool *pool;
    struct frame picture = make_picture(&rig, i), frame;
    must(present_open(&present, &import_gl, NULL, NULL, &err), &err);
    must(picture_pool_open(&pool, &copies, &picture, 0, 0, &err), &err);
    assert_int_equal(picture_pool_take(pool, &frame, &err), 1);
    present_input(present, &frame, 1);
    if (!is_drawn(present, &picture))
      fail_msg("the copy of picture %d is not what is drawn", i);
    assert_true(present_count(present).bytes == 0);
    frame_release(&frame);
    frame_release(&picture);
    present_close(&present);
    picture_pool_close(&pool);
  }
  rig_close(&rig);
}

/* Returns why OpenGL cannot read this GPU's memory; NULL: it can. */
static const char *find_lack(const struct gpu_id *id) {
  struct gpu_id own = {0};
  if (!epoxy_has_gl_extension("GL_EXT_memory_object_fd"))
    return "imports no memory (GL_EXT_memory_object_fd)";
  glGetUnsignedBytei_vEXT(GL_DEVICE_UUID_EXT, 0, own.uuid);
  return gpu_same(&own, id) ? NULL : "draws on another GPU";
}

static int open_window(struct window **window, struct present **present) {
  struct error err = {0};
  const struct window_params params = {.title = "test", .width = WIDTH, .height = HEIGHT};
  setenv("SDL_VIDEODRIVER", "offscreen", 1);
  if (window_create(window, NULL, false, &err) || window_open(*window, &params, &err) ||
      present_open(present, &import_gl, NULL, NULL, &err)) {
    fprintf(stderr, "skipped: %s\n", err.message);
    return -1;
  }
  return 0;
}

int main(int argc, char **argv) {
  struct window *window = NULL;
  struct present *present = NULL;
  if (argc != 3)
    return 2;
  args = argv;
  int failed = SKIPPED;
  if (golden_has_device(argv[1], "turbo", argv[2]) && !open_window(&window, &present)) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_drawn_to_the_bit, present),
                                       cmocka_unit_test(test_copies_drawn_to_the_bit)};
    bool has_gpu = devices_find_gpu(argv[2], &gpu);
    const char *lack = has_gpu ? find_lack(&gpu.id) : NULL;
    shares = has_gpu && !lack;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (lack && !failed) {
      printf("skipped: OpenGL (%s) %s\n", (const char *)glGetString(GL_RENDERER), lack);
      failed = SKIPPED;
    }
  }
  present_close(&present);
  window_close(&window);
  return failed;
}
