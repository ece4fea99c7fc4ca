/* Times parts of a model on their own: an autoencoder, a depth model, an image encoder. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/program.h"
#include "unet/base/text_file.h"
#include "unet/engine/adapters.h"
#include "unet/model/depth.h"
#include "unet/model/plans.h"
#include "unet/model/vision.h"
#include "tests/gpu/gpu_rig.h"

/* Fills times with the GPU's time of each of `runs` runs, in seconds. Each run is submitted and collected: a graph that
 * is launched alone would read parameters that only a submitted run has. */
static void time_runs(struct bench *b, double *times, int runs) {
  struct device_counters counters;
  for (int i = 0; i < runs; i++) {
    must(b, device_run(b->device, b->program, &(struct run_params){0}, &b->err));
    device_get_counters(b->device, &counters);
    times[i] = 1e-3 * counters.run_ms;
  }
}

/* --- an autoencoder alone --- */

void open_autoencoder(struct bench *b, const char *folder) {
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

void run_autoencoder(struct bench *b, bool encodes, char **argv) {
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
  time_runs(b, times, runs);
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

void run_depth(struct bench *b, const struct depth *depth, char **argv) {
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
  time_runs(b, times, runs);
  print_times("depth", times, runs);
  snprintf(path, sizeof path, "%s/depth.launches.txt", folder);
  write_launches(b, path);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  plan_init(&b->plan, &b->resources);
  x = plan_input(&b->plan, 1, h, w, 3, ELEMENT_DEVICE);
  depth_map(depth, &b->plan, x, 1, 0, 0, (struct tensor){0});
  prepare_depth(b);
  time_runs(b, times, runs);
  print_times("map", times, runs);
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  free(times);
}

/* --- an image encoder alone --- */

void run_vision(struct bench *b, char **argv) {
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
