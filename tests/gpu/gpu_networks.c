/* Runs a checkpoint's networks, and one whole frame, for tests/peers/sd_shapes.py. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/program.h"
#include "unet/base/picture.h"
#include "unet/engine/adapters.h"
#include "unet/model/plans.h"
#include "tests/gpu/gpu_rig.h"

enum { MERGED_APART = 8 };

/* --- networks --- */

/* Returns the component that has the tensor: "unet" or "text_encoder". */
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

/* Adds the adapter with weight 1 to the weights of the open checkpoint. */
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

void run_networks(struct bench *b, const char *folder, const char *adapter) {
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
  /* copies are read: a later op may reuse the memory of a tensor that is an output */
  for (int i = 0; i < c->text_encoder_count; i++) {
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

/* Chooses the sampling as a command line does: strength 0.5, and the checkpoint's sampler or the one that is named. */
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

void run_picture(struct bench *b, const char *folder, int steps, const char *sampler) {
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
