#include "tests/rigs/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void must(int status, const struct error *err) {
  if (status < 0)
    fail_msg("%s", err->message);
}

void assert_error(const struct error *err, enum status status, const char *what) {
  assert_int_equal(err->status, status);
  assert_true(err->message[0] && !strchr(err->message, '\n'));
  if (!strstr(err->message, what))
    fail_msg("'%s' does not mention '%s'", err->message, what);
}

struct engine_params default_params(const struct golden *golden, const char *device) {
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  params.model = golden->folder;
  params.device.name = device;
  params.device.cache_dir = getenv("TUNING_DIR");
  return params;
}

struct engine_shape default_shape(const struct golden *golden) {
  return (struct engine_shape){.width = golden->frame.width, .height = golden->frame.height};
}

bool has_device(const struct engine_params *params) {
  struct engine *engine = NULL;
  struct error err = {0};
  bool refused = engine_open(&engine, params, &err) < 0 && err.status == STATUS_DEVICE;
  if (refused)
    fprintf(stderr, "skipped: %s\n", err.message);
  engine_close(&engine);
  return !refused;
}

bool golden_has_device(const char *goldens, const char *name, const char *device) {
  struct golden golden;
  if (golden_open(&golden, goldens, name) < 0)
    return true;
  struct engine_params params = default_params(&golden, device);
  bool served = has_device(&params);
  golden_close(&golden);
  return served;
}

int golden_arguments(int argc, char **argv, const char *name) {
  enum { WRONG = 2, SKIPPED = 77 };
  if (argc == 3)
    return golden_has_device(argv[1], name, argv[2]) ? 0 : SKIPPED;
  fprintf(stderr, "usage: %s GOLDENS DEVICE\n", argv[0]);
  return WRONG;
}

void remember_warning(void *opaque, enum log_level level, const char *text) {
  struct warnings *warnings = opaque;
  if (level != LOG_WARNING)
    return;
  warnings->count++;
  snprintf(warnings->last, sizeof warnings->last, "%s", text);
}

void rig_open(struct rig *rig, char **args, const char *name, bool guidance) {
  *rig = (struct rig){.controls = CONTROLS_DEFAULTS};
  if (golden_open(&rig->golden, args[1], name) < 0)
    fail_msg("%s", rig->golden.missing);
  struct engine_params params = default_params(&rig->golden, args[2]);
  struct engine_shape shape = default_shape(&rig->golden);
  shape.guidance = guidance;
  must(rig_engine(rig, &params, &shape), &rig->err);
  must(engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err), &rig->err);
  must(engine_set_prompt(rig->engine, 2, "a cat at night", &rig->err), &rig->err);
}

void rig_close(struct rig *rig) {
  engine_close(&rig->engine);
  assert_null(rig->engine);
  golden_close(&rig->golden);
}

int rig_engine(struct rig *rig, const struct engine_params *params, const struct engine_shape *shape) {
  if (engine_open(&rig->engine, params, &rig->err) < 0)
    return -1;
  if (engine_prepare(rig->engine, shape, &rig->prepared, &rig->err) == 0)
    return 0;
  engine_close(&rig->engine);
  return -1;
}

int rig_reshape(struct rig *rig, int width, int height, int steps) {
  struct prepared *prepared;
  struct prepared_info info;
  prepared_get_info(rig->prepared, &info);
  info.shape.width = width ? width : info.shape.width;
  info.shape.height = height ? height : info.shape.height;
  info.shape.steps = steps ? steps : info.shape.steps;
  if (engine_prepare(rig->engine, &info.shape, &prepared, &rig->err) < 0)
    return -1;
  engine_release(rig->engine, &rig->prepared);
  rig->prepared = prepared;
  return 0;
}

int rig_submit(struct rig *rig, const struct frame *frame) {
  struct engine_request request = {.prepared = rig->prepared, .controls = &rig->controls, .frame = frame};
  if (frame)
    request.identity = frame_identity(frame);
  return engine_submit(rig->engine, &request, &rig->err);
}

int rig_collect(struct rig *rig, struct frame *picture) {
  struct engine_result result;
  int status = engine_collect(rig->engine, &result, &rig->err);
  *picture = result.picture;
  return status;
}

uint8_t *generate(struct rig *rig, const struct frame *frame) {
  struct frame picture;
  must(rig_submit(rig, frame), &rig->err);
  must(rig_collect(rig, &picture), &rig->err);
  return picture_copy(&picture);
}

uint8_t *generate_default(struct rig *rig) {
  return generate(rig, &rig->golden.frame);
}

uint8_t *generate_with(struct rig *rig, float *control, float value) {
  float before = *control;
  *control = value;
  uint8_t *picture = generate_default(rig);
  *control = before;
  return picture;
}

size_t picture_bytes(const struct rig *rig) {
  return 4 * (size_t)rig->golden.frame.width * (size_t)rig->golden.frame.height;
}

void collect_expected(struct rig *rig, const uint8_t *expected) {
  struct frame picture;
  must(rig_collect(rig, &picture), &rig->err);
  uint8_t *copy = picture_copy(&picture);
  assert_memory_equal(copy, expected, picture_bytes(rig));
  free(copy);
}

struct prepared_info shape_of(const struct rig *rig) {
  struct prepared_info info;
  prepared_get_info(rig->prepared, &info);
  return info;
}

struct engine_info info_of(const struct rig *rig) {
  struct engine_info info;
  engine_get_info(rig->engine, &info);
  return info;
}

long frame_launches(struct rig *rig) {
  long before = info_of(rig).device_launches;
  free(generate_default(rig));
  return info_of(rig).device_launches - before;
}

void assert_same(const struct rig *rig, uint8_t *a, uint8_t *b) {
  assert_memory_equal(a, b, picture_bytes(rig));
  free(a);
  free(b);
}

void assert_differ(const struct rig *rig, uint8_t *a, uint8_t *b) {
  assert_memory_not_equal(a, b, picture_bytes(rig));
  free(a);
  free(b);
}
