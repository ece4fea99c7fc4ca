/* Compares networks and whole pictures with what diffusers and transformers compute from the same checkpoints in FP32.
 *
 *   test_models GOLDENS                 the random checkpoints in GOLDENS
 *   test_models GOLDENS MODEL           goldens GOLDENS/mini of the model in folder MODEL; skipped where it is absent
 *   test_models GOLDENS cuda            the random checkpoints on the CUDA device; skipped where there is no GPU
 *   test_models GOLDENS MODEL cuda      the model in folder MODEL on the CUDA device */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/golden.h"
#include "unet/devices.h"
#include "unet/sample/noise.h"
#include "unet/model/plans.h"

static const char *goldens; /* folder of all goldens */
static const char *model;   /* folder of the checkpoint; NULL: it is beside its golden */

struct test_case {
  const char *name, *device;
};

/* A checkpoint on a device, and one plan on it. */
struct bench {
  struct golden golden;
  struct checkpoint *checkpoint;
  struct resources resources;
  struct model model;
  struct device *device;
  struct plan plan;
  struct program *program;
  /* by how many 8-bit levels a picture's values may differ if its matrix products have another number of rows */
  int levels;
  struct error err;
};

#define must(call) assert_ok((call), &b->err, __LINE__)
static void assert_ok(int status, const struct error *err, int line) {
  if (status < 0)
    fail_msg("line %d: %s", line, err->message);
}

static const char *model_folder(const struct golden *golden) {
  return model ? model : golden->folder;
}

static int setup(void **state) {
  const struct test_case *test = *state;
  struct bench *b = calloc(1, sizeof *b);
  if (golden_open(&b->golden, goldens, test->name) < 0)
    fail_msg("%s", b->golden.missing);
  must(checkpoint_open(&b->checkpoint, &(struct checkpoint_sources){.model = model_folder(&b->golden)}, NULL, &b->err));
  must(model_init(&b->model, b->checkpoint, &b->resources, &b->err));
  must(device_open(&b->device, &b->resources, &(struct device_options){.name = test->device}, &b->err));
  plan_init(&b->plan, &b->resources);
  b->levels = !strcmp(test->device, "cpu");
  *state = b;
  return 0;
}

static int teardown(void **state) {
  struct bench *b = *state;
  device_release(b->device, &b->program);
  device_close(&b->device);
  plan_free(&b->plan);
  model_free(&b->model);
  resources_free(&b->resources);
  checkpoint_close(&b->checkpoint);
  golden_close(&b->golden);
  free(b);
  return 0;
}

static void prepare(struct bench *b) {
  must(plan_finish(&b->plan, &b->err));
  must(device_prepare(b->device, &b->program, &b->plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  must(device_poison(b->device, b->program, &b->err));
}

static void write_values(struct bench *b, struct tensor t, const struct values *values) {
  assert_int_equal(tensor_elements(t), values->count);
  must(device_write(b->device, b->program, t, 0, values->data, values->count, &b->err));
}

/* Returns the largest allowed error. The CUDA device computes in FP16: its error may be twice that of PyTorch with
 * FP16, which models.py measured. With few elements that error may be small by chance, so twice the rounding of FP16 is
 * always allowed. */
static double bound_of(struct bench *b, const char *golden, size_t count) {
  enum { FEW = 256 };
  struct device_info info;
  device_get_info(b->device, &info);
  if (info.element == DTYPE_F32)
    return 1e-4;
  double half = json_number(cJSON_GetObjectItemCaseSensitive(b->golden.json, "half"), golden, 0);
  if (!(half > 0))
    fail_msg("golden.json does not say how far FP16 is from FP32 for %s: see models.py --half", golden);
  return count <= FEW ? fmax(2 * half, 0x1p-10) : 2 * half;
}

/* golden: the name of the expected values. */
static void compare(struct bench *b, const char *golden, struct tensor t, const struct values *expected) {
  assert_int_equal(tensor_elements(t), expected->count);
  float *got = malloc(expected->count * sizeof *got);
  must(device_read(b->device, b->program, t, 0, got, expected->count, &b->err));
  double error = relative_error(got, expected->data, expected->count), bound = bound_of(b, golden, expected->count);
  free(got);
  print_message("  %s: relative error %.2g, bound %.2g\n", golden, error, bound);
  if (!(error <= bound))
    fail_msg("%s: relative error %.3g, bound %.3g", golden, error, bound);
}

static void compare_golden(struct bench *b, const char *golden, struct tensor t) {
  struct values expected = golden_values(&b->golden, "%s", golden);
  compare(b, golden, t, &expected);
  free(expected.data);
}

/* Encodes token ids from the tokenizer, so the test covers everything from the text to the hidden state. */
static void encode_text(struct bench *b, const struct text_encoder *encoder, const char *ids_name, const char *out) {
  struct values ids = golden_values(&b->golden, "%s", ids_name);
  struct clip_text y = clip_encode(encoder, &b->plan);
  struct tensor hidden =
      /* a copy, because later layers may reuse its memory */
      plan_norm(&b->plan, "copy", (struct op_norm){.x = y.hidden});
  prepare(b);
  struct run_params run = {0};
  const char *prompt = json_string(b->golden.json, "prompt", "");
  assert_true(tokenizer_encode(encoder->tokenizer, FIX_FAST, prompt, run.tokens, (int)ids.count, &b->err) > 0);
  for (size_t i = 0; i < ids.count; i++)
    assert_int_equal(run.tokens[i], (int)ids.data[i]);
  run.end = clip_end(encoder, run.tokens);
  must(device_run(b->device, b->program, &run, &b->err));
  compare_golden(b, out, hidden);
  if (encoder->pooled)
    compare_golden(b, "pooled.out", y.pooled);
  free(ids.data);
}

static void text_encoder(void **state) {
  struct bench *b = *state;
  encode_text(b, &b->checkpoint->text_encoders[0], "text.ids", "text.out");
  if (b->checkpoint->text_encoder_count == 1)
    return;
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  plan_init(&b->plan, &b->resources);
  encode_text(b, &b->checkpoint->text_encoders[1], "text2.ids", "text2.out");
}

static void autoencoder(void **state) {
  struct bench *b = *state;
  struct values picture = golden_values(&b->golden, "vae.picture"), latent = golden_values(&b->golden, "vae.latent");
  struct values decoded = golden_values(&b->golden, "vae.decoded");
  const struct autoencoder *autoencoder = &b->checkpoint->autoencoder;
  const struct autoencoder_kind *kind = autoencoder_kind(autoencoder);
  struct tensor x = plan_input(&b->plan, 1, picture.shape[1], picture.shape[2], 3, ELEMENT_DEVICE);
  struct tensor z = plan_input(&b->plan, 1, latent.shape[1], latent.shape[2], latent.shape[3], ELEMENT_PRECISE);
  struct tensor encoded = kind->encode(autoencoder, &b->plan, x), y = kind->decode(autoencoder, &b->plan, z);
  prepare(b);
  write_values(b, x, &picture);
  write_values(b, z, &latent);
  must(device_run(b->device, b->program, &(struct run_params){0}, &b->err));
  compare(b, "vae.latent", encoded, &latent);
  compare(b, "vae.decoded", y, &decoded);
  free(picture.data);
  free(latent.data);
  free(decoded.data);
}

/* Returns the largest value between the layers of encoder and decoder, as the device stores it. */
static float largest_inside(struct bench *b) {
  struct values picture = golden_values(&b->golden, "vae.picture"), latent = golden_values(&b->golden, "vae.latent");
  const struct autoencoder *autoencoder = &b->checkpoint->autoencoder;
  const struct autoencoder_kind *kind = autoencoder_kind(autoencoder);
  struct tensor x = plan_input(&b->plan, 1, picture.shape[1], picture.shape[2], 3, ELEMENT_DEVICE);
  struct tensor z = plan_input(&b->plan, 1, latent.shape[1], latent.shape[2], latent.shape[3], ELEMENT_PRECISE);
  kind->encode(autoencoder, &b->plan, x);
  kind->decode(autoencoder, &b->plan, z);
  must(plan_finish(&b->plan, &b->err));
  for (int i = 0; i < b->plan.temporary_count; i++) /* makes all temporaries outputs, so that none shares memory */
    b->plan.temporaries[i].first = 0, b->plan.temporaries[i].last = b->plan.op_count - 1;
  must(device_prepare(b->device, &b->program, &b->plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  write_values(b, x, &picture);
  write_values(b, z, &latent);
  must(device_run(b->device, b->program, &(struct run_params){0}, &b->err));
  float most = 0;
  for (int i = 0; i < b->plan.temporary_count; i++) {
    const struct temporary *t = &b->plan.temporaries[i];
    const struct tensor whole = {TENSOR_TEMPORARY, i, t->n, t->h, t->w, t->c, 0, t->c};
    size_t count = tensor_elements(whole);
    float *values = malloc(count * sizeof *values);
    must(device_read(b->device, b->program, whole, 0, values, count, &b->err));
    for (size_t j = 0; j < count; j++)
      most = fmaxf(most, fabsf(values[j]));
    free(values);
  }
  free(picture.data);
  free(latent.data);
  return most;
}

/* With force_upcast, values stay within FP16's range, where PyTorch's FP16 overflows. */
static void fp16_range(void **state) {
  struct bench *b = *state;
  assert_true(b->checkpoint->autoencoder.kl.force_upcast);
  assert_in_range((int)largest_inside(b), 1024, 65504);
}

static void fp16_range_without(void **state) {
  struct bench *b = *state;
  b->checkpoint->autoencoder.kl.force_upcast = false;
  assert_true(largest_inside(b) > 65504);
}

/* Computes the time projections of the run's steps for the frame's program. */
static void make_times(struct bench *b, const struct frame_shape *shape, const struct run_params *run) {
  struct plan plan;
  struct program *program = NULL;
  must(plans_times(&b->model, shape, &plan, &b->err));
  must(device_prepare(b->device, &program, &plan, &(struct program_options){.owner = b->program}, &b->err));
  must(device_run(b->device, program, run, &b->err));
  device_release(b->device, &program);
  plan_free(&plan);
}

/* A golden value as an input of the plan; empty if the checkpoint has no second text encoder. */
struct given {
  struct tensor tensor;
  struct values values;
};

static struct given give(struct bench *b, const char *golden, bool there) {
  if (!there)
    return (struct given){0};
  struct values v = golden_values(&b->golden, "%s", golden);
  return (struct given){plan_input(&b->plan, 1, v.shape[1], v.shape[2], v.shape[3], ELEMENT_DEVICE), v};
}

static void write_given(struct bench *b, struct given *given, int count) {
  for (int i = 0; i < count; i++) {
    if (tensor_exists(given[i].tensor))
      write_values(b, given[i].tensor, &given[i].values);
    free(given[i].values.data);
  }
}

static void unet(void **state) {
  struct bench *b = *state;
  static const float timesteps[] = {999, 480, 1};
  bool two = b->checkpoint->text_encoder_count > 1;
  struct plan *plan = &b->plan;
  struct given in[] = {give(b, "unet.x", true), give(b, "text.out", true), give(b, "text2.out", two),
                       give(b, "pooled.out", two)};
  float width = (float)b->golden.frame.width, height = (float)b->golden.frame.height;
  const struct unet_moments of = {1, {1, 1}, in[3].tensor, {height, width, 0, 0, height, width}};
  struct tensor time = unet_times(&b->model.unet, plan, &of, (struct tensor){0});
  struct tensor text = unet_texts(&b->model.unet, plan, in[1].tensor, in[2].tensor);
  struct unet_call call = unet_begin(&b->model.unet, plan, time, text);
  struct skips skips;
  struct tensor mid = unet_down(&call, in[0].tensor, (struct tensor){0}, &skips), y = unet_up(&call, mid, &skips);
  prepare(b);
  write_given(b, in, 4);
  for (int i = 0; i < 3; i++) {
    struct run_params run = {.step = {{.timestep = timesteps[i]}},
                             .guidance = (float)json_number(b->golden.json, "guidance", 1)};
    char name[32];
    snprintf(name, sizeof name, "unet.out.%g", (double)timesteps[i]);
    must(device_run(b->device, b->program, &run, &b->err));
    compare_golden(b, name, y);
  }
}

/* --- loops --- */

enum { STEPS = 3, ITERATIONS = 7 };

/* Sets the coefficients and noise of STEPS steps; `pad` steps before them change nothing. */
static void make_steps(struct bench *b, const struct frame_noise *noise, int pad, struct run_params *run) {
  size_t count = tensor_elements(noise->start);
  float *sample = malloc(count * sizeof *sample);
  noise_fill(1, 0, 0, sample, count);
  must(device_write(b->device, b->program, noise->start, 0, sample, count, &b->err));
  for (int i = 0; i < pad; i++)
    run->step[i] = (struct step_params){.timestep = 999, .x = 1};
  for (int i = 0; i < STEPS; i++) {
    bool last = i == STEPS - 1;
    run->step[pad + i] = (struct step_params){900 - 300 * (float)i, 1.2f - 0.1f * (float)i, -0.5f, last ? 0 : 0.25f};
    noise_fill(1, 1 + (uint32_t)i, 0, sample, count);
    if (!last)
      must(device_write(b->device, b->program, noise->steps, (size_t)(pad + i) * count, sample, count, &b->err));
  }
  free(sample);
}

/* Makes a picture of STEPS steps with a plan for `steps` steps, which is at least as many. */
static uint8_t *make_picture(struct bench *b, int steps) {
  const struct frame *frame = &b->golden.frame;
  struct frame_shape shape = {
      .width = frame->width, .height = frame->height, .steps = steps, .noise_samples = steps - 1, .rows = {1, 1}};
  struct run_params run = {.start_latent = 0.5f, .start_noise = 0.9f, .mix = 1};
  run.guidance = (float)json_number(b->golden.json, "guidance", 1);
  struct frame_noise noise;
  struct frame picture;
  run.prompt[0] = (struct prompt_params){{0}, {1}};
  run.geometry[0] =
      (struct geometry){0, 0, (float)frame->width, (float)frame->height, 0, 0, frame->width, frame->height};
  must(plans_frame(&b->model, &shape, &b->plan, &noise, &b->err));
  assert_int_equal(b->plan.loop.iterations, steps == ITERATIONS ? ITERATIONS : 0);
  must(device_prepare(b->device, &b->program, &b->plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  make_steps(b, &noise, steps - STEPS, &run);
  make_times(b, &shape, &run);
  must(device_poison(b->device, b->program, &b->err));
  for (int i = 0; i < 2; i++) /* two runs in flight: the first must have no effect on the second */
    must(device_submit(b->device, b->program, &run, frame, &b->err));
  must(device_collect(b->device, b->program, NULL, &b->err));
  must(device_collect(b->device, b->program, &picture, &b->err));
  uint8_t *copy = picture_copy(&picture);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  return copy;
}

/* A plan with its steps written out and one with a loop make the same picture in all bits. One exception: the time rows
 * of all steps are one product, and on a processor without AVX-512 oneDNN rounds a row depending on their number. */
static void loop(void **state) {
  struct bench *b = *state;
  uint8_t *unrolled = make_picture(b, STEPS), *iterations = make_picture(b, ITERATIONS);
  for (size_t i = 0; i < 4 * (size_t)b->golden.frame.width * (size_t)b->golden.frame.height; i++)
    assert_in_range(unrolled[i] - iterations[i] + b->levels, 0, 2 * b->levels);
  free(unrolled);
  free(iterations);
}

/* --- whole pictures, through the engine --- */

static struct engine_shape shape_of(const struct golden *golden, const cJSON *run) {
  return (struct engine_shape){.width = golden->frame.width,
                               .height = golden->frame.height,
                               .steps = (int)json_number(run, "steps", 0),
                               .text_to_image = !strcmp(json_string(run, "mode", ""), "text"),
                               .guidance = json_number(run, "guidance", 1) > 1};
}

/* Sets the golden's mask if the run is one of inpainting. */
static void set_mask(struct engine *engine, const struct golden *golden, const cJSON *run) {
  if (strcmp(json_string(run, "mode", ""), "inpaint"))
    return;
  struct values mask = golden_values(golden, "mask");
  uint8_t *pixels = malloc(4 * mask.count);
  for (size_t i = 0; i < 4 * mask.count; i++)
    pixels[i] = (uint8_t)mask.data[i / 4];
  struct frame frame = golden->frame;
  frame.plane[0] = pixels;
  struct error err = {0};
  assert_ok(engine_set_mask(engine, &frame, MASK_WHITE, &err), &err, __LINE__);
  free(pixels);
  free(mask.data);
}

/* Sets the run's prompts and weights if it is a blend. */
static void set_blend(struct engine *engine, const cJSON *run, struct controls *controls) {
  const cJSON *entry, *blend = cJSON_GetObjectItemCaseSensitive(run, "blend");
  struct error err = {0};
  int i = 0;
  cJSON_ArrayForEach(entry, blend) {
    assert_in_range(i, 0, SLOT_PRESETS - 1);
    const char *prompt = cJSON_GetStringValue(entry->child);
    assert_ok(engine_set_prompt(engine, SLOT_PRESET_1 + i, prompt, &err), &err, __LINE__);
    controls->blend[i++] = (float)cJSON_GetNumberValue(entry->child->next);
  }
}

/* Sets the golden's style picture if the run has one; "style" is its weight. */
static void set_style(struct engine *engine, const struct golden *golden, const cJSON *run, struct controls *controls) {
  struct error err = {0};
  struct engine_info info;
  struct engine_style *style;
  controls->style[0].weight = (float)json_number(run, "style", 0);
  if (!cJSON_HasObjectItem(run, "style"))
    return;
  struct values picture = golden_values(golden, "style");
  uint8_t *pixels = malloc(picture.count / 3 * 4);
  for (size_t i = 0; i < picture.count / 3 * 4; i++)
    pixels[i] = i % 4 < 3 ? (uint8_t)picture.data[i / 4 * 3 + i % 4] : 255;
  const struct frame frame = {.format = PIXEL_RGBA,
                              .width = picture.shape[2],
                              .height = picture.shape[1],
                              .plane = {pixels},
                              .pitch = {4 * picture.shape[2]}};
  engine_get_info(engine, &info);
  assert_ok(engine_read_style(&info.style, &frame, &style, &err), &err, __LINE__);
  assert_ok(engine_set_style(engine, 0, style, &err), &err, __LINE__);
  engine_free_style(&style);
  free(pixels);
  free(picture.data);
}

/* Returns the position of a word in a list such as "auto|euler", which is its value in the enum. */
static int word_index(const char *words, const char *word) {
  size_t length = strlen(word);
  for (int i = 0;; i++, words += strcspn(words, "|") + 1) {
    if (strcspn(words, "|") == length && !strncmp(words, word, length))
      return i;
    assert_true(words[strcspn(words, "|")] == '|');
  }
}

static double run_psnr(const struct golden *golden, const cJSON *run, const char *device) {
  struct engine_shape shape = shape_of(golden, run);
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  params.model = model_folder(golden);
  params.device.name = device;
  params.strength_diffusers = true;
  params.own_adapter = shape.styles = cJSON_HasObjectItem(run, "style");
  shape.sampler = (enum sampler)word_index(SAMPLER_WORDS, json_string(run, "sampler", "auto"));
  shape.spacing = (enum spacing)word_index(SPACING_WORDS, json_string(run, "spacing", "auto"));
  struct engine *engine;
  struct prepared *prepared;
  struct error err = {0};
  assert_ok(engine_open(&engine, &params, &err), &err, __LINE__);
  assert_ok(engine_prepare(engine, &shape, &prepared, &err), &err, __LINE__);
  assert_ok(engine_set_prompt(engine, SLOT_PRESET_1, json_string(run, "prompt", ""), &err), &err, __LINE__);
  assert_ok(engine_set_prompt(engine, SLOT_NEGATIVE, json_string(run, "negative", ""), &err), &err, __LINE__);
  struct controls controls = CONTROLS_DEFAULTS;
  controls.seed = (uint64_t)json_number(run, "seed", 0);
  controls.strength = (float)json_number(run, "strength", 1);
  controls.guidance = (float)json_number(run, "guidance", 1);
  controls.eta = (float)json_number(run, "eta", -1);
  controls.image_guidance = (float)json_number(run, "image_guidance", 1);
  const struct engine_request request = {.prepared = prepared, .controls = &controls, .frame = &golden->frame};
  struct engine_result made;
  set_mask(engine, golden, run);
  set_blend(engine, run, &controls);
  set_style(engine, golden, run, &controls);
  assert_ok(engine_submit(engine, &request, &err), &err, __LINE__);
  assert_ok(engine_collect(engine, &made, &err), &err, __LINE__);
  struct values expected = golden_values(golden, "run.%s", json_string(run, "name", ""));
  double result = picture_psnr(&made.picture, &expected);
  frame_release(&made.picture);
  free(expected.data);
  engine_close(&engine);
  return result;
}

static void pictures(void **state) {
  const struct test_case *test = *state;
  struct golden golden;
  if (golden_open(&golden, goldens, test->name) < 0)
    fail_msg("%s", golden.missing);
  const cJSON *run, *runs = cJSON_GetObjectItemCaseSensitive(golden.json, "runs");
  assert_true(cJSON_GetArraySize(runs) > 0);
  bool definition = !strcmp(test->device, "cpu:plain");
  cJSON_ArrayForEach(run, runs) {
    if (definition && model && run != runs->child)
      break; /* one picture of a full-size model is enough, because the plain definition is slow */
    double db = run_psnr(&golden, run, test->device);
    print_message("  %s: %.1f dB\n", json_string(run, "name", ""), db);
    if (!(db >= (strcmp(test->device, "cuda") ? 60 : 40)))
      fail_msg("%s/%s: %.1f dB", test->name, json_string(run, "name", ""), db);
  }
  golden_close(&golden);
}

#define ON_DEVICE(title, device)                                                                                       \
  {"text encoder, " title ", " device, text_encoder, setup, teardown, &(struct test_case){title, device}},             \
      {"autoencoder, " title ", " device, autoencoder, setup, teardown, &(struct test_case){title, device}},           \
      {"U-Net, " title ", " device, unet, setup, teardown, &(struct test_case){title, device}},                        \
      {"loop, " title ", " device, loop, setup, teardown, &(struct test_case){title, device}}, {                       \
    "pictures, " title ", " device, pictures, NULL, NULL, &(struct test_case) {                                        \
      title, device                                                                                                    \
    }                                                                                                                  \
  }
#define MODEL(title) ON_DEVICE(title, "cpu:plain"), ON_DEVICE(title, "cpu")
#define CUDA_MODEL(title) ON_DEVICE(title, "cuda")

/* Returns true if the device can be opened; otherwise prints why not. */
static bool has_device(const char *name) {
  struct resources resources = {0};
  struct device *device;
  struct error err;
  if (device_open(&device, &resources, &(struct device_options){.name = name}, &err) < 0) {
    fprintf(stderr, "skipped: %s\n", err.message);
    return false;
  }
  device_close(&device);
  return true;
}

static bool has_model(void) {
  char index[1024], golden[1024];
  snprintf(index, sizeof index, "%s/model_index.json", model);
  snprintf(golden, sizeof golden, "%s/mini/golden.json", goldens);
  if (access(index, R_OK) == 0 && access(golden, R_OK) == 0)
    return true;
  fprintf(stderr, "skipped: there is no %s\n", access(index, R_OK) < 0 ? index : golden);
  return false;
}

int main(int argc, char **argv) {
  bool cuda = argc > 2 && !strcmp(argv[argc - 1], "cuda");
  if (argc - cuda < 2 || argc - cuda > 3) {
    fprintf(stderr, "usage: test_models GOLDENS [MODEL] [cuda]\n");
    return 2;
  }
  goldens = argv[1];
  model = argc - cuda == 3 ? argv[2] : NULL;
  if ((cuda && !has_device("cuda")) || (model && !has_model()))
    return 77;
  const struct CMUnitTest all[] = {
      MODEL("sd15"),
      MODEL("sd21"),
      MODEL("turbo"),
      MODEL("pix2pix"),
      MODEL("lcm"),
      MODEL("levels"),
      MODEL("nomid"),
      MODEL("inpaint"),
      MODEL("bkbase"),
      MODEL("bktiny"),
      MODEL("sdxs"),
      MODEL("merged"),
      MODEL("pools"),
      MODEL("kl"),
      MODEL("klpix"),
      MODEL("klwide"),
      MODEL("sdxl"),
      MODEL("sdxlpix"),
      MODEL("ssd"),
      MODEL("sdxlkl"),
      MODEL("sdxlinpaint"),
      {"FP16's range", fp16_range, setup, teardown, &(struct test_case){"klwide", "cpu"}},
      {"FP16's range, left", fp16_range_without, setup, teardown, &(struct test_case){"klwide", "cpu"}}};
  const struct CMUnitTest all_cuda[] = {CUDA_MODEL("sd15"),    CUDA_MODEL("sd21"),   CUDA_MODEL("turbo"),
                                        CUDA_MODEL("pix2pix"), CUDA_MODEL("lcm"),    CUDA_MODEL("levels"),
                                        CUDA_MODEL("nomid"),   CUDA_MODEL("pools"),  CUDA_MODEL("kl"),
                                        CUDA_MODEL("klpix"),   CUDA_MODEL("klwide"), CUDA_MODEL("sdxl"),
                                        CUDA_MODEL("sdxlpix"), CUDA_MODEL("ssd"),    CUDA_MODEL("inpaint"),
                                        CUDA_MODEL("bkbase"),  CUDA_MODEL("bktiny"), CUDA_MODEL("sdxs"),
                                        CUDA_MODEL("merged"),  CUDA_MODEL("sdxlkl"), CUDA_MODEL("sdxlinpaint")};
#ifdef __SANITIZE_ADDRESS__ /* the small models also run with the plain definition; for this one that takes minutes */
  const struct CMUnitTest mini[] = {ON_DEVICE("mini", "cpu")};
#else
  const struct CMUnitTest mini[] = {MODEL("mini")};
#endif
  const struct CMUnitTest mini_cuda[] = {CUDA_MODEL("mini")};
  if (model)
    return cuda ? cmocka_run_group_tests(mini_cuda, NULL, NULL) : cmocka_run_group_tests(mini, NULL, NULL);
  return cuda ? cmocka_run_group_tests(all_cuda, NULL, NULL) : cmocka_run_group_tests(all, NULL, NULL);
}
