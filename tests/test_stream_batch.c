/* Tests that a stream batch (frames at different steps in one run) makes the same picture of each frame as a run for it
 * alone, some frames later.
 *
 *   test_stream_batch GOLDENS DEVICE     skipped where there is no such device */
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/played_gpu.h"
#include "tests/rigs/rig.h"
#include "unet/engine/engine_impl.h"

enum { FRAMES = 7 };

static char **args;

struct batch_case {
  const char *model;
  enum guidance_mode guidance;
  int steps;
  bool text_to_image;
};

/* Pixels of each frame, and controls that belong to it. */
struct frames {
  struct frame frame[FRAMES];
  struct controls controls[FRAMES];
};

static void make_frames(const struct rig *rig, struct frames *frames) {
  const struct frame *input = &rig->golden.frame;
  size_t bytes = picture_bytes(rig);
  for (int i = 0; i < FRAMES; i++) {
    uint8_t *pixels = malloc(bytes);
    for (size_t at = 0; at < bytes; at++)
      pixels[at] = at % 4 == 3 ? 255 : (uint8_t)(input->plane[0][(at + 4 * 5 * (size_t)i) % bytes] * (i + 3) / 10);
    frames->frame[i] = *input;
    frames->frame[i].plane[0] = pixels;
    frames->frame[i].pts = 100 + i;
    frames->frame[i].serial = (uint64_t)i;
    frames->controls[i] = rig->controls;
    frames->controls[i].strength = i < 3 ? 0.6f : 0.9f;
    frames->controls[i].mix = i == 4 ? 0.5f : 1;
  }
}

static void free_frames(struct frames *frames) {
  for (int i = 0; i < FRAMES; i++)
    free((void *)(uintptr_t)frames->frame[i].plane[0]);
}

static void prepare(struct rig *rig, const struct batch_case *c, bool stream_batch) {
  struct engine_shape shape = default_shape(&rig->golden);
  shape.steps = c->steps;
  shape.guidance = c->guidance;
  shape.text_to_image = c->text_to_image;
  shape.stream_batch = stream_batch;
  engine_release(rig->engine, &rig->prepared);
  must(engine_prepare(rig->engine, &shape, &rig->prepared, &rig->err), &rig->err);
}

/* Sets a mask for an inpainting model, a different one for each frame. */
static void set_mask(struct rig *rig, const struct batch_case *c, int number) {
  if (strcmp(c->model, "inpaint"))
    return;
  struct frame mask = rig->golden.frame;
  uint8_t *pixels = malloc(picture_bytes(rig));
  for (size_t at = 0; at < picture_bytes(rig); at++)
    pixels[at] = at / 4 % (size_t)mask.width > (size_t)(8 * number) ? 255 : 0;
  mask.plane[0] = pixels;
  must(engine_set_mask(rig->engine, &mask, MASK_WHITE, &rig->err), &rig->err);
  free(pixels);
}

/* Makes a run with frame `number`; -1: with none, to drain the batch. */
static struct engine_result run(struct rig *rig, const struct batch_case *c, struct frames *frames, int number) {
  struct engine_request request = {.prepared = rig->prepared, .drain = number < 0, .controls = &frames->controls[0]};
  struct engine_result made;
  if (number >= 0) {
    set_mask(rig, c, number);
    request.controls = &frames->controls[number];
    request.frame = &frames->frame[number];
    request.identity = frame_identity(request.frame);
    request.opaque = &frames->frame[number];
  }
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  must(engine_collect(rig->engine, &made, &rig->err), &rig->err);
  return made;
}

static void release(struct engine_result made) {
  frame_release(&made.picture);
}

/* Checks that the picture of frame `number` came. */
static void expect(const struct engine_result *made, const struct frames *frames, int number,
                   const struct frame *alone) {
  assert_false(made->pending);
  assert_ptr_equal(made->opaque, &frames->frame[number]);
  assert_int_equal(made->picture.pts, 100 + number);
  assert_int_equal(made->picture.serial, number);
  double db = frame_psnr(&made->picture, alone), bound = !strcmp(args[2], "cpu:plain") ? 99
                                                         : strcmp(args[2], "cuda")     ? 60
                                                                                       : 40;
  if (!(db >= bound))
    fail_msg("frame %d is %.1f dB from what it is alone", number, db);
}

/* Opens an engine with enough pictures to keep all that frames have alone. */
static void open_engine(struct rig *rig, const char *model) {
  rig_open(rig, args, model, false);
  engine_close(&rig->engine);
  struct engine_params params = default_params(&rig->golden, args[2]);
  const struct engine_shape shape = default_shape(&rig->golden);
  params.device.pictures = FRAMES + 1;
  must(rig_engine(rig, &params, &shape), &rig->err);
  must(engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err), &rig->err);
  must(engine_set_prompt(rig->engine, SLOT_NEGATIVE, "a cat at night", &rig->err), &rig->err);
}

static void check_case(const struct batch_case *c) {
  struct rig rig;
  struct frames frames;
  struct frame alone[FRAMES];
  open_engine(&rig, c->model);
  rig.controls.guidance = 2;
  rig.controls.guidance_rescale = 0.3f;
  make_frames(&rig, &frames);
  prepare(&rig, c, false);
  for (int i = 0; i < FRAMES; i++)
    alone[i] = run(&rig, c, &frames, i).picture;
  assert_true(c->text_to_image || frame_psnr(&alone[2], &alone[3]) < 60);
  prepare(&rig, c, true);
  struct prepared_info info;
  prepared_get_info(rig.prepared, &info);
  int behind = info.frames_behind;
  assert_int_equal(behind, c->steps - 1);
  for (int round = 0; round < 2; round++) { /* the second round begins with what the first one left in the batch */
    int submitted = 0, drained = 0;
    for (int picture = -behind; picture < FRAMES; picture++) {
      bool drain = submitted == FRAMES;
      assert_int_equal(engine_under_way(rig.prepared), submitted < behind ? submitted : behind - drained);
      struct engine_result made = run(&rig, c, &frames, drain ? -1 : submitted);
      drained += drain;
      submitted += !drain;
      if (picture < 0)
        assert_true(made.pending && !made.picture.plane[0] && !made.opaque);
      else
        expect(&made, &frames, picture, &alone[picture]);
      frame_release(&made.picture);
    }
    assert_int_equal(engine_under_way(rig.prepared), 0);
  }
  for (int i = 0; i < FRAMES; i++)
    frame_release(&alone[i]);
  free_frames(&frames);
  rig_close(&rig);
}

static void pictures_are_those_of_frames_alone(void **state) {
  (void)state;
  static const struct batch_case cases[] = {
      {"turbo", GUIDANCE_NONE, 2, false},     {"turbo", GUIDANCE_SELF, 4, false},
      {"turbo", GUIDANCE_ONE_TIME, 3, false}, {"turbo", GUIDANCE_FULL, 2, false},
      {"merged", GUIDANCE_NONE, 4, false},    {"merged", GUIDANCE_ONE_TIME, 2, true},
      {"merged", GUIDANCE_SELF, 3, true},     {"sdxl", GUIDANCE_FULL, 3, false},
      {"sdxl", GUIDANCE_ONE_TIME, 2, false},  {"pix2pix", GUIDANCE_FULL, 2, false},
      {"inpaint", GUIDANCE_FULL, 2, false},   {"sd21", GUIDANCE_SELF, 2, false},
      {"inpaint", GUIDANCE_NONE, 3, false},   {"turbo", GUIDANCE_NONE, 1, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    print_message("  %s, guidance mode %d, %d steps\n", cases[i].model, cases[i].guidance, cases[i].steps);
    check_case(&cases[i]);
  }
}

/* A still picture stays the same in consecutive frames, and nothing is captured or allocated meanwhile. */
static void steady_batches_capture_nothing(void **state) {
  (void)state;
  const struct batch_case c = {"turbo", GUIDANCE_ONE_TIME, 3, false};
  struct rig rig;
  struct frames frames;
  struct engine_info before, after;
  rig_open(&rig, args, c.model, false);
  rig.controls.guidance = 2;
  make_frames(&rig, &frames);
  prepare(&rig, &c, true);
  for (int i = 0; i < 3; i++)
    release(run(&rig, &c, &frames, 0));
  engine_get_info(rig.engine, &before);
  struct frame first = run(&rig, &c, &frames, 0).picture;
  for (int i = 0; i < 4; i++) {
    frames.controls[0].guidance_rescale = 0.1f * (float)(i % 2);
    struct engine_result made = run(&rig, &c, &frames, 0);
    if (i == 0)
      assert_true(frame_psnr(&first, &made.picture) == 99);
    frame_release(&made.picture);
  }
  engine_get_info(rig.engine, &after);
  assert_int_equal(after.device_captures, before.device_captures);
  assert_int_equal(after.device_allocations, before.device_allocations);
  frame_release(&first);
  free_frames(&frames);
  rig_close(&rig);
}

/* A frame that the device reads later is released when its own run is collected, which is some steps before its picture
 * comes, and when the handle is released with runs in flight. The CPU simulates such a device. */
static void frames_go_back_with_their_runs(void **state) {
  (void)state;
  const struct batch_case c = {"turbo", GUIDANCE_NONE, 3, false};
  struct rig rig;
  struct host_pictures pictures = {.pool = NULL};
  struct frame frame;
  rig_open(&rig, args, c.model, false);
  if (!devices_find_gpu(args[2], &pictures.gpu)) {
    pictures.gpu.impl = &played_gpu;
    rig.engine->device->gpu.uuid[0] = 1;
  }
  prepare(&rig, &c, true);
  must(host_pictures_copy(&pictures, &rig.golden.frame, &frame, &rig.err), &rig.err);
  const struct engine_request request = {.prepared = rig.prepared, .controls = &rig.controls, .frame = &frame};
  struct engine_result made;
  must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
  must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
  for (int left = 1; left >= 0; left--) {
    assert_int_equal(frame.picture->holds, 2 + left);
    must(engine_collect(rig.engine, &made, &rig.err), &rig.err);
    assert_true(made.pending);
  }
  assert_int_equal(frame.picture->holds, 1);
  must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
  assert_int_equal(frame.picture->holds, 2);
  engine_release(rig.engine, &rig.prepared);
  assert_int_equal(frame.picture->holds, 1);
  frame_release(&frame);
  host_pictures_free(&pictures);
  rig_close(&rig);
}

static void too_many_steps_are_refused(void **state) {
  (void)state;
  struct rig rig;
  struct prepared *prepared;
  rig_open(&rig, args, "turbo", false);
  struct engine_shape shape = default_shape(&rig.golden);
  shape.steps = STREAM_BATCH_MAX + 1;
  shape.stream_batch = true;
  assert_int_equal(engine_prepare(rig.engine, &shape, &prepared, &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "at most 8");
  rig_close(&rig);
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pictures_are_those_of_frames_alone), cmocka_unit_test(steady_batches_capture_nothing),
      cmocka_unit_test(frames_go_back_with_their_runs), cmocka_unit_test(too_many_steps_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
