/* Tests controls: pictures compared with diffusers' pipelines with the same control networks, and what an engine does
 * with them.
 *
 *   test_controls GOLDENS DEVICE */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "tests/rigs/scratch.h"
#include "tests/rigs/single_file.h"
#include "unet/checkpoint/original.h"

static char **args; /* arguments of the test program: [1] folder of goldens, [2] device */

#define WEIGHTS "diffusion_pytorch_model.safetensors"

/* --- engines with controls --- */

/* The control networks of an engine. */
struct networks {
  struct engine_control list[CONTROLS_MAX];
  int count;
};

static void add_network(struct networks *networks, const char *folder, const char *name) {
  networks->list[networks->count++] = (struct engine_control){MAP_PICTURE, fixture_path(folder, name)};
}

static void free_networks(struct networks *networks) {
  for (int i = 0; i < networks->count; i++)
    free((char *)networks->list[i].model);
}

static struct golden open_golden(const char *name) {
  struct golden golden;
  if (golden_open(&golden, args[1], name) < 0)
    fail_msg("%s", golden.missing);
  return golden;
}

/* Opens an engine with the golden model `model` and these networks of golden "controls", whose input picture becomes
 * the rig's. */
static void open_rig(struct rig *rig, const char *model, struct networks *networks, const struct engine_shape *shape) {
  *rig = (struct rig){.golden = open_golden("controls"), .controls = CONTROLS_DEFAULTS};
  char *folder = fixture_path(args[1], model);
  struct engine_params params = default_params(&rig->golden, args[2]);
  params.model = folder;
  params.strength_diffusers = true;
  params.controls = networks->list;
  params.control_count = networks->count;
  must(rig_engine(rig, &params, shape), &rig->err);
  must(engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err), &rig->err);
  must(engine_set_prompt(rig->engine, 2, "a cat at night", &rig->err), &rig->err);
  free(folder);
}

static struct networks networks_of(const struct golden *golden, const char *const *names) {
  struct networks networks = {.count = 0};
  for (; *names; names++)
    add_network(&networks, golden->folder, *names);
  return networks;
}

/* Opens the model "turbo" with these networks, at the size of the goldens. */
static void open_turbo(struct rig *rig, const char *const *names, struct engine_shape shape) {
  struct golden golden = open_golden("controls");
  struct networks networks = networks_of(&golden, names);
  shape.width = golden.frame.width;
  shape.height = golden.frame.height;
  open_rig(rig, "turbo", &networks, &shape);
  free_networks(&networks);
  golden_close(&golden);
}

/* --- pictures --- */

/* Adds a copy of a network whose config says that its outputs are averaged over the picture (pooled). */
static void add_pooled(struct networks *networks, const char *folder, const char *name) {
  char from[600], to[600];
  size_t length;
  snprintf(from, sizeof from, "%s/%s/config.json", folder, name);
  snprintf(to, sizeof to, "%s/config.json", name);
  char *text = fixture_read(from, NULL);
  cJSON *json = cJSON_Parse(text);
  cJSON_DeleteItemFromObject(json, "global_pool_conditions");
  cJSON_AddBoolToObject(json, "global_pool_conditions", true);
  char *changed = cJSON_PrintUnformatted(json);
  fixture_text(scratch, to, changed);
  snprintf(from, sizeof from, "%s/%s/%s", folder, name, WEIGHTS);
  snprintf(to, sizeof to, "%s/%s", name, WEIGHTS);
  char *bytes = fixture_read(from, &length);
  fixture_write(scratch, to, bytes, length);
  add_network(networks, scratch, name);
  cJSON_free(changed);
  cJSON_Delete(json);
  free(bytes);
  free(text);
}

static void run_networks(const struct golden *golden, const cJSON *run, struct networks *networks,
                         struct controls *controls) {
  const cJSON *entry, *list = cJSON_GetObjectItemCaseSensitive(run, "controls");
  cJSON_ArrayForEach(entry, list) {
    struct control_values *values = &controls->control[networks->count];
    values->weight = (float)json_number(entry, "weight", 1);
    values->start = (float)json_number(entry, "start", 0);
    values->end = (float)json_number(entry, "end", 1);
    values->guess = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(run, "guess"));
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(run, "pooled")))
      add_pooled(networks, golden->folder, json_string(entry, "network", ""));
    else
      add_network(networks, golden->folder, json_string(entry, "network", ""));
  }
}

static double run_psnr(const struct golden *golden, const cJSON *run) {
  struct networks networks = {.count = 0};
  struct controls controls = CONTROLS_DEFAULTS;
  struct rig rig;
  struct frame picture;
  run_networks(golden, run, &networks, &controls);
  const struct engine_shape shape = {.width = golden->frame.width,
                                     .height = golden->frame.height,
                                     .steps = (int)json_number(run, "steps", 0),
                                     .text_to_image = !strcmp(json_string(run, "mode", ""), "text"),
                                     .controls = (1u << networks.count) - 1,
                                     .guidance = json_number(run, "guidance", 1) > 1};
  open_rig(&rig, json_string(run, "model", ""), &networks, &shape);
  must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, json_string(run, "negative", ""), &rig.err), &rig.err);
  controls.seed = (uint64_t)json_number(run, "seed", 0);
  controls.strength = (float)json_number(run, "strength", 1);
  controls.guidance = (float)json_number(run, "guidance", 1);
  rig.controls = controls;
  must(rig_submit(&rig, &golden->frame), &rig.err);
  must(rig_collect(&rig, &picture), &rig.err);
  struct values expected = golden_values(golden, "run.%s", json_string(run, "name", ""));
  double db = picture_psnr(&picture, &expected);
  frame_release(&picture);
  free(expected.data);
  rig_close(&rig);
  free_networks(&networks);
  return db;
}

static void test_pictures(void **state) {
  (void)state;
  struct golden golden = open_golden("controls");
  const cJSON *run, *runs = cJSON_GetObjectItemCaseSensitive(golden.json, "runs");
  assert_true(cJSON_GetArraySize(runs) > 0);
  cJSON_ArrayForEach(run, runs) {
    double db = run_psnr(&golden, run);
    print_message("  %s: %.1f dB\n", json_string(run, "name", ""), db);
    if (!(db >= (strcmp(args[2], "cuda") ? 60 : 40)))
      fail_msg("%s: %.1f dB", json_string(run, "name", ""), db);
  }
  golden_close(&golden);
}

/* --- how an engine uses controls --- */

static const char *const both[] = {"first", "second", NULL};

static const char *const first[] = {"first", NULL};

/* Replaces the rig's handle by one with other controls, or with a stream batch. */
static void reshape(struct rig *rig, unsigned controls, bool stream_batch) {
  struct prepared *prepared;
  struct prepared_info info;
  prepared_get_info(rig->prepared, &info);
  info.shape.controls = controls;
  info.shape.stream_batch = stream_batch;
  must(engine_prepare(rig->engine, &info.shape, &prepared, &rig->err), &rig->err);
  engine_release(rig->engine, &rig->prepared);
  rig->prepared = prepared;
}

/* With a control of weight 0, or one that the handle was not prepared for, the picture is the same in all bits as
 * without. */
static void test_off(void **state) {
  (void)state;
  struct rig rig;
  open_turbo(&rig, both, (struct engine_shape){.steps = 2});
  uint8_t *without = generate_default(&rig);
  reshape(&rig, 3, false);
  uint8_t *on = generate_default(&rig);
  rig.controls.control[0].weight = rig.controls.control[1].weight = 0;
  uint8_t *off = generate_default(&rig);
  assert_memory_equal(off, without, picture_bytes(&rig));
  assert_differ(&rig, on, without);
  rig.controls.control[1].weight = 1; /* on again, after another text and another frame */
  rig.controls.prompt = 2;
  on = generate_default(&rig);
  reshape(&rig, 2, false);
  assert_same(&rig, on, generate_default(&rig));
  free(off);
  rig_close(&rig);
}

static uint8_t *make(struct rig *rig, int bank, uint64_t seed, bool restart) {
  struct engine_result result;
  rig->controls.bank = bank;
  rig->controls.seed = seed;
  const struct engine_request request = {
      .prepared = rig->prepared, .controls = &rig->controls, .frame = &rig->golden.frame, .restart = restart};
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  must(engine_collect(rig->engine, &result, &rig->err), &rig->err);
  return picture_copy(&result.picture);
}

/* Makes the picture of a frame that follows another one, which the bank holds. */
static uint8_t *make_behind(struct rig *rig, int bank) {
  free(make(rig, bank, 1, true));
  return make(rig, bank, 2, false);
}

/* A bank (self-attention to earlier frames) works with controls: its first frame is plain, and a control also acts on a
 * frame that attends to another one. A ControlNet's own attention has no bank. */
static void test_bank(void **state) {
  (void)state;
  struct rig rig;
  struct prepared_info alone, beside;
  open_turbo(&rig, both, (struct engine_shape){.steps = 2, .bank_room = 1});
  prepared_get_info(rig.prepared, &alone);
  uint8_t *without = make_behind(&rig, 1);
  reshape(&rig, 3, false);
  prepared_get_info(rig.prepared, &beside);
  assert_true(alone.bank_bytes > 0 && beside.bank_bytes == alone.bank_bytes);
  uint8_t *plain = make_behind(&rig, 0), *banked = make_behind(&rig, 1), *first_of_all = make(&rig, 1, 2, true);
  assert_memory_equal(first_of_all, plain, picture_bytes(&rig));
  assert_memory_not_equal(banked, plain, picture_bytes(&rig));
  assert_memory_not_equal(banked, without, picture_bytes(&rig));
  rig.controls.control[0].weight = rig.controls.control[1].weight = 0;
  uint8_t *off = make_behind(&rig, 1);
  assert_memory_equal(off, without, picture_bytes(&rig));
  free(off);
  free(first_of_all);
  free(banked);
  free(plain);
  free(without);
  rig_close(&rig);
}

/* Controls that are on are computed again for every frame; one that was off for a while shows nothing old. */
static void test_live(void **state) {
  (void)state;
  struct rig rig;
  struct engine_info before, after;
  open_turbo(&rig, first, (struct engine_shape){.steps = 1, .controls = 1});
  uint8_t *whole = generate_default(&rig);
  engine_get_info(rig.engine, &before);
  static const struct control_values changes[] = {
      {0, 0, 1}, {0.5f, 0, 1}, {1, 0.25f, 1}, {1, 0, 0.5f}, {1, 0, 1, .guess = true}};
  uint8_t *last = NULL;
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    rig.controls.control[0] = changes[i];
    uint8_t *changed = generate_default(&rig);
    assert_memory_not_equal(changed, whole, picture_bytes(&rig));
    if (last)
      assert_memory_not_equal(changed, last, picture_bytes(&rig));
    free(last);
    last = changed;
  }
  free(last);
  rig.controls.control[0] = (struct control_values){.weight = 1, .end = 1};
  assert_same(&rig, generate_default(&rig), whole);
  engine_get_info(rig.engine, &after);
  assert_int_equal(after.device_captures, before.device_captures);
  assert_int_equal(after.device_allocations, before.device_allocations);
  rig_close(&rig);
}

/* Guess mode has an effect on ControlNets only, as in diffusers. */
static void test_adapters_do_not_guess(void **state) {
  (void)state;
  struct rig rig;
  open_turbo(&rig, (const char *const[]){"adapter", NULL}, (struct engine_shape){.steps = 1, .controls = 1});
  uint8_t *plain = generate_default(&rig);
  rig.controls.control[0] = (struct control_values){.weight = 1, .end = 1, .guess = true};
  assert_same(&rig, generate_default(&rig), plain);
  rig_close(&rig);
}

/* With one step, a control that is on for a part of the noise levels has that part of its weight; a weight of NaN
 * counts as 0. */
static void test_shares(void **state) {
  (void)state;
  struct rig rig;
  open_turbo(&rig, first, (struct engine_shape){.steps = 1, .controls = 1, .text_to_image = true});
  rig.controls.control[0] = (struct control_values){.weight = 0.5f, .end = 1};
  uint8_t *half = generate_default(&rig);
  rig.controls.control[0] = (struct control_values){.weight = 1, .start = 0.25f, .end = 0.75f};
  assert_same(&rig, generate_default(&rig), half);
  rig.controls.control[0] = (struct control_values){.weight = 1, .start = 0.75f, .end = 0.25f};
  uint8_t *none = generate_default(&rig);
  rig.controls.control[0] = (struct control_values){.weight = NAN, .start = NAN, .end = NAN};
  uint8_t *number = generate_default(&rig);
  reshape(&rig, 0, false);
  uint8_t *without = generate_default(&rig);
  assert_memory_equal(none, without, picture_bytes(&rig));
  assert_same(&rig, number, without);
  free(none);
  rig_close(&rig);
}

/* Each frame of a stream batch has its own map and weights. */
static void test_stream_batch(void **state) {
  (void)state;
  enum { FRAMES = 3, STEPS = 3 };
  static const float weights[FRAMES] = {1, 0, 0.5f};
  struct rig rig;
  uint8_t *alone[FRAMES], *mirrored;
  open_turbo(&rig, both, (struct engine_shape){.steps = STEPS, .controls = 3, .guidance = GUIDANCE_FULL});
  rig.controls.guidance = 3;
  size_t bytes = picture_bytes(&rig);
  assert_non_null(mirrored = malloc(bytes));
  for (size_t i = 0; i < bytes; i++)
    mirrored[i] = rig.golden.input[bytes - 4 - i / 4 * 4 + i % 4];
  struct frame other = rig.golden.frame;
  other.plane[0] = mirrored;
  for (int batch = 0; batch < 2; batch++) {
    reshape(&rig, 3, batch);
    for (int i = 0; i < FRAMES + batch * (STEPS - 1); i++) {
      struct frame picture;
      struct engine_request request = {.prepared = rig.prepared, .controls = &rig.controls, .drain = i >= FRAMES};
      request.frame = i % 2 ? &other : &rig.golden.frame;
      rig.controls.control[0].weight = weights[i % FRAMES];
      rig.controls.control[1].weight = 1 - weights[i % FRAMES];
      must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
      must(rig_collect(&rig, &picture), &rig.err);
      if (!batch) {
        alone[i] = picture_copy(&picture);
      } else if (i >= STEPS - 1) {
        struct frame expected = rig.golden.frame;
        expected.plane[0] = alone[i - STEPS + 1];
        double db = frame_psnr(&picture, &expected);
        frame_release(&picture);
        if (!(db >= 40))
          fail_msg("frame %d: %.1f dB", i - STEPS + 1, db);
      }
    }
  }
  for (int i = 0; i < FRAMES; i++)
    free(alone[i]);
  free(mirrored);
  rig_close(&rig);
}

/* A control that is added later is part of handles prepared from then on; older handles work as before. */
static void test_later(void **state) {
  (void)state;
  struct rig rig;
  open_turbo(&rig, first, (struct engine_shape){.steps = 2, .controls = 1});
  uint8_t *before = generate_default(&rig);
  struct networks networks = networks_of(&rig.golden, (const char *const[]){"second", "first", NULL});
  assert_int_equal(engine_open_control(rig.engine, 0, &networks.list[0], &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "open already");
  assert_int_equal(engine_open_control(rig.engine, CONTROLS_MAX, &networks.list[0], &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "at most 4");
  must(engine_open_control(rig.engine, 3, &networks.list[0], &rig.err), &rig.err);
  assert_same(&rig, generate_default(&rig), before);
  reshape(&rig, 1 | 8, false);
  uint8_t *with = generate_default(&rig);
  reshape(&rig, 8, false);
  assert_differ(&rig, with, generate_default(&rig));
  free_networks(&networks);
  struct prepared *prepared;
  struct engine_shape shape = default_shape(&rig.golden);
  shape.controls = 2;
  assert_int_equal(engine_prepare(rig.engine, &shape, &prepared, &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "control 2 is not open");
  rig_close(&rig);
}

/* In a smooth engine a frame shows a new text both in the network and in the control network, or in neither. */
static void test_texts(void **state) {
  (void)state;
  struct golden golden = open_golden("controls");
  struct rig rig, smooth = {.golden = golden, .controls = CONTROLS_DEFAULTS};
  struct networks networks = networks_of(&golden, both);
  struct engine_shape shape = default_shape(&golden);
  shape.steps = 2;
  shape.controls = 3;
  char *folder = fixture_path(args[1], "turbo");
  struct engine_params params = default_params(&golden, args[2]);
  params.model = folder;
  params.strength_diffusers = params.smooth = true;
  params.controls = networks.list;
  params.control_count = networks.count;
  must(rig_engine(&smooth, &params, &shape), &smooth.err);
  open_turbo(&rig, both, shape);
  for (int text = 1; text <= 2; text++) {
    char words[32];
    uint8_t *expected, *shown = NULL, *before = NULL;
    snprintf(words, sizeof words, "a cat %d", text);
    must(engine_set_prompt(rig.engine, 1, words, &rig.err), &rig.err);
    must(engine_set_prompt(smooth.engine, 1, words, &smooth.err), &smooth.err);
    expected = generate_default(&rig);
    for (int frame = 0; frame < 20 && (!shown || engine_is_behind(smooth.engine)); frame++) {
      free(before);
      before = shown;
      shown = generate_default(&smooth);
      if (before && engine_is_behind(smooth.engine))
        assert_memory_equal(shown, before, picture_bytes(&rig));
    }
    free(before);
    assert_same(&rig, shown, expected);
  }
  free_networks(&networks);
  free(folder);
  rig_close(&rig);
  rig_close(&smooth);
}

/* --- files --- */

/* Checks that translating a ControlNet's original tensor names gives each of diffusers' names. */
static void check_names(const struct golden *golden) {
  struct error err = {0};
  struct safetensors *files, *view, *folder;
  char *file = fixture_path(scratch, "net.safetensors"), *second = fixture_path(golden->folder, "second");
  single_file_write(golden, scratch, "net.safetensors", &(struct single_file_change){.only = "control_model."});
  must(safetensors_open_file(&files, file, &err), &err);
  must(safetensors_open(&folder, second, "diffusion_pytorch_model", &err), &err);
  must(view_open(&view, &files, 1, &err), &err);
  must(original_controlnet(view, files, "control_model.", &err), &err);
  must(view_finish(view, &err), &err);
  assert_int_equal(safetensors_count(view), safetensors_count(folder));
  for (size_t i = 0; i < safetensors_count(folder); i++)
    assert_string_equal(safetensors_at(view, i)->name, safetensors_at(folder, i)->name);
  safetensors_close(&view);
  safetensors_close(&files);
  safetensors_close(&folder);
  free(file);
  free(second);
}

static void check_refused(struct rig *rig, const char *folder, const char *name, const char *says) {
  struct networks networks = {.count = 0};
  add_network(&networks, folder, name);
  assert_int_equal(engine_open_control(rig->engine, 2, &networks.list[0], &rig->err), -1);
  assert_error(&rig->err, STATUS_MODEL, says);
  free_networks(&networks);
}

/* A file with the original names gives the same picture. A file with tensors that the network has no place for, or of
 * another model family, is refused, and the engine is as before. */
static void test_files(void **state) {
  (void)state;
  struct rig rig;
  struct networks files = {.count = 0};
  const struct single_file_change adapter = {.without = "control_model."},
                                  more = {.without = "control_model.", .extra = "body.0.other.weight"};
  open_turbo(&rig, (const char *const[]){"adapter", NULL}, (struct engine_shape){.steps = 2, .controls = 1});
  uint8_t *folder = generate_default(&rig);
  check_names(&rig.golden);
  single_file_write(&rig.golden, scratch, "adapter.safetensors", &adapter);
  single_file_write(&rig.golden, scratch, "more.safetensors", &more);
  check_refused(&rig, scratch, "net.safetensors", "other widths than those of SD 1");
  check_refused(&rig, scratch, "more.safetensors", "body.0.other.weight");
  check_refused(&rig, scratch, "none.safetensors", "none.safetensors");
  check_refused(&rig, rig.golden.folder, "xl", "a ControlNet for SDXL, and the model turbo is of");
  check_refused(&rig, rig.golden.folder, "xladapter", "a T2I-Adapter for SDXL, and the model turbo is of");
  add_network(&files, scratch, "adapter.safetensors");
  must(engine_open_control(rig.engine, 2, &files.list[0], &rig.err), &rig.err);
  reshape(&rig, 4, false);
  assert_same(&rig, generate_default(&rig), folder);
  free_networks(&files);
  rig_close(&rig);
}

/* --- a second source for the controls --- */

static void open_turbo_apart(struct rig *rig, struct engine_shape shape) {
  struct golden golden = open_golden("controls");
  struct networks networks = networks_of(&golden, (const char *const[]){"first", NULL});
  networks.list[0].source = true;
  shape.width = golden.frame.width;
  shape.height = golden.frame.height;
  shape.controls = 1;
  open_rig(rig, "turbo", &networks, &shape);
  free_networks(&networks);
  golden_close(&golden);
}

/* Makes the picture of a frame together with a frame for its controls; the caller frees it. */
static uint8_t *generate_pair(struct rig *rig, const struct frame *frame, const struct frame *control) {
  struct engine_result result;
  const struct engine_request request = {
      .prepared = rig->prepared, .controls = &rig->controls, .frame = frame, .control_frame = control};
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  must(engine_collect(rig->engine, &result, &rig->err), &rig->err);
  return picture_copy(&result.picture);
}

/* Returns the PSNR of two pictures in dB, and frees both. */
static double psnr_of(const struct rig *rig, uint8_t *a, uint8_t *b) {
  double sum = 0;
  for (size_t i = 0; i < picture_bytes(rig); i++)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  free(a);
  free(b);
  return sum > 0 ? 10 * log10(255.0 * 255 * (double)picture_bytes(rig) / sum) : 200;
}

/* Returns the frame with twice the width and height. */
static struct frame doubled(const struct frame *frame) {
  struct frame twice = *frame;
  twice.width = 2 * frame->width, twice.height = 2 * frame->height, twice.pitch[0] = 4 * twice.width;
  uint32_t *pixels = malloc((size_t)twice.pitch[0] * (size_t)twice.height);
  assert_true(pixels && frame->format == PIXEL_RGBA);
  for (int y = 0; y < twice.height; y++)
    for (int x = 0; x < twice.width; x++)
      memcpy(&pixels[y * twice.width + x], frame->plane[0] + y / 2 * frame->pitch[0] + x / 2 * 4, 4);
  twice.plane[0] = (const uint8_t *)pixels;
  return twice;
}

static void test_second_source(void **state) {
  (void)state;
  struct rig apart, together;
  double alike = strcmp(args[2], "cuda") ? 60 : 40;
  open_turbo_apart(&apart, (struct engine_shape){.steps = 2});
  open_turbo(&together, both, (struct engine_shape){.steps = 2, .controls = 1});
  const struct frame *frame = &apart.golden.frame;
  struct frame larger = doubled(frame), black = *frame;
  black.plane[0] = calloc(1, (size_t)frame->pitch[0] * (size_t)frame->height);
  assert_non_null(black.plane[0]);
  uint8_t *own = generate_default(&together);
  assert_true(psnr_of(&apart, generate_pair(&apart, frame, frame), own) >= alike);
  assert_true(psnr_of(&apart, generate_pair(&apart, frame, frame), generate_pair(&apart, frame, &larger)) >= alike);
  assert_same(&apart, generate_pair(&apart, frame, &black), generate_pair(&apart, frame, NULL));
  assert_differ(&apart, generate_pair(&apart, frame, frame), generate_pair(&apart, frame, &black));
  apart.controls.control[0].weight = 0;
  assert_same(&apart, generate_pair(&apart, frame, frame), generate_pair(&apart, frame, &black));
  free((void *)(uintptr_t)black.plane[0]);
  free((void *)(uintptr_t)larger.plane[0]);
  rig_close(&apart);
  rig_close(&together);
}

/* Text to image with a second source: the controls' frame is the only one. */
static void test_text_to_image_by_a_second_source(void **state) {
  (void)state;
  struct rig rig;
  open_turbo_apart(&rig, (struct engine_shape){.steps = 1, .text_to_image = true});
  const struct frame *frame = &rig.golden.frame;
  assert_differ(&rig, generate_pair(&rig, NULL, frame), generate_pair(&rig, NULL, NULL));
  assert_same(&rig, generate_pair(&rig, NULL, frame), generate_pair(&rig, NULL, frame));
  rig_close(&rig);
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pictures),      cmocka_unit_test(test_off),
      cmocka_unit_test(test_bank),          cmocka_unit_test(test_live),
      cmocka_unit_test(test_shares),        cmocka_unit_test(test_adapters_do_not_guess),
      cmocka_unit_test(test_stream_batch),  cmocka_unit_test(test_later),
      cmocka_unit_test(test_texts),         cmocka_unit_test(test_files),
      cmocka_unit_test(test_second_source), cmocka_unit_test(test_text_to_image_by_a_second_source),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
