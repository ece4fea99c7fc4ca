/* A checkpoint's networks and frames on the CUDA device: raw tensors in and out for tests/peers/sd_shapes.py, times for
 * people. Not a test by itself.
 *
 *   gpu_frame MODEL networks FOLDER [ADAPTER]
 *       reads FOLDER/NAME.in.f32 and writes FOLDER/NAME.out.f32 for text, encode, unet and decode, of SDXL also text2
 *       and pooled; the text encoders read tokens.i32 instead, the U-Net also what is named after them. With an adapter
 *       also merged.f32, each MERGED_APARTth row of each weight that it changes, and merged.txt, their names and sizes
 *   gpu_frame MODEL picture FOLDER STEPS [SAMPLER]
 *       reads picture.in.rgba, noise.f32 and tokens.i32, for samplers with noise of their own also noises.f32, a sample
 *       for each step; writes picture.out.rgba and the coefficients, steps.txt: of each call timestep, x, model, noise,
 *       keep_x, keep_model and those of earlier predictions
 *   gpu_frame MODEL time FRAMES [W H [STEPS]]
 *       times of whole frames; of a loop, kernels and calls are one iteration's
 *   gpu_frame MODEL launches FILE [W H [STEPS]]
 *       time of each launch of a frame to FILE, largest first; of a loop, one iteration's
 *   gpu_frame VAE encode|decode FOLDER W H RUNS
 *       an autoencoder's folder alone: reads FOLDER/encode.in.f32 or decode.in.f32, writes .out.f32 and the time of
 * each launch, largest first, and prints the times of so many runs
 *   gpu_frame IP_ADAPTER vision FOLDER IMAGE_ENCODER
 *       an IP-Adapter's image encoder alone: reads FOLDER/vision.in.f32, a picture's patches, and writes
 *       embedding.out.f32 and tokens.out.f32, what the linear adapter and the others read of it
 *   gpu_frame DEPTH depth FOLDER W H RUNS
 *       a depth model's folder alone: reads FOLDER/depth.in.f32, a picture in 0..1, writes depth.out.f32 and
 *       depth.launches.txt, and prints the times of so many runs, then those of the whole map
 *
 * With APART in the environment no launch does several ops. Runs that are timed make BATCH pictures each, or 1. DEVICE
 * names another device for networks and picture. A model with guidance as an embedding gets GUIDANCE. CONTROLS, folders
 * with commas between, are control networks of pictures and frames, whose map is of the kind MAP, or the picture as it
 * is, and whose weights are WEIGHT, with commas between, the last for all behind it, or 1. STYLE, an IP-Adapter and its
 * image encoder with a comma between, has pictures follow the patches in FOLDER/vision.in.f32. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/program.h"
#include "cuda/timing.h"
#include "unet/base/picture.h"
#include "unet/base/text_file.h"
#include "unet/sample/noise.h"
#include "unet/engine/adapters.h"
#include "unet/model/depth.h"
#include "unet/model/plans.h"
#include "unet/model/vision.h"
#include "unet/devices.h"

enum { SKIPPED = 77, MERGED_APART = 8 };

static const float GUIDANCE = 8.5f;

struct bench {
  struct checkpoint *checkpoint;
  struct resources resources;
  struct model model;
  struct device *device;
  struct plan plan;
  struct program *program;
  struct adapters adapters;
  struct control_network *networks[CONTROLS_MAX];
  int network_count;
  struct ip_adapter *ip_adapter; /* NULL: none */
  bool on_cuda;
  struct error err;
};

static void must(struct bench *b, int status) {
  if (status == 0)
    return;
  fprintf(stderr, "%s\n", b->err.message);
  exit(1);
}

static void print_line(void *opaque, enum log_level level, const char *text) {
  (void)opaque, (void)level;
  fprintf(stderr, "%s\n", text);
}

static const struct log lines_log = {.line = print_line};

static void open_model(struct bench *b, const char *folder) {
  must(b, checkpoint_open(&b->checkpoint, &(struct checkpoint_sources){.model = folder}, &lines_log, &b->err));
  must(b, model_init(&b->model, b->checkpoint, &b->resources, &b->err));
}

/* --- controls --- */

static enum map_kind control_map(void) {
  const char *word = getenv("MAP");
  return word ? map_find(word, strlen(word)) : MAP_PICTURE;
}

static void open_controls(struct bench *b) {
  static const char *const names[CONTROLS_MAX] = {"control_1", "control_2", "control_3", "control_4"};
  const char *list = getenv("CONTROLS");
  while (list && *list && b->network_count < CONTROLS_MAX) {
    char path[512];
    int i = b->network_count, length = (int)strcspn(list, ",");
    snprintf(path, sizeof path, "%.*s", length, list);
    must(b, control_network_open(&b->networks[i], path, names[i], &b->err));
    must(b, model_add_control(&b->model, i, control_map(), b->networks[i], &b->err));
    b->network_count++;
    list += length + (list[length] == ',');
  }
}

static unsigned control_mask(const struct bench *b) {
  return (1u << b->network_count) - 1;
}

static void set_controls(const struct bench *b, struct run_params *run) {
  char *rest = getenv("WEIGHT");
  float weight = 1;
  for (int i = 0; i < b->network_count; i++) {
    if (rest && *rest) {
      weight = strtof(rest, &rest);
      rest += *rest == ',';
    }
    for (int step = 0; step < CALLS_MAX; step++)
      run->control[i].gain[step] = weight;
    run->control[i].map = weight != 0;
    map_standard(control_map(), run->control[i].param);
  }
}

/* --- style pictures --- */

static void open_style(struct bench *b, const char *model) {
  const char *both = getenv("STYLE"), *comma = both ? strchr(both, ',') : NULL;
  char path[512];
  if (!comma)
    return;
  snprintf(path, sizeof path, "%.*s", (int)(comma - both), both);
  must(b, ip_adapter_open(&b->ip_adapter, path, comma + 1, &b->err));
  must(b, style_init(&b->model.style, b->ip_adapter, model, &b->model.unet, &b->resources, &b->err));
}

static void open_device(struct bench *b) {
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

static void close_model(struct bench *b) {
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

/* The prompt of all text encoders, with the same tokens, to keys and values. */
static void run_prompt(struct bench *b, struct run_params *run) {
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

static void write_input(struct bench *b, const char *folder, const char *name, struct tensor t);

/* The picture as the first style. */
static void run_style(struct bench *b, const char *folder, struct run_params *run) {
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

/* The time projections of the run's steps, for the frame program. */
static void run_times(struct bench *b, const struct frame_shape *shape, const struct run_params *run) {
  struct plan plan;
  struct program *program;
  must(b, plans_times(&b->model, shape, &plan, &b->err));
  must(b, device_prepare(b->device, &program, &plan, &(struct program_options){.owner = b->program}, &b->err));
  must(b, device_run(b->device, program, run, &b->err));
  device_release(b->device, &program);
  plan_free(&plan);
}

/* --- networks --- */

static void *read_file(const char *folder, const char *name, size_t bytes) {
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

static void write_input(struct bench *b, const char *folder, const char *name, struct tensor t) {
  float *data = read_file(folder, name, tensor_elements(t) * sizeof *data);
  must(b, device_write(b->device, b->program, t, 0, data, tensor_elements(t), &b->err));
  free(data);
}

static void write_output(struct bench *b, const char *folder, const char *name, struct tensor t) {
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

static FILE *open_output(const char *folder, const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (!file) {
    fprintf(stderr, "%s: cannot write\n", path);
    exit(1);
  }
  return file;
}

/* "unet" or "text_encoder": the component that has the tensor. */
static const char *component_of(const struct bench *b, const struct safetensor *tensor) {
  const struct component *component;
  for (int i = 0; (component = checkpoint_component(b->checkpoint, i)); i++)
    if (safetensors_find(component->files, tensor->name) == tensor)
      return component->name;
  return "";
}

static void write_merged(struct bench *b, const struct bound *bound, FILE *names, FILE *data) {
  const struct resource *r = &b->resources.list[bound->resource];
  const struct safetensor *tensor = bound->place->tensor;
  size_t row = resource_row_elements(r), count = bound->rows * row;
  struct tensor t = resources_weight(&b->resources, r->name, r->n, r->h, r->w, r->c, r->parts, r->part_count, &b->err);
  float *values = malloc(count * sizeof *values);
  if (!values)
    exit(1);
  must(b, device_read(b->device, NULL, t, bound->first * row, values, count, &b->err));
  fprintf(names, "%s/%s %zu %zu\n", component_of(b, tensor), tensor->name, bound->rows, row);
  for (size_t i = 0; i < bound->rows; i += MERGED_APART)
    fwrite(values + i * row, sizeof *values, row, data);
  free(values);
}

/* At weight 1, in what the program reads. */
static void merge_adapter(struct bench *b, const char *folder, const char *path) {
  const struct adapter_options options = {.log = &lines_log};
  const float weights[ADAPTERS_MAX] = {1};
  must(b, adapters_open(&b->adapters, &path, 1, b->checkpoint, &options, &b->resources, &b->err));
  must(b, adapters_apply(&b->adapters, b->device, weights, &b->err));
  FILE *names = open_output(folder, "merged.txt"), *data = open_output(folder, "merged.f32");
  for (int i = 0; i < b->adapters.bound_count; i++)
    write_merged(b, &b->adapters.bound[i], names, data);
  if (fclose(names) != 0 || fclose(data) != 0)
    exit(1);
}

static void run_networks(struct bench *b, const char *folder, const char *adapter) {
  const struct checkpoint *c = b->checkpoint;
  const struct unet_config *u = &c->predictors[0].config;
  const struct text_encoder *encoder = &c->text_encoders[0];
  const struct autoencoder *autoencoder = &c->autoencoder;
  const struct autoencoder_kind *kind = autoencoder_kind(autoencoder);
  struct plan *plan = &b->plan;
  int scale = autoencoder->scale, h = u->sample_height, w = u->sample_width, positions = encoder->config.positions;
  struct run_params run = {.guidance = GUIDANCE, .step = {{.timestep = 499}}};
  int *tokens = read_file(folder, "tokens.i32", (size_t)positions * sizeof *tokens);
  memcpy(run.tokens, tokens, (size_t)positions * sizeof *tokens);
  free(tokens);
  if (b->on_cuda)
    cuda_device(b->device)->tune_always = true;
  plan_init(plan, &b->resources);
  struct tensor picture = plan_input(plan, 1, h * scale, w * scale, 3, ELEMENT_DEVICE);
  struct tensor latent = plan_input(plan, 1, h, w, autoencoder->latent_channels, ELEMENT_PRECISE);
  struct tensor x = plan_input(plan, 1, h, w, u->in_channels, ELEMENT_DEVICE);
  struct tensor hidden = plan_input(plan, 1, 1, positions, encoder->config.hidden_size, ELEMENT_DEVICE), hidden2 = {0};
  const struct text_encoder *second = c->text_encoder_count > 1 ? &c->text_encoders[1] : NULL;
  float width = (float)(w * scale), height = (float)(h * scale);
  struct unet_moments of = {1, {1, 1}, {0}, {height, width, 0, 0, height, width}};
  struct clip_text texts[2] = {0};
  if (second) {
    hidden2 = plan_input(plan, 1, 1, positions, second->config.hidden_size, ELEMENT_DEVICE);
    of.pooled = plan_input(plan, 1, 1, 1, second->config.projection_dim, ELEMENT_DEVICE);
    run.end = clip_end(second, run.tokens);
  }
  for (int i = 0; i < c->text_encoder_count; i++) { /* copies: layers behind may take the place of what they read */
    texts[i] = clip_encode(&c->text_encoders[i], plan);
    texts[i].hidden = plan_norm(plan, "copy", (struct op_norm){.x = texts[i].hidden});
  }
  struct tensor encoded = kind->encode(autoencoder, plan, picture);
  struct tensor time = unet_times(&b->model.unet, plan, &of, (struct tensor){0});
  struct unet_call call = unet_begin(&b->model.unet, plan, time, unet_texts(&b->model.unet, plan, hidden, hidden2));
  struct skips skips;
  struct tensor mid = unet_down(&call, x, (struct tensor){0}, &skips), y = unet_up(&call, mid, &skips);
  struct tensor decoded = kind->decode(autoencoder, plan, latent);
  must(b, plan_finish(plan, &b->err));
  must(b, device_prepare(b->device, &b->program, plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  must(b, device_poison(b->device, b->program, &b->err));
  write_input(b, folder, "encode.in.f32", picture);
  write_input(b, folder, "decode.in.f32", latent);
  write_input(b, folder, "unet.in.f32", x);
  write_input(b, folder, "text.in.f32", hidden);
  if (second) {
    write_input(b, folder, "text2.in.f32", hidden2);
    write_input(b, folder, "pooled.in.f32", of.pooled);
  }
  if (adapter)
    merge_adapter(b, folder, adapter);
  must(b, device_run(b->device, b->program, &run, &b->err));
  write_output(b, folder, "text.out.f32", texts[0].hidden);
  if (second) {
    write_output(b, folder, "text2.out.f32", texts[1].hidden);
    write_output(b, folder, "pooled.out.f32", texts[1].pooled);
  }
  write_output(b, folder, "encode.out.f32", encoded);
  write_output(b, folder, "unet.out.f32", y);
  write_output(b, folder, "decode.out.f32", decoded);
  device_release(b->device, &b->program);
  plan_free(plan);
}

/* --- one picture --- */

/* As a command line chooses them: strength 0.5, and the checkpoint's sampler or one that takes its place. */
static struct sampling choose_sampling(const struct bench *b, int steps, const char *word) {
  const struct scheduler_config *config = &b->checkpoint->scheduler;
  enum sampler sampler = word ? sampler_of_word(word) : config->sampler;
  if (word && sampler == SAMPLER_AUTO) {
    fprintf(stderr, "%s: there is no such sampler\n", word);
    exit(2);
  }
  bool own = sampler_has_lcm_spacing(sampler);
  return (struct sampling){.sampler = sampler,
                           .spacing = own && config->spacing != SPACING_LCM ? SPACING_LCM : config->spacing,
                           .sigmas = config->sigmas,
                           .steps = steps,
                           .strength = 0.5,
                           .eta = sampler_usual_eta(sampler)};
}

static void make_steps(struct bench *b, const char *folder, const struct sampling *sampling, struct run_params *run) {
  struct sampler_table table;
  char path[512];
  sampler_table(&b->checkpoint->scheduler, sampling, &table);
  memcpy(run->step, table.step, sizeof run->step);
  run->start_latent = table.start_latent;
  run->start_noise = table.start_noise;
  snprintf(path, sizeof path, "%s/steps.txt", folder);
  FILE *file = fopen(path, "w");
  if (!file)
    exit(1);
  fprintf(file, "%.9g %.9g\n", (double)run->start_latent, (double)run->start_noise);
  for (int i = 0; i < table.steps; i++) {
    const struct step_params *s = &run->step[i];
    fprintf(file, "%.9g %.9g %.9g %.9g %.9g %.9g", (double)s->timestep, (double)s->x, (double)s->model,
            (double)s->noise, (double)s->keep_x, (double)s->keep_model);
    for (int j = 0; j < EARLIER_MAX; j++)
      fprintf(file, " %.9g", (double)s->earlier[j]);
    fputc('\n', file);
  }
  fclose(file);
}

static void write_picture(const char *folder, const struct frame *picture) {
  char path[512];
  snprintf(path, sizeof path, "%s/picture.out.rgba", folder);
  FILE *file = fopen(path, "wb");
  for (int y = 0; file && y < picture->height; y++)
    fwrite(picture->plane[0] + (long)y * picture->pitch[0], 4, (size_t)picture->width, file);
  if (!file || fclose(file) != 0)
    exit(1);
}

static void run_picture(struct bench *b, const char *folder, int steps, const char *sampler) {
  struct sampling sampling = choose_sampling(b, steps, sampler);
  int w, h, positions = b->checkpoint->text_encoders[0].config.positions;
  model_native_size(&b->model, &w, &h);
  struct frame_shape shape = {.width = w,
                              .height = h,
                              .steps = sampler_calls(sampling.sampler, steps),
                              .noise_samples = sampler_noise_samples(sampling.sampler, steps),
                              .earlier = sampler_earlier(&b->checkpoint->scheduler, sampling.sampler, steps),
                              .rows = {1, 1},
                              .controls = control_mask(b)};
  struct run_params run = {.guidance = GUIDANCE,
                           .slot = SLOT_PRESET_1,
                           .mix = 1,
                           .prompt = {{{SLOT_PRESET_1}, {1}}},
                           .geometry = {{0, 0, (float)w, (float)h, 0, 0, w, h}}};
  struct frame_noise noise;
  int *tokens = read_file(folder, "tokens.i32", (size_t)positions * sizeof *tokens);
  memcpy(run.tokens, tokens, (size_t)positions * sizeof *tokens);
  free(tokens);
  make_steps(b, folder, &sampling, &run);
  set_controls(b, &run);
  shape.styles = b->ip_adapter != NULL;
  must(b, plans_frame(&b->model, &shape, &b->plan, &noise, &b->err));
  must(b, device_prepare(b->device, &b->program, &b->plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  run_prompt(b, &run);
  if (b->ip_adapter)
    run_style(b, folder, &run);
  run_times(b, &shape, &run);
  write_input(b, folder, "noise.f32", noise.start);
  if (shape.noise_samples)
    write_input(b, folder, "noises.f32", noise.steps);
  uint8_t *pixels = read_file(folder, "picture.in.rgba", (size_t)w * (size_t)h * 4);
  struct frame frame = {.format = PIXEL_RGBA, .width = w, .height = h, .plane = {pixels}, .pitch = {4 * w}}, picture;
  must(b, device_submit(b->device, b->program, &run, &frame, &b->err));
  must(b, device_collect(b->device, b->program, &picture, &b->err));
  write_picture(folder, &picture);
  frame_release(&picture);
  free(pixels);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
}

/* --- frames --- */

static void prepare_frame(struct bench *b, struct frame_shape *shape, int argc, char **argv) {
  int width, height;
  struct frame_noise noise;
  struct run_params prompt = {.guidance = 1, .slot = SLOT_PRESET_1, .prompt = {{{SLOT_PRESET_1}, {1}}}};
  model_native_size(&b->model, &width, &height);
  *shape = (struct frame_shape){.width = argc > 5 ? atoi(argv[4]) : width,
                                .height = argc > 5 ? atoi(argv[5]) : height,
                                .steps = argc > 6 ? atoi(argv[6]) : 1,
                                .rows = {1, 1},
                                .batch = getenv("BATCH") ? atoi(getenv("BATCH")) : 1,
                                .controls = control_mask(b)};
  must(b, plans_frame(&b->model, shape, &b->plan, &noise, &b->err));
  must(b, device_prepare(b->device, &b->program, &b->plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  run_prompt(b, &prompt);
  run_times(b, shape, &prompt);
  size_t count = tensor_elements(noise.start);
  float *sample = malloc(count * sizeof *sample);
  noise_fill(1, 0, 0, sample, count);
  must(b, device_write(b->device, b->program, noise.start, 0, sample, count, &b->err));
  free(sample);
}

static struct run_params frame_params(const struct bench *b, const struct frame_shape *shape) {
  struct run_params run = {
      .start_latent = 0.526944f, .start_noise = 0.8499f, .mix = 1, .prompt = {{{SLOT_PRESET_1}, {1}}}};
  for (int i = 0; i < shape->batch; i++)
    run.geometry[i] =
        (struct geometry){0, 0, (float)shape->width, (float)shape->height, 0, 0, shape->width, shape->height};
  for (int i = 0; i < shape->steps; i++)
    run.step[i] = (struct step_params){.timestep = 499.0f / (float)(i + 1), .x = 1.89774f, .model = -1.61289f};
  set_controls(b, &run);
  return run;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void print_times(const char *what, double *times, int count) {
  qsort(times, (size_t)count, sizeof *times, by_value);
  printf("%-44s median %7.3f  p95 %7.3f  p99 %7.3f  max %7.3f ms\n", what, 1e3 * times[count / 2],
         1e3 * times[count * 95 / 100], 1e3 * times[count * 99 / 100], 1e3 * times[count - 1]);
}

/* Device planes to device picture: the graph alone, by the device's own clock. */
static void time_device(struct bench *b, double *times, int count) {
  struct cuda_device *device = cuda_device(b->device);
  struct cuda_program *program = cuda_program(b->program);
  cudaEvent_t start, stop;
  float milliseconds = 0;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  for (int i = 0; i < count; i++) {
    cudaEventRecord(start, device->queue.stream);
    cudaGraphLaunch(program_graph(program, 0, false), device->queue.stream);
    cudaEventRecord(stop, device->queue.stream);
    if (cudaEventSynchronize(stop) != cudaSuccess || cudaEventElapsedTime(&milliseconds, start, stop) != cudaSuccess)
      exit(1);
    times[i] = 1e-3 * (double)milliseconds;
  }
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
}

/* Frames of noise for a run, all the same; the caller frees the first one's plane[0]. */
static void make_frames(const struct frame_shape *shape, struct frame frames[BATCH_MAX]) {
  size_t bytes = (size_t)shape->width * (size_t)shape->height;
  uint8_t *planes = malloc(bytes * 3 / 2);
  for (size_t i = 0; i < bytes * 3 / 2; i++)
    planes[i] = (uint8_t)(i * 2654435761u >> 24);
  for (int i = 0; i < BATCH_MAX; i++)
    frames[i] = (struct frame){.format = PIXEL_NV12,
                               .width = shape->width,
                               .height = shape->height,
                               .plane = {planes, planes + bytes},
                               .pitch = {shape->width, shape->width}};
}

static void time_frames(struct bench *b, int argc, char **argv, double started) {
  int frames = atoi(argv[3]);
  double *times = malloc((size_t)frames * sizeof *times);
  struct frame_shape shape;
  prepare_frame(b, &shape, argc, argv);
  struct run_params run = frame_params(b, &shape);
  struct frame input[BATCH_MAX];
  make_frames(&shape, input);
  struct device_counters before, after;
  for (int i = 0; i < 20; i++) {
    must(b, device_submit(b->device, b->program, &run, input, &b->err));
    must(b, device_collect(b->device, b->program, NULL, &b->err));
    if (i == 0)
      printf("start to first frame: %.2f s\n", clock_seconds() - started);
  }
  device_get_counters(b->device, &before);
  for (int i = 0; i < frames; i++) {
    double start = clock_seconds();
    must(b, device_submit(b->device, b->program, &run, input, &b->err));
    must(b, device_collect(b->device, b->program, NULL, &b->err));
    times[i] = clock_seconds() - start;
  }
  device_get_counters(b->device, &after);
  struct device_info info;
  device_get_info(b->device, &info);
  printf("%s: %s\n%dx%d, %d steps, %d pictures a run\n", info.name, info.detail, shape.width, shape.height, shape.steps,
         shape.batch);
  print_times("host planes to host picture, one at a time", times, frames);
  printf("a run: %.2f launches, %.2f waits, %.2f allocations; %.1f MB at most, %d kernels and library calls\n",
         (double)(after.launches - before.launches) / frames, (double)(after.waits - before.waits) / frames,
         (double)(after.allocations - before.allocations) / frames, (double)after.peak_bytes / 1e6,
         cuda_program(b->program)->launches.count + 1);
  double start = clock_seconds();
  must(b, device_submit(b->device, b->program, &run, input, &b->err));
  for (int i = 1; i < frames; i++) {
    must(b, device_submit(b->device, b->program, &run, input, &b->err));
    must(b, device_collect(b->device, b->program, NULL, &b->err));
  }
  must(b, device_collect(b->device, b->program, NULL, &b->err));
  printf("two in flight: %.1f pictures a second\n", frames * shape.batch / (clock_seconds() - start));
  time_device(b, times, frames);
  print_times("device planes to device picture", times, frames);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  free(times);
  free((void *)input[0].plane[0]);
}

/* --- single launches --- */

struct line {
  double seconds;
  char text[256];
};

static int slowest_first(const void *a, const void *b) {
  double x = ((const struct line *)a)->seconds, y = ((const struct line *)b)->seconds;
  return x > y ? -1 : x < y;
}

/* What runs the launch, on which shape, for which op. */
static void describe(const struct launch *launch, const struct op *op, char *out, size_t size) {
  char name[96], shape[96] = "";
  const struct gemm_args *g = launch->kind == LAUNCH_GEMM || launch->kind == LAUNCH_NARROW ? &launch->gemm
                              : launch->kind == LAUNCH_PRODUCT                             ? &launch->product.gemm
                              : launch->kind == LAUNCH_HALO                                ? &launch->halo.gemm
                                                                                           : NULL;
  launch_describe(launch, name, sizeof name);
  if (g)
    snprintf(shape, sizeof shape, "%dx%dx%d c%d+%d to %d k%d s%d: ", g->n, g->h, g->w, g->c, g->c2, g->columns,
             g->kernel, g->stride);
  else if (op->type == OP_CONV || op->type == OP_LINEAR)
    snprintf(shape, sizeof shape, "%dx%dx%d c%d+%d to %d k%d: ", op->conv.x.n, op->conv.x.h, op->conv.x.w, op->conv.x.c,
             op->conv.x2.c, op->conv.weight.n, op->conv.weight.h);
  snprintf(out, size, "%-20s %s%s", name, shape, op->name);
}

/* Times each launch of the program by itself, into a file. */
static void write_launches(struct bench *b, const char *path) {
  struct cuda_device *device = cuda_device(b->device);
  struct cuda_program *program = cuda_program(b->program);
  int count = program->launches.count;
  bool disturbed;
  struct line *lines = malloc((size_t)count * sizeof *lines);
  double total[LAUNCH_KINDS] = {0}, sum = 0;
  int launches[LAUNCH_KINDS] = {0};
  FILE *file = fopen(path, "w");
  if (!file || !lines)
    exit(1);
  for (int i = 0; i < count; i++) {
    const struct launch *launch = &program->launches.list[i];
    struct launches one = {.list = (struct launch *)launch, .count = 1};
    lines[i].seconds = launches_time(device, &device->queue, &one, INFINITY, &disturbed);
    describe(launch, &b->plan.ops[launch->op], lines[i].text, sizeof lines[i].text);
    total[launch->kind] += lines[i].seconds;
    launches[launch->kind]++;
    sum += lines[i].seconds;
  }
  qsort(lines, (size_t)count, sizeof *lines, slowest_first);
  for (int i = 0; i < count; i++)
    fprintf(file, "%8.2f us  %s\n", 1e6 * lines[i].seconds, lines[i].text);
  fclose(file);
  printf("launches one by one, warm: %.3f ms in all\n", 1e3 * sum);
  for (int i = 0; i < LAUNCH_KINDS; i++)
    if (launches[i])
      printf("  %-16s %4d launches %8.3f ms\n", launch_kind_name((enum launch_kind)i), launches[i], 1e3 * total[i]);
  free(lines);
}

static void time_launches(struct bench *b, int argc, char **argv) {
  struct frame_shape shape;
  prepare_frame(b, &shape, argc, argv);
  struct run_params run = frame_params(b, &shape);
  struct frame input[BATCH_MAX];
  make_frames(&shape, input);
  must(b, device_submit(b->device, b->program, &run, input, &b->err)); /* the launches then find a run's parameters */
  must(b, device_collect(b->device, b->program, NULL, &b->err));
  write_launches(b, argv[3]);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  free((void *)input[0].plane[0]);
}

/* --- an autoencoder alone --- */

static void open_autoencoder(struct bench *b, const char *folder) {
  char path[512], *text = NULL;
  struct autoencoder *autoencoder;
  b->checkpoint = calloc(1, sizeof *b->checkpoint);
  if (!b->checkpoint)
    exit(1);
  autoencoder = &b->checkpoint->autoencoder;
  autoencoder->weights = (struct component){.folder = strdup(folder), .name = "vae", .prefix = ""};
  snprintf(path, sizeof path, "%s/config.json", folder);
  must(b, text_read(path, 1 << 20, &text, NULL, &b->err));
  must(b, autoencoder_config_parse(autoencoder, text, path, &b->err));
  must(b, safetensors_open(&autoencoder->weights.files, folder, "diffusion_pytorch_model", &b->err));
  free(text);
}

static void run_autoencoder(struct bench *b, bool encodes, char **argv) {
  const struct autoencoder *autoencoder = &b->checkpoint->autoencoder;
  const struct autoencoder_kind *kind = autoencoder_kind(autoencoder);
  const char *folder = argv[3], *name = argv[2];
  int w = atoi(argv[4]), h = atoi(argv[5]), runs = atoi(argv[6]), scale = autoencoder->scale;
  double *times = malloc((size_t)runs * sizeof *times);
  char path[512];
  struct tensor x = encodes
                        ? plan_input(&b->plan, 1, h, w, 3, ELEMENT_DEVICE)
                        : plan_input(&b->plan, 1, h / scale, w / scale, autoencoder->latent_channels, ELEMENT_PRECISE);
  struct tensor y = (encodes ? kind->encode : kind->decode)(autoencoder, &b->plan, x);
  cuda_device(b->device)->tune_always = true;
  must(b, plan_finish(&b->plan, &b->err));
  must(b, device_prepare(b->device, &b->program, &b->plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  must(b, device_poison(b->device, b->program, &b->err));
  snprintf(path, sizeof path, "%s.in.f32", name);
  write_input(b, folder, path, x);
  must(b, device_run(b->device, b->program, &(struct run_params){0}, &b->err));
  snprintf(path, sizeof path, "%s.out.f32", name);
  write_output(b, folder, path, y);
  time_device(b, times, runs);
  print_times(name, times, runs);
  struct device_counters counters;
  device_get_counters(b->device, &counters);
  printf("%.1f MB at most, %.1f MB of them working memory\n", (double)counters.peak_bytes / 1e6,
         (double)(cuda_program(b->program)->arena_bytes + cuda_program(b->program)->scratch_bytes) / 1e6);
  snprintf(path, sizeof path, "%s/%s.launches.txt", folder, name);
  write_launches(b, path);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  free(times);
}

/* --- a depth model alone --- */

static void prepare_depth(struct bench *b) {
  cuda_device(b->device)->tune_always = true;
  must(b, plan_finish(&b->plan, &b->err));
  must(b, device_prepare(b->device, &b->program, &b->plan, &(struct program_options){PIXEL_RGBA}, &b->err));
}

static void run_depth(struct bench *b, const struct depth *depth, char **argv) {
  const char *folder = argv[3];
  int w = atoi(argv[4]), h = atoi(argv[5]), runs = atoi(argv[6]);
  double *times = malloc((size_t)runs * sizeof *times);
  char path[512];
  struct tensor x = plan_input(&b->plan, 1, h, w, 3, ELEMENT_DEVICE);
  struct tensor y = depth_predict(depth, &b->plan, x, 1, 0);
  prepare_depth(b);
  must(b, device_poison(b->device, b->program, &b->err));
  write_input(b, folder, "depth.in.f32", x);
  must(b, device_run(b->device, b->program, &(struct run_params){0}, &b->err));
  write_output(b, folder, "depth.out.f32", y);
  time_device(b, times, runs);
  print_times("depth", times, runs);
  snprintf(path, sizeof path, "%s/depth.launches.txt", folder);
  write_launches(b, path);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  plan_init(&b->plan, &b->resources);
  x = plan_input(&b->plan, 1, h, w, 3, ELEMENT_DEVICE);
  depth_map(depth, &b->plan, x, 1, 0, 0, (struct tensor){0});
  prepare_depth(b);
  time_device(b, times, runs);
  print_times("map", times, runs);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  free(times);
}

/* --- an image encoder alone --- */

static void run_vision(struct bench *b, char **argv) {
  const struct vision_config *vision = &b->ip_adapter->vision;
  struct tensor x = plan_input(&b->plan, 1, 1, vision_tokens(vision) - 1, 3 * vision->patch_size * vision->patch_size,
                               ELEMENT_DEVICE);
  struct tensor y[2];
  for (int embedding = 0; embedding < 2; embedding++)
    y[embedding] = vision_encode(&b->ip_adapter->encoder, vision, &b->plan, x, embedding);
  must(b, plan_finish(&b->plan, &b->err));
  must(b, device_prepare(b->device, &b->program, &b->plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  must(b, device_poison(b->device, b->program, &b->err));
  write_input(b, argv[3], "vision.in.f32", x);
  must(b, device_run(b->device, b->program, &(struct run_params){0}, &b->err));
  write_output(b, argv[3], "tokens.out.f32", y[0]);
  write_output(b, argv[3], "embedding.out.f32", y[1]);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
}

int main(int argc, char **argv) {
  struct bench b = {0};
  struct depth *depth = NULL;
  double started = clock_seconds();
  if (argc < 4) {
    fprintf(stderr, "usage: gpu_frame MODEL networks FOLDER [ADAPTER] | picture FOLDER STEPS [SAMPLER] | time FRAMES "
                    "[W H [STEPS]] | "
                    "launches FILE [W H [STEPS]]\n"
                    "       gpu_frame VAE encode|decode FOLDER W H RUNS\n"
                    "       gpu_frame IP_ADAPTER vision FOLDER IMAGE_ENCODER\n"
                    "       gpu_frame DEPTH depth FOLDER W H RUNS\n");
    return 2;
  }
  bool encodes = !strcmp(argv[2], "encode"), alone = encodes || !strcmp(argv[2], "decode");
  bool is_depth = !strcmp(argv[2], "depth") && argc > 6, is_vision = !strcmp(argv[2], "vision") && argc > 4;
  if (is_depth)
    must(&b, depth_open(&depth, argv[1], &b.err));
  else if (is_vision)
    must(&b, ip_adapter_open(&b.ip_adapter, argv[1], argv[4], &b.err));
  else
    (alone ? open_autoencoder : open_model)(&b, argv[1]);
  if (!alone && !is_depth && !is_vision) {
    open_controls(&b);
    open_style(&b, argv[1]);
  }
  open_device(&b);
  plan_init(&b.plan, &b.resources);
  if (is_depth)
    run_depth(&b, depth, argv);
  else if (is_vision)
    run_vision(&b, argv);
  else if (alone && argc > 6)
    run_autoencoder(&b, encodes, argv);
  else if (!strcmp(argv[2], "networks"))
    run_networks(&b, argv[3], argc > 4 ? argv[4] : NULL);
  else if (!strcmp(argv[2], "picture") && argc > 4)
    run_picture(&b, argv[3], atoi(argv[4]), argc > 5 ? argv[5] : NULL);
  else if (!strcmp(argv[2], "time"))
    time_frames(&b, argc, argv, started);
  else
    time_launches(&b, argc, argv);
  close_model(&b);
  depth_close(&depth);
  return 0;
}
