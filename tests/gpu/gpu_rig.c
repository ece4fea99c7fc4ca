#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/program.h"
#include "unet/engine/adapters.h"
#include "unet/model/plans.h"
#include "unet/devices.h"
#include "tests/gpu/gpu_rig.h"

void must(struct bench *b, int status) {
  if (status == 0)
    return;
  fprintf(stderr, "%s\n", b->err.message);
  exit(1);
}

static void print_line(void *opaque, enum log_level level, const char *text) {
  (void)opaque, (void)level;
  fprintf(stderr, "%s\n", text);
}

const struct log lines_log = {.line = print_line};

void open_model(struct bench *b, const char *folder) {
  must(b, checkpoint_open(&b->checkpoint, &(struct checkpoint_sources){.model = folder}, &lines_log, &b->err));
  must(b, model_init(&b->model, b->checkpoint, &b->resources, &b->err));
}

/* --- controls --- */

static enum map_kind control_map(void) {
  const char *word = getenv("MAP");
  return word ? map_find(word, strlen(word)) : MAP_PICTURE;
}

void open_controls(struct bench *b) {
  static const char *const names[CONTROLS_MAX] = {"control_1", "control_2", "control_3", "control_4"};
  const char *list = getenv("CONTROLS");
  while (list && *list && b->network_count < CONTROLS_MAX) {
    char path[512];
    int i = b->network_count, length = (int)strcspn(list, ",");
    snprintf(path, sizeof path, "%.*s", length, list);
    must(b, control_network_open(&b->networks[i], path, names[i], NULL, &b->err));
    must(b, model_add_control(&b->model, i, control_map(), b->networks[i], &b->err));
    b->network_count++;
    list += length + (list[length] == ',');
  }
}

unsigned control_mask(const struct bench *b) {
  return (1u << b->network_count) - 1;
}

void set_controls(const struct bench *b, struct run_params *run) {
  char *rest = getenv("WEIGHT");
  float weight = 1;
  for (int i = 0; i < b->network_count; i++) {
    if (rest && *rest) {
      weight = strtof(rest, &rest);
      rest += *rest == ',';
    }
    for (int step = 0; step < CALLS_MAX; step++)
      run->control[i].gain[step] = weight;
    run->control[i].map = weight != 0 || getenv("SHOWN");
    map_standard(control_map(), run->control[i].param);
  }
}

/* --- style pictures --- */

void open_style(struct bench *b, const char *model) {
  const char *both = getenv("STYLE"), *comma = both ? strchr(both, ',') : NULL;
  char path[512];
  if (!comma)
    return;
  snprintf(path, sizeof path, "%.*s", (int)(comma - both), both);
  must(b, ip_adapter_open(&b->ip_adapter, path, comma + 1, &b->err));
  must(b, style_init(&b->model.style, b->ip_adapter, model, &b->model.unet, &b->resources, &b->err));
}

void open_device(struct bench *b) {
  const char *name = getenv("DEVICE");
  struct device_options options = {.name = name ? name : "cuda", .cache_dir = getenv("TUNING_DIR"), .log = &lines_log};
  if (device_open(&b->device, &b->resources, &options, &b->err) < 0) {
    printf("skipped: %s\n", b->err.message);
    exit(SKIPPED);
  }
  b->on_cuda = !name || !strncmp(name, "cuda", 4);
  if (b->on_cuda)
    cuda_device(b->device)->apart = getenv("APART") != NULL;
}

void close_model(struct bench *b) {
  device_close(&b->device);
  adapters_free(&b->adapters);
  model_free(&b->model);
  resources_free(&b->resources);
  for (int i = 0; i < CONTROLS_MAX; i++)
    control_network_close(&b->networks[i]);
  ip_adapter_close(&b->ip_adapter);
  checkpoint_close(&b->checkpoint);
}

static void run_plan(struct bench *b, struct plan *plan, const struct run_params *run) {
  struct program *program;
  must(b, device_prepare(b->device, &program, plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  must(b, device_run(b->device, program, run, &b->err));
  device_release(b->device, &program);
  plan_free(plan);
}

void run_prompt(struct bench *b, struct run_params *run) {
  struct plan plan;
  for (int i = 0; i < b->checkpoint->text_encoder_count; i++) {
    run->end = clip_end(&b->checkpoint->text_encoders[i], run->tokens);
    must(b, plans_text(&b->model, i, &plan, &b->err));
    run_plan(b, &plan, run);
  }
  must(b, plans_keys(&b->model, 1, &plan, &b->err));
  run_plan(b, &plan, run);
  for (int i = 0; i < b->network_count; i++) {
    if (!tensor_exists(b->model.controls[i].keys[0]))
      continue;
    must(b, plans_control_keys(&b->model, i, 1, &plan, &b->err));
    run_plan(b, &plan, run);
  }
}

void run_style(struct bench *b, const char *folder, struct run_params *run) {
  struct plan plan;
  struct program *frame = b->program;
  struct tensor input;
  must(b, plans_style(&b->model, false, &plan, &input, &b->err));
  must(b, device_prepare(b->device, &b->program, &plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  write_input(b, folder, "vision.in.f32", input);
  must(b, device_run(b->device, b->program, &(struct run_params){.slot = 0}, &b->err));
  device_release(b->device, &b->program);
  plan_free(&plan);
  b->program = frame;
  run->style[0] = (struct style_params){.weight = 1, .part = {1, 1, 1}};
}

void run_times(struct bench *b, const struct frame_shape *shape, const struct run_params *run) {
  struct plan plan;
  struct program *program;
  must(b, plans_times(&b->model, shape, &plan, &b->err));
  must(b, device_prepare(b->device, &program, &plan, &(struct program_options){.owner = b->program}, &b->err));
  must(b, device_run(b->device, program, run, &b->err));
  device_release(b->device, &program);
  plan_free(&plan);
}

/* --- files --- */

void *read_file(const char *folder, const char *name, size_t bytes) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  void *data = malloc(bytes);
  if (!file || !data || fread(data, 1, bytes, file) != bytes) {
    fprintf(stderr, "%s: cannot read %zu bytes\n", path, bytes);
    exit(1);
  }
  fclose(file);
  return data;
}

void write_input(struct bench *b, const char *folder, const char *name, struct tensor t) {
  float *data = read_file(folder, name, tensor_elements(t) * sizeof *data);
  must(b, device_write(b->device, b->program, t, 0, data, tensor_elements(t), &b->err));
  free(data);
}

void write_output(struct bench *b, const char *folder, const char *name, struct tensor t) {
  char path[512];
  float *data = malloc(tensor_elements(t) * sizeof *data);
  must(b, device_read(b->device, b->program, t, 0, data, tensor_elements(t), &b->err));
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(data, sizeof *data, tensor_elements(t), file) != tensor_elements(t) || fclose(file) != 0) {
    fprintf(stderr, "%s: cannot write\n", path);
    exit(1);
  }
  free(data);
}

FILE *open_output(const char *folder, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file) {
    fprintf(stderr, "%s: cannot write\n", path);
    exit(1);
  }
  return file;
}
