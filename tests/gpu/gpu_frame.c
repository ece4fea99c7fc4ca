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
 *   gpu_frame MODEL replay FRAMES [W H [STEPS]]
 *       the graph alone over and over, as long as clocks and power take to settle: times, joules and clocks of each
 *       tenth of the frames
 *   gpu_frame MODEL clocks FRAMES [W H [STEPS]]
 *       the graph alone, frame by frame: times, how many clocks the multiprocessors counted, and times by the clock
 *   gpu_frame MODEL profile FILE [W H [STEPS]]
 *       time of each op in its place and alone to FILE, in the plan's order, as `reverie bench --profile` measures it
 *   gpu_frame MODEL parts FILE [W H [STEPS]]
 *       times, joules and clocks of launches of one kind over and over, half a second each, to FILE
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
 * is, and whose weights are WEIGHT, with commas between, the last for all behind it, or 1. With SHOWN their maps are
 * made at weight 0, too. STYLE, an IP-Adapter and its image encoder with a comma between, has pictures follow the
 * patches in FOLDER/vision.in.f32. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/capture.h"
#include "cuda/libraries/nvml.h"
#include "cuda/program.h"
#include "cuda/timing.h"
#include "unet/sample/noise.h"
#include "unet/model/depth.h"
#include "unet/model/plans.h"
#include "tests/gpu/gpu_rig.h"

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

int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

void print_times(const char *what, double *times, int count) {
  qsort(times, (size_t)count, sizeof *times, by_value);
  printf("%-44s median %7.3f  p95 %7.3f  p99 %7.3f  max %7.3f ms\n", what, 1e3 * times[count / 2],
         1e3 * times[count * 95 / 100], 1e3 * times[count * 99 / 100], 1e3 * times[count - 1]);
}

/* Fills times with what the graph alone takes, from device planes to device picture, in seconds. Runs are not
 * submitted for it: the graph reads the parameters of earlier runs, so that as many as are in flight must have been
 * submitted and collected. */
static void time_device(struct bench *b, double *times, int count) {
  struct cuda_device *device = cuda_device(b->device);
  struct cuda_program *program = cuda_program(b->program);
  cudaEvent_t start, stop;
  float milliseconds = 0;
  if (program->base.collected < RUNS_IN_FLIGHT)
    exit(1);
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

/* What the program is to run repeatedly. */
struct work {
  struct frame_shape shape;
  struct run_params run;
  struct frame input[BATCH_MAX];
};

static void run_once(struct bench *b, const struct work *work) {
  must(b, device_submit(b->device, b->program, &work->run, work->input, &b->err));
  must(b, device_collect(b->device, b->program, NULL, &b->err));
}

/* Makes as many runs as there are sets of run parameters, so that launches of the graph alone find each set filled.
 * Returns the time when the first run was done. */
static double work_open(struct bench *b, struct work *work, int argc, char **argv) {
  double first = 0;
  prepare_frame(b, &work->shape, argc, argv);
  work->run = frame_params(b, &work->shape);
  make_frames(&work->shape, work->input);
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    run_once(b, work);
    first = i == 0 ? clock_seconds() : first;
  }
  return first;
}

static void work_close(struct bench *b, struct work *work) {
  device_release(b->device, &b->program);
  plan_free(&b->plan);
  free((void *)work->input[0].plane[0]);
}

static void time_frames(struct bench *b, int argc, char **argv, double started) {
  int frames = atoi(argv[3]);
  double *times = malloc((size_t)frames * sizeof *times);
  struct work work;
  struct device_counters before, after;
  printf("start to first frame: %.2f s\n", work_open(b, &work, argc, argv) - started);
  for (int i = RUNS_IN_FLIGHT; i < 20; i++)
    run_once(b, &work);
  device_get_counters(b->device, &before);
  for (int i = 0; i < frames; i++) {
    double start = clock_seconds();
    run_once(b, &work);
    times[i] = clock_seconds() - start;
  }
  device_get_counters(b->device, &after);
  struct device_info info;
  device_get_info(b->device, &info);
  printf("%s: %s\n%dx%d, %d steps, %d pictures a run\n", info.name, info.detail, work.shape.width, work.shape.height,
         work.shape.steps, work.shape.batch);
  print_times("host planes to host picture, one at a time", times, frames);
  printf("a run: %.2f launches, %.2f waits, %.2f allocations; %.1f MB at most, %d kernels and library calls\n",
         (double)(after.launches - before.launches) / frames, (double)(after.waits - before.waits) / frames,
         (double)(after.allocations - before.allocations) / frames, (double)after.peak_bytes / 1e6,
         cuda_program(b->program)->launches.count + 1);
  double start = clock_seconds();
  must(b, device_submit(b->device, b->program, &work.run, work.input, &b->err));
  for (int i = 1; i < frames; i++) {
    must(b, device_submit(b->device, b->program, &work.run, work.input, &b->err));
    must(b, device_collect(b->device, b->program, NULL, &b->err));
  }
  must(b, device_collect(b->device, b->program, NULL, &b->err));
  printf("two in flight: %.1f pictures a second\n", frames * work.shape.batch / (clock_seconds() - start));
  time_device(b, times, frames);
  print_times("device planes to device picture", times, frames);
  work_close(b, &work);
  free(times);
}

/* --- the graph alone --- */

static void replay_frames(struct bench *b, int argc, char **argv) {
  enum { TENTHS = 10 };
  struct nvml *nvml = cuda_device(b->device)->nvml;
  int frames = atoi(argv[3]) / TENTHS;
  double *times = malloc((size_t)frames * sizeof *times);
  struct work work;
  work_open(b, &work, argc, argv);
  for (int i = 0; i < TENTHS; i++) {
    char what[64], state[128];
    double joules = nvml_energy(nvml), start = clock_seconds();
    time_device(b, times, frames);
    double seconds = clock_seconds() - start;
    joules = nvml_energy(nvml) - joules;
    nvml_state(nvml, state, sizeof state);
    snprintf(what, sizeof what, "%d frames, %.3f J each, %.0f W", frames, joules / frames, joules / seconds);
    print_times(what, times, frames);
    printf("  %s\n", state);
  }
  work_close(b, &work);
  free(times);
}

static void count_clocks(struct bench *b, int argc, char **argv) {
  struct work work;
  work_open(b, &work, argc, argv);
  time_clocks(b, atoi(argv[3]));
  work_close(b, &work);
}

/* --- times and energy of single parts --- */

/* Writes the name under which a launch is counted. */
static void name_part(const struct launch *launch, char *out, size_t size) {
  const struct gemm_args *g = launch->kind == LAUNCH_PRODUCT ? &launch->product.gemm
                              : launch->kind == LAUNCH_HALO  ? &launch->halo.gemm
                                                             : NULL;
  if (g)
    snprintf(out, size, "%s %dx%d%s, %d rows", launch_kind_name(launch->kind), g->kernel, g->kernel,
             g->act == ACT_GEGLU ? " GEGLU" : "", g->n * g->out_h * g->out_w);
  else if (launch->kind == LAUNCH_NORM)
    snprintf(out, size, "%s norm, %d rows", launch->norm.groups ? "group" : "layer",
             launch->norm.n * launch->norm.pixels);
  else
    snprintf(out, size, "%s", launch_kind_name(launch->kind));
}

enum { PART_TURNS = 4 /* repetitions in one graph */ };

static cudaError_t record_part(struct cuda_device *device, const struct launch_queue *queue, const void *opaque) {
  const struct launches *part = opaque;
  cudaError_t status = cudaSuccess;
  for (int turn = 0; turn < PART_TURNS && status == cudaSuccess; turn++)
    status = launches_enqueue(device, queue, part, 0, part->count);
  return status;
}

/* Replays the graph until this time, in seconds. Returns how often. */
static int replay_until(struct bench *b, cudaGraphExec_t graph, double until) {
  enum { ENQUEUED = 4 }; /* launches between two waits, so that the GPU never waits for the host */
  cudaStream_t stream = cuda_device(b->device)->queue.stream;
  int count = 0;
  for (; clock_seconds() < until; count += ENQUEUED) {
    for (int i = 0; i < ENQUEUED; i++)
      cudaGraphLaunch(graph, stream);
    if (cudaStreamSynchronize(stream) != cudaSuccess)
      exit(1);
  }
  return count;
}

/* Times one part after a pause in which clocks and power settle. */
static void write_part(struct bench *b, const char *name, const struct launches *part, FILE *file) {
  static const double settled = 0.1, enough = 0.4;
  struct cuda_device *device = cuda_device(b->device);
  char state[128];
  cudaGraphExec_t graph = graph_capture(device, &device->queue, record_part, part, NULL);
  if (!graph)
    exit(1);
  replay_until(b, graph, clock_seconds() + settled);
  double joules = nvml_energy(device->nvml), start = clock_seconds();
  int turns = PART_TURNS * replay_until(b, graph, start + enough);
  double seconds = clock_seconds() - start;
  joules = nvml_energy(device->nvml) - joules;
  nvml_state(device->nvml, state, sizeof state);
  fprintf(file, "%-36s %4d launches %8.1f us %7.1f mJ %4.0f W  %s\n", name, part->count, 1e6 * seconds / turns,
          1e3 * joules / turns, joules / seconds, state);
  cudaGraphExecDestroy(graph);
}

static void write_parts(struct bench *b, int argc, char **argv) {
  struct work work;
  work_open(b, &work, argc, argv);
  FILE *file = fopen(argv[3], "w");
  const struct launches *all = &cuda_program(b->program)->launches;
  bool *done = calloc((size_t)all->count, sizeof *done);
  if (!file || !done)
    exit(1);
  for (int i = 0; i < all->count; i++) {
    char name[64], other[64];
    struct launches part = {0};
    if (done[i])
      continue;
    name_part(&all->list[i], name, sizeof name);
    for (int j = i; j < all->count; j++) {
      name_part(&all->list[j], other, sizeof other);
      if (!strcmp(name, other) && (done[j] = true))
        must(b, launches_append(&part, &all->list[j], &b->err));
    }
    write_part(b, name, &part, file);
    free(part.list);
  }
  fclose(file);
  free(done);
  work_close(b, &work);
}

/* --- ops in their place --- */

static void write_profile(const struct profile *profile, FILE *file) {
  double sum = 0;
  fprintf(file, "%8s %8s %8s %8s %8s  %s\n", "place", "warm", "flushed", "floor", "GFLOP", "op");
  for (int i = 0; i < profile->count; i++) {
    const struct profile_row *row = &profile->rows[i];
    sum += row->us * row->runs;
    fprintf(file, "%8.2f %8.2f %8.2f %8.2f %8.2f  %s level %d %s %s | %s |", row->us, row->warm_us, row->flushed_us,
            row->floor_us, row->flops * 1e-9, row->kind, row->level, row->shape, row->name, row->way);
    for (int j = 0; j < row->launch_count; j++)
      fprintf(file, " %s %.2f", row->launches[j].kind, row->launches[j].us);
    fprintf(file, "\n");
  }
  printf("the frame as one graph %.1f us, all rows %.1f, each %d times\n", profile->frame_us, sum, profile->repeats);
}

static void profile_ops(struct bench *b, int argc, char **argv) {
  const struct profile_request request = {.seconds = 5};
  struct work work;
  struct profile profile;
  work_open(b, &work, argc, argv);
  FILE *file = fopen(argv[3], "w");
  if (!file)
    exit(1);
  must(b, device_profile(b->device, b->program, &work.run, work.input, &request, &profile, &b->err));
  write_profile(&profile, file);
  fclose(file);
  profile_free(&profile);
  work_close(b, &work);
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

/* Describes a launch: its kernel, shape and op. */
static void describe(const struct launch *launch, const struct op *op, char *out, size_t size) {
  char name[96], shape[96] = "";
  const struct gemm_args *g = launch->kind == LAUNCH_GEMM || launch->kind == LAUNCH_NARROW ||
                                      launch->kind == LAUNCH_FEW || launch->kind == LAUNCH_EIGHT
                                  ? &launch->gemm
                              : launch->kind == LAUNCH_PRODUCT ? &launch->product.gemm
                              : launch->kind == LAUNCH_HALO    ? &launch->halo.gemm
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
  struct work work;
  work_open(b, &work, argc, argv);
  write_launches(b, argv[3]);
  work_close(b, &work);
}

int main(int argc, char **argv) {
  struct bench b = {0};
  struct depth *depth = NULL;
  double started = clock_seconds();
  if (argc < 4) {
    fprintf(stderr, "usage: gpu_frame MODEL networks FOLDER [ADAPTER] | picture FOLDER STEPS [SAMPLER] | time FRAMES "
                    "[W H [STEPS]] | "
                    "replay FRAMES [W H [STEPS]] | clocks FRAMES [W H [STEPS]] | profile FILE [W H [STEPS]] | "
                    "parts FILE [W H [STEPS]] | launches FILE [W H [STEPS]]\n"
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
  else if (!strcmp(argv[2], "replay"))
    replay_frames(&b, argc, argv);
  else if (!strcmp(argv[2], "clocks"))
    count_clocks(&b, argc, argv);
  else if (!strcmp(argv[2], "parts"))
    write_parts(&b, argc, argv);
  else if (!strcmp(argv[2], "profile"))
    profile_ops(&b, argc, argv);
  else
    time_launches(&b, argc, argv);
  close_model(&b);
  depth_close(&depth);
  return 0;
}
