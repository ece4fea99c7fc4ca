/* Compares style pictures with transformers and diffusers (tests/goldens/styles.py), and tests what engines do with
 * them. args: the folder of goldens, the device. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/rig.h"
#include "tests/rigs/scratch.h"
#include "unet/checkpoint/ip_adapter.h"
#include "unet/devices.h"
#include "unet/engine/style_picture.h"
#include "unet/model/vision.h"

static const char *goldens, *device;
static struct golden golden;

static bool is_gpu(void) {
  return !strcmp(device, "cuda");
}

/* Returns picture number `number` as an RGBA frame; the caller frees plane 0. */
static struct frame picture_frame(int number) {
  struct values v = golden_values(&golden, "%s", number ? "second" : "input");
  size_t count = v.count / 3;
  uint8_t *pixels = malloc(4 * count);
  for (size_t i = 0; i < count; i++)
    for (int c = 0; c < 4; c++)
      pixels[4 * i + (size_t)c] = c == 3 ? 255 : (uint8_t)v.data[3 * i + (size_t)c];
  struct frame frame = {.format = PIXEL_RGBA, .width = v.shape[2], .height = v.shape[1], .plane = {pixels}};
  frame.pitch[0] = 4 * frame.width;
  free(v.data);
  return frame;
}

static char *path_of(const char *name) {
  static char path[2][1024];
  static int turn;
  turn = !turn;
  snprintf(path[turn], sizeof path[turn], "%s/styles/%s", goldens, name);
  return path[turn];
}

/* --- input of the image encoder --- */

static size_t count_of(const struct style_format *v) {
  return 3 * (size_t)v->size * (size_t)v->size;
}

/* Returns the value of a channel at a pixel. */
static float patch_value(const struct style_format *v, const float *patches, int channel, int y, int x) {
  int k = v->patch, patch = y / k * (v->size / k) + x / k;
  return patches[(((size_t)patch * 3 + (size_t)channel) * (size_t)k + (size_t)(y % k)) * (size_t)k + (size_t)(x % k)];
}

static double largest_difference(const struct style_format *v, int number, const struct values *expected, int apart) {
  struct frame frame = picture_frame(number);
  struct error err = {0};
  float *patches = malloc(count_of(v) * sizeof *patches);
  double most = 0;
  size_t i = 0;
  must(style_patches(v, &frame, patches, &err), &err);
  for (int c = 0; c < 3; c++)
    for (int y = 0; y < v->size; y += apart)
      for (int x = 0; x < v->size; x += apart)
        most = fmax(most, fabs((double)patch_value(v, patches, c, y, x) - (double)expected->data[i++]));
  assert_int_equal(i, expected->count);
  free(patches);
  free((void *)frame.plane[0]);
  return most;
}

static void pictures_are_read_as_transformers_does(void **state) {
  (void)state;
  const struct style_format large = {224, 14}, small = {16, 4};
  for (int number = 0; number < 2; number++) {
    struct values expected = golden_values(&golden, "pixels.%d", number);
    assert_true(largest_difference(&large, number, &expected, 9) < 1e-6);
    free(expected.data);
  }
  struct values expected = golden_values(&golden, "encoder80.pixels");
  assert_true(largest_difference(&small, 0, &expected, 1) < 1e-6);
  free(expected.data);
}

/* A grey picture gives the same input in every pixel format. */
static void formats_agree(void **state) {
  (void)state;
  const struct style_format v = {16, 4};
  static uint8_t rgba[18 * 10 * 4], planes[3][18 * 10];
  memset(rgba, 126, sizeof rgba);
  memset(planes[0], 126, sizeof planes[0]);
  memset(planes[1], 128, sizeof planes[1]);
  memset(planes[2], 128, sizeof planes[2]);
  const struct frame frames[] = {
      {.format = PIXEL_BGRA, .width = 18, .height = 10, .plane = {rgba}, .pitch = {72}},
      {.format = PIXEL_YUV420P,
       .range = RANGE_FULL,
       .width = 18,
       .height = 10,
       .plane = {planes[0], planes[1], planes[2]},
       .pitch = {18, 9, 9}},
  };
  float *a = malloc(count_of(&v) * sizeof *a), *b = malloc(count_of(&v) * sizeof *b);
  struct error err = {0};
  must(style_patches(&v, &frames[0], a, &err), &err);
  must(style_patches(&v, &frames[1], b, &err), &err);
  for (size_t i = 0; i < count_of(&v); i++)
    assert_float_equal(a[i], b[i], 0);
  free(a);
  free(b);
}

/* --- output of the image encoder --- */

static void check_encoder(const char *name, const char *adapter, bool embedding) {
  struct ip_adapter *a;
  struct resources resources = {0};
  struct device *opened;
  struct plan plan;
  struct program *program;
  struct error err = {0};
  struct run_params run = {0};
  must(ip_adapter_open(&a, path_of(adapter), path_of(name), &err), &err);
  const struct style_format format = {a->vision.image_size, a->vision.patch_size};
  plan_init(&plan, &resources);
  int patches = vision_tokens(&a->vision) - 1;
  struct tensor in = plan_input(&plan, 1, 1, patches, 3 * a->vision.patch_size * a->vision.patch_size, ELEMENT_DEVICE);
  struct tensor out = vision_encode(&a->encoder, &a->vision, &plan, in, embedding);
  must(plan_finish(&plan, &err), &err);
  must(device_open(&opened, &resources, &(struct device_options){.name = device}, &err), &err);
  must(device_prepare(opened, &program, &plan, &(struct program_options){0}, &err), &err);
  must(device_poison(opened, program, &err), &err);
  struct frame frame = picture_frame(0);
  float *values = malloc(count_of(&format) * sizeof *values), *got = malloc(tensor_elements(out) * sizeof *got);
  must(style_patches(&format, &frame, values, &err), &err);
  must(device_write(opened, program, in, 0, values, tensor_elements(in), &err), &err);
  must(device_run(opened, program, &run, &err), &err);
  must(device_read(opened, program, out, 0, got, tensor_elements(out), &err), &err);
  struct values expected = golden_values(&golden, "%s.%s", name, embedding ? "embedding" : "hidden");
  assert_int_equal(expected.count, tensor_elements(out));
  double error = relative_error(got, expected.data, expected.count);
  print_message("  %s, %s: relative error %.2g\n", name, embedding ? "embedding" : "hidden", error);
  assert_true(error < (is_gpu() ? 4e-3 : 1e-5));
  free(expected.data);
  free(values);
  free(got);
  free((void *)frame.plane[0]);
  device_release(opened, &program);
  device_close(&opened);
  plan_free(&plan);
  resources_free(&resources);
  ip_adapter_close(&a);
}

static void encoders_say_what_transformers_says(void **state) {
  (void)state;
  check_encoder("encoder80", "sd15-linear.safetensors", true);
  check_encoder("encoder80", "sd15-plus.safetensors", false);
  check_encoder("encoder104", "ssd-linear.safetensors", true);
}

/* --- engines --- */

struct styled {
  struct golden golden; /* golden of the model */
  struct engine *engine;
  struct prepared *prepared;
  struct controls controls;
};

static struct styled open_styled(const char *model, const char *adapter, const char *encoder, int steps, bool guided,
                                 bool smooth) {
  struct styled s = {.controls = CONTROLS_DEFAULTS};
  struct error err = {0};
  if (golden_open(&s.golden, goldens, model) < 0)
    fail_msg("%s", s.golden.missing);
  struct engine_params params = default_params(&s.golden, device);
  params.strength_diffusers = true;
  params.smooth = smooth;
  params.ip_adapter = path_of(adapter);
  params.image_encoder = encoder ? path_of(encoder) : NULL;
  must(engine_open(&s.engine, &params, &err), &err);
  struct engine_shape shape = default_shape(&s.golden);
  shape.steps = steps;
  shape.text_to_image = true;
  shape.guidance = guided ? GUIDANCE_FULL : GUIDANCE_NONE;
  shape.styles = true;
  must(engine_prepare(s.engine, &shape, &s.prepared, &err), &err);
  must(engine_set_prompt(s.engine, SLOT_PRESET_1, "an oil painting", &err), &err);
  return s;
}

static void close_styled(struct styled *s) {
  engine_close(&s->engine);
  golden_close(&s->golden);
}

static void set_style(struct styled *s, int slot, int number) {
  struct frame frame = picture_frame(number);
  struct engine_style *style;
  struct engine_info info;
  struct error err = {0};
  engine_get_info(s->engine, &info);
  must(engine_read_style(&info.style, &frame, &style, &err), &err);
  must(engine_set_style(s->engine, slot, style, &err), &err);
  engine_free_style(&style);
  free((void *)frame.plane[0]);
}

static struct engine_result make(struct styled *s) {
  const struct engine_request request = {.prepared = s->prepared, .controls = &s->controls};
  struct engine_result made;
  struct error err = {0};
  must(engine_submit(s->engine, &request, &err), &err);
  must(engine_collect(s->engine, &made, &err), &err);
  return made;
}

static uint8_t *make_pixels(struct styled *s) {
  struct engine_result made = make(s);
  return picture_copy(&made.picture);
}

static size_t bytes_of(const struct styled *s) {
  return (size_t)s->golden.frame.width * (size_t)s->golden.frame.height * 4;
}

static double run_psnr(const cJSON *run) {
  char adapter[256];
  double guidance = json_number(run, "guidance", 1);
  snprintf(adapter, sizeof adapter, "%s.safetensors", json_string(run, "adapter", ""));
  struct styled s = open_styled(json_string(run, "model", ""), adapter, json_string(run, "encoder", ""),
                                (int)json_number(run, "steps", 1), guidance > 1, false);
  struct error err = {0};
  s.controls.guidance = (float)guidance;
  s.controls.seed = (uint64_t)json_number(run, "seed", 0);
  must(engine_set_prompt(s.engine, SLOT_NEGATIVE, json_string(run, "negative", ""), &err), &err);
  const cJSON *pictures = cJSON_GetObjectItemCaseSensitive(run, "pictures");
  const cJSON *weights = cJSON_GetObjectItemCaseSensitive(run, "weights");
  const char *layers = json_string(run, "layers", "");
  for (int i = 0; i < cJSON_GetArraySize(pictures); i++) {
    set_style(&s, i, cJSON_GetArrayItem(pictures, i)->valueint);
    s.controls.style[i].weight = (float)cJSON_GetArrayItem(weights, i)->valuedouble;
    s.controls.style[i].layers = !strcmp(layers, "style")         ? STYLE_LAYERS_LOOK
                                 : !strcmp(layers, "composition") ? STYLE_LAYERS_COMPOSITION
                                                                  : STYLE_LAYERS_ALL;
  }
  struct engine_result made = make(&s);
  assert_true(made.whole);
  struct values expected = golden_values(&golden, "run.%s", json_string(run, "name", ""));
  double result = picture_psnr(&made.picture, &expected);
  frame_release(&made.picture);
  free(expected.data);
  close_styled(&s);
  return result;
}

static void pictures_are_diffusers(void **state) {
  (void)state;
  const cJSON *run;
  cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(golden.json, "runs")) {
    double db = run_psnr(run);
    print_message("  %s: %.1f dB\n", json_string(run, "name", ""), db);
    if (!(db >= (is_gpu() ? 40 : 60)))
      fail_msg("%s: %.1f dB", json_string(run, "name", ""), db);
  }
}

/* With weight 0 or without a style picture, the result equals that of a handle without styles. */
static void without_weight_nothing_changes(void **state) {
  (void)state;
  struct styled s = open_styled("sd15", "sd15-linear.safetensors", "encoder80", 1, false, false);
  struct error err = {0};
  uint8_t *pictures[4];
  pictures[0] = make_pixels(&s);
  set_style(&s, 2, 0);
  pictures[1] = make_pixels(&s);
  s.controls.style[2].weight = 1;
  pictures[2] = make_pixels(&s);
  must(engine_set_style(s.engine, 2, NULL, &err), &err);
  pictures[3] = make_pixels(&s);
  assert_memory_equal(pictures[0], pictures[1], bytes_of(&s));
  assert_memory_not_equal(pictures[0], pictures[2], bytes_of(&s));
  assert_memory_equal(pictures[0], pictures[3], bytes_of(&s));
  struct engine_shape shape = default_shape(&s.golden);
  shape.steps = 1;
  shape.text_to_image = true;
  engine_release(s.engine, &s.prepared);
  must(engine_prepare(s.engine, &shape, &s.prepared, &err), &err);
  uint8_t *plain = make_pixels(&s);
  assert_memory_equal(pictures[0], plain, bytes_of(&s));
  for (int i = 0; i < 4; i++)
    free(pictures[i]);
  free(plain);
  close_styled(&s);
}

/* Makes a picture of this seed. */
static uint8_t *make_seed(struct styled *s, uint64_t seed, bool restart) {
  const struct engine_request request = {.prepared = s->prepared, .controls = &s->controls, .restart = restart};
  struct engine_result made;
  struct error err = {0};
  s->controls.seed = seed;
  must(engine_submit(s->engine, &request, &err), &err);
  must(engine_collect(s->engine, &made, &err), &err);
  return picture_copy(&made.picture);
}

/* Makes the picture of a frame that follows another one, which the bank holds. */
static uint8_t *make_behind(struct styled *s, int bank, float weight) {
  s->controls.bank = bank;
  s->controls.style[0].weight = weight;
  free(make_seed(s, 1, true));
  return make_seed(s, 2, false);
}

/* A bank works with style pictures: its first frame is plain, and a style of weight 0 changes nothing in a frame that
 * attends to another. */
static void styles_go_with_a_bank(void **state) {
  (void)state;
  struct styled s = open_styled("sd15", "sd15-linear.safetensors", "encoder80", 2, false, false);
  struct prepared_info info;
  struct prepared *unstyled;
  struct error err = {0};
  size_t bytes = bytes_of(&s);
  set_style(&s, 0, 0);
  prepared_get_info(s.prepared, &info);
  info.shape.bank_room = 1;
  must(engine_prepare(s.engine, &info.shape, &s.prepared, &err), &err);
  uint8_t *plain = make_behind(&s, 0, 1), *banked = make_behind(&s, 1, 1), *first = make_seed(&s, 2, true),
          *off = make_behind(&s, 1, 0);
  assert_memory_equal(first, plain, bytes);
  assert_memory_not_equal(banked, plain, bytes);
  assert_memory_not_equal(banked, off, bytes);
  info.shape.styles = false;
  must(engine_prepare(s.engine, &info.shape, &unstyled, &err), &err);
  s.prepared = unstyled;
  uint8_t *without = make_behind(&s, 1, 0);
  assert_memory_equal(off, without, bytes);
  free(without);
  free(off);
  free(first);
  free(banked);
  free(plain);
  close_styled(&s);
}

static void a_picture_comes_beside_frames(void **state) {
  (void)state;
  struct styled s = open_styled("sd15", "sd15-plus.safetensors", "encoder80", 1, false, true);
  s.controls.style[0].weight = 1;
  set_style(&s, 0, 0);
  uint8_t *first = make_pixels(&s), *last = NULL;
  set_style(&s, 0, 1);
  int frames = 0;
  for (bool whole = false; !whole; frames++) {
    struct engine_result made = make(&s);
    whole = made.whole;
    free(last);
    last = picture_copy(&made.picture);
    assert_true(frames < 200);
    if (!whole)
      assert_memory_equal(last, first, bytes_of(&s));
  }
  assert_true(frames > 1);
  assert_memory_not_equal(last, first, bytes_of(&s));
  set_style(&s, 0, 0); /* two styles are set at once, and take effect one after the other */
  set_style(&s, 1, 1);
  for (bool whole = false; !whole;) {
    struct engine_result made = make(&s);
    whole = made.whole;
    free(last);
    last = picture_copy(&made.picture);
  }
  assert_memory_equal(last, first, bytes_of(&s));
  free(first);
  free(last);
  close_styled(&s);
}

/* --- files that are refused --- */

static void assert_refused(const char *model, const char *adapter, const char *encoder, const char *what) {
  struct golden of;
  if (golden_open(&of, goldens, model) < 0)
    fail_msg("%s", of.missing);
  struct engine_params params = default_params(&of, device);
  params.ip_adapter = adapter;
  params.image_encoder = encoder;
  struct engine *engine;
  struct error err = {0};
  assert_int_equal(engine_open(&engine, &params, &err), -1);
  assert_error(&err, STATUS_MODEL, what);
  golden_close(&of);
}

static void what_does_not_fit_is_refused(void **state) {
  (void)state;
  assert_refused("sd15", path_of("ssd-linear.safetensors"), path_of("encoder104"), "do not go together");
  assert_refused("sd15", path_of("sd15-linear.safetensors"), path_of("encoder104"), "does not fit the IP-Adapter");
  assert_refused("sd15", path_of("sd15-linear.safetensors"), NULL, "--image-encoder");
  char *lora = path_of("../sd15/unet/diffusion_pytorch_model.safetensors");
  assert_refused("sd15", lora, path_of("encoder80"), "is a U-Net alone, not an IP-Adapter");
  struct ip_adapter *a;
  struct error err = {0};
  must(ip_adapter_open(&a, path_of("sd15-linear.safetensors"), path_of("encoder80"), &err), &err);
  const struct unet_config sd2 = {.cross_attention_dim = 1024};
  assert_int_equal(ip_adapter_check(a, "sd-turbo", &sd2, 16, &err), -1);
  assert_error(&err, STATUS_MODEL, "no IP-Adapter is published");
  ip_adapter_close(&a);
}

/* Writes a file of tensors [2, 2] with these names. */
static char *write_file(const char *const names[], int count) {
  static char path[1024];
  char header[4096];
  size_t used = (size_t)snprintf(header, sizeof header, "{");
  for (int i = 0; i < count; i++)
    used += (size_t)snprintf(header + used, sizeof header - used,
                             "%s\"%s\":{\"dtype\":\"F16\",\"shape\":[2,2],\"data_offsets\":[%d,%d]}", i ? "," : "",
                             names[i], 8 * i, 8 * i + 8);
  used += (size_t)snprintf(header + used, sizeof header - used, "}");
  snprintf(path, sizeof path, "%s/adapter.safetensors", scratch);
  FILE *file = fopen(path, "wb");
  uint64_t length = used;
  uint8_t zeros[8] = {0};
  fwrite(&length, 8, 1, file);
  fwrite(header, 1, used, file);
  for (int i = 0; i < count; i++)
    fwrite(zeros, 1, 8, file);
  fclose(file);
  return path;
}

static void other_kinds_are_refused_by_name(void **state) {
  (void)state;
  const char *face[] = {"image_proj.norm.weight", "image_proj.proj.0.weight", "image_proj.proj.2.weight",
                        "ip_adapter.1.to_k_ip.weight"};
  const char *perceiver[] = {"image_proj.perceiver_resampler.proj_in.weight", "ip_adapter.1.to_k_ip.weight"};
  const char *part[] = {"image_proj.proj.weight", "image_proj.proj.bias"};
  const char *odd[] = {"image_proj.latents", "image_proj.proj_in.weight", "ip_adapter.1.to_k_ip.weight",
                       "image_proj.layers.0.0.to_q.weight"};
  assert_refused("sd15", write_file(face, 4), NULL, "FaceID");
  assert_refused("sd15", write_file(perceiver, 2), NULL, "FaceID");
  assert_refused("sd15", write_file(part, 2), NULL, "no whole IP-Adapter");
  assert_refused("sd15", write_file(odd, 4), NULL, "no whole IP-Adapter");
}

static void wishes_without_an_adapter_are_refused(void **state) {
  (void)state;
  struct golden of;
  golden_open(&of, goldens, "sd15");
  struct engine_params params = default_params(&of, device);
  struct engine *engine;
  struct prepared *prepared;
  struct engine_style *style;
  struct error err = {0};
  must(engine_open(&engine, &params, &err), &err);
  struct engine_shape shape = default_shape(&of);
  shape.styles = true;
  assert_int_equal(engine_prepare(engine, &shape, &prepared, &err), -1);
  assert_error(&err, STATUS_USAGE, "--ip-adapter");
  assert_int_equal(engine_read_style(&(struct style_format){0}, &of.frame, &style, &err), -1);
  assert_error(&err, STATUS_USAGE, "--ip-adapter");
  assert_int_equal(engine_set_style(engine, STYLES_MAX, NULL, &err), -1);
  assert_error(&err, STATUS_USAGE, "styles 1 to 4");
  engine_close(&engine);
  golden_close(&of);
}

int main(int argc, char **argv) {
  goldens = argc > 1 ? argv[1] : "tests/data/goldens";
  device = argc > 2 ? argv[2] : "cpu";
  if (!golden_has_device(goldens, "sd15", device))
    return 77;
  if (golden_open(&golden, goldens, "styles") < 0) {
    fprintf(stderr, "%s\n", golden.missing);
    return 1;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pictures_are_read_as_transformers_does), cmocka_unit_test(formats_agree),
      cmocka_unit_test(encoders_say_what_transformers_says),    cmocka_unit_test(pictures_are_diffusers),
      cmocka_unit_test(without_weight_nothing_changes),         cmocka_unit_test(a_picture_comes_beside_frames),
      cmocka_unit_test(what_does_not_fit_is_refused),           cmocka_unit_test(other_kinds_are_refused_by_name),
      cmocka_unit_test(wishes_without_an_adapter_are_refused),  cmocka_unit_test(styles_go_with_a_bank),
  };
  int failed = cmocka_run_group_tests(tests, scratch_make, scratch_remove);
  golden_close(&golden);
  return failed;
}
