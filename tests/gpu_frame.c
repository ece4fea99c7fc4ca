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
#include "unet/sample/noise.h"
#include "unet/model/depth.h"
#include "unet/model/plans.h"
#include "tests/gpu_rig.h"

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

void print_times(const char *what, double *times, int count) {
  qsort(times, (size_t)count, sizeof *times, by_value);
  printf("%-44s median %7.3f  p95 %7.3f  p99 %7.3f  max %7.3f ms\n", what, 1e3 * times[count / 2],
         1e3 * times[count * 95 / 100], 1e3 * times[count * 99 / 100], 1e3 * times[count - 1]);
}

void time_device(struct bench *b, double *times, int count) {
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

void write_launches(struct bench *b, const char *path) {
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
