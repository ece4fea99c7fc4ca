#include "unet/plan/device.h"

#include <string.h>

#include "unet/base/picture.h"
#include "unet/base/platform.h"
#include "unet/plan/check_run.h"

void device_begin(struct device *device) {
  pthread_mutex_init(&device->weights, NULL);
  platform_lock_init(&device->memory);
}

void device_end(struct device *device) {
  pthread_mutex_destroy(&device->weights);
  pthread_mutex_destroy(&device->memory);
}

int device_check_wanted(const struct device *device, struct error *err) {
  bool given_up = device->gives_up && device->gives_up(device->gives_up_opaque);
  return given_up ? error_set(err, STATUS_INTERRUPTED, "it was given up before its end") : 0;
}

int device_check_weights(const struct device *device, const char *doing, struct error *err) {
  if (!device->sizes_only)
    return 0;
  return error_set(err, STATUS_FAILED, "%s: this device was opened for sizes only, and has no weights", doing);
}

int device_count_bytes(struct device *device, struct device_counters *counters, size_t bytes, const char *what,
                       struct error *err) {
  pthread_mutex_lock(&device->memory);
  size_t taken = counters->bytes, limit = device->memory_limit;
  bool fits = !limit || (bytes <= limit && taken <= limit - bytes);
  if (fits) {
    counters->allocations++;
    counters->bytes += bytes;
    if (counters->bytes > counters->peak_bytes)
      counters->peak_bytes = counters->bytes;
  }
  pthread_mutex_unlock(&device->memory);
  if (fits)
    return 0;
  return error_set(err, STATUS_DEVICE,
                   "%s needs %.1f MB, but %.1f of the %.1f MB allowed are taken: allow more, or choose a smaller size",
                   what, (double)bytes / 1e6, (double)taken / 1e6, (double)limit / 1e6);
}

void device_uncount_bytes(struct device *device, struct device_counters *counters, size_t bytes) {
  pthread_mutex_lock(&device->memory);
  counters->bytes -= bytes;
  pthread_mutex_unlock(&device->memory);
}

unsigned device_changes(struct device *device) {
  pthread_mutex_lock(&device->memory);
  unsigned changes = device->changes;
  pthread_mutex_unlock(&device->memory);
  return changes;
}

void device_count_change(struct device *device) {
  pthread_mutex_lock(&device->memory);
  device->changes++;
  pthread_mutex_unlock(&device->memory);
}

void device_limit_memory(struct device *device, size_t bytes) {
  pthread_mutex_lock(&device->memory);
  device->memory_limit = bytes;
  pthread_mutex_unlock(&device->memory);
}

void device_close(struct device **device) {
  if (*device) {
    picture_pool_close(&(*device)->pictures.pool);
    pthread_mutex_destroy(&(*device)->pictures.lock);
    (*device)->impl->destroy(*device);
  }
  *device = NULL;
}

void device_get_info(struct device *device, struct device_info *info) {
  *info = (struct device_info){0};
  info->gpu = device->gpu;
  device->impl->info(device, info);
}

void device_get_counters(struct device *device, struct device_counters *counters) {
  *counters = (struct device_counters){0};
  device->impl->counters(device, counters);
  pthread_mutex_lock(&device->memory);
  counters->copied_down += device->brought_down;
  pthread_mutex_unlock(&device->memory);
}

int device_get_choices(struct device *device, char **choices, struct error *err) {
  *choices = NULL;
  return device->impl->choices ? device->impl->choices(device, choices, err) : 0;
}

int device_get_timings(struct device *device, char **timings, struct error *err) {
  *timings = NULL;
  return device->impl->timings ? device->impl->timings(device, timings, err) : 0;
}

/* --- the pool of pictures that runs write --- */

static struct frame describe_output(const struct plan *plan, enum pixel_format format) {
  struct frame output = {.format = format, .matrix = MATRIX_BT709, .range = RANGE_LIMITED};
  if (format == PIXEL_RGBA || format == PIXEL_BGRA)
    output.range = RANGE_FULL;
  for (int i = 0; i < plan->op_count; i++)
    if (plan->ops[i].type == OP_PIXELS_OUT) {
      output.width = pixels_out_w(&plan->ops[i].pixels_out);
      output.height = pixels_out_h(&plan->ops[i].pixels_out);
    }
  return output;
}

static bool writes_resources(const struct plan *plan) {
  for (int i = 0; i < plan->op_count; i++) {
    struct tensor list[OPERANDS_MAX];
    int count = op_tensors(&plan->ops[i], OPERAND_WRITE, list);
    for (int j = 0; j < count; j++)
      if (list[j].space == TENSOR_RESOURCE)
        return true;
  }
  return false;
}

static int count_frames(const struct plan *plan) {
  int count = 0;
  for (int i = 0; i < plan->op_count; i++) {
    const struct op_pixels_in *op = &plan->ops[i].pixels_in;
    int end = plan->ops[i].type == OP_PIXELS_IN ? (op->source + 1) * op->y.n : 0;
    count = end > count ? end : count;
  }
  return count;
}

static int count_pictures(const struct plan *plan) {
  int count = 0;
  for (int i = 0; i < plan->op_count; i++)
    count = plan->ops[i].type == OP_PIXELS_OUT ? plan->ops[i].pixels_out.x.n : count;
  return count;
}

/* Returns the pool of pictures that the device needs for its programs and for a new one with this output. The result's
 * field pool is NULL if the present pool is too small. */
static struct device_pictures needed_pictures(const struct device_pictures *pictures, const struct frame *output,
                                              int batch) {
  struct frame frame = *output;
  struct device_pictures needed = *pictures;
  size_t bytes = frame_lay_out(&frame, NULL);
  if (!batch || (pictures->pool && bytes <= pictures->bytes && batch <= pictures->batch))
    return needed;
  needed.pool = NULL;
  needed.bytes = bytes > pictures->bytes ? bytes : pictures->bytes;
  needed.batch = batch > pictures->batch ? batch : pictures->batch;
  needed.count += RUNS_IN_FLIGHT * (needed.batch - pictures->batch);
  return needed;
}

/* Returns how many bytes make_room will allocate for a program with this output. The old pool is freed only after the
 * new one exists, so its bytes are not subtracted. */
static size_t picture_bytes(const struct device_pictures *pictures, const struct frame *output, int batch) {
  struct device_pictures needed = needed_pictures(pictures, output, batch);
  return batch && !needed.pool ? needed.bytes * (size_t)needed.count : 0;
}

/* Replaces the device's pool of pictures by a larger one if a program with this output needs that. On failure the pool
 * is unchanged. */
static int make_room(struct device_pictures *pictures, const struct frame *output, int batch, struct error *err) {
  struct device_pictures larger = needed_pictures(pictures, output, batch);
  if (!batch || larger.pool)
    return 0;
  /* All pictures are made now: the pool makes them from `larger`, which exists only in this function. */
  if (picture_pool_open(&larger.pool, pictures->device->impl->pictures, &larger, larger.count, larger.count, err) < 0)
    return -1;
  pthread_mutex_lock(&pictures->lock);
  struct picture_pool *before = pictures->pool;
  pictures->pool = larger.pool;
  pictures->bytes = larger.bytes;
  pictures->count = larger.count;
  pictures->batch = larger.batch;
  pthread_mutex_unlock(&pictures->lock);
  picture_pool_close(&before);
  return 0;
}

/* Takes a picture from the pool and sets the addresses of its planes as the format of `output` needs them. */
static int take_picture(struct device_pictures *pictures, const struct frame *output, struct frame *picture,
                        struct error *err) {
  struct frame taken;
  pthread_mutex_lock(&pictures->lock);
  int got = picture_pool_take(pictures->pool, &taken, err);
  pthread_mutex_unlock(&pictures->lock);
  if (got == 0)
    return error_set(err, STATUS_HELD, "submit: all %d pictures are held", pictures->count);
  if (got < 0)
    return -1;
  *picture = *output;
  picture->picture = taken.picture;
  frame_lay_out(picture, taken.plane[0]);
  return 0;
}

static void release_pictures(struct frame pictures[BATCH_MAX]) {
  for (int i = 0; i < BATCH_MAX; i++)
    frame_release(&pictures[i]);
}

/* Takes from the pool the pictures that a run will write. On failure it takes none. */
static int take_pictures(struct device_pictures *from, const struct program *program, struct frame pictures[BATCH_MAX],
                         struct error *err) {
  memset(pictures, 0, BATCH_MAX * sizeof *pictures);
  for (int i = 0; i < program->pictures; i++)
    if (take_picture(from, &program->output, &pictures[i], err) < 0) {
      release_pictures(pictures);
      return -1;
    }
  return 0;
}

/* --- checking the frames that a run reads --- */

/* Returns false if the frame has 16-bit samples that lie on odd addresses. */
static bool is_aligned(const struct frame *frame) {
  uintptr_t any = 0;
  for (int i = 0; i < frame_planes(frame->format); i++)
    any |= (uintptr_t)frame->picture->device_plane[i] | (uintptr_t)frame->pitch[i];
  return frame->format != PIXEL_P010 || any % 2 == 0;
}

bool device_reads_in_place(const struct device *device, const struct frame *frame) {
  return frame_on_gpu(frame, &device->gpu) && is_aligned(frame);
}

bool device_reads_later(const struct device *device, const struct frame *frame) {
  return device_reads_in_place(device, frame) || (gpu_exists(&device->gpu) && frame_pinned(frame));
}

/* Makes sure that the frame's pixels are in host memory; adds the bytes copied from a device to brought_down. */
static int bring_down(struct device *device, const struct frame *frame, struct error *err) {
  bool there = frame_ready(frame, MEMORY_HOST);
  if (frame_wait(frame, MEMORY_HOST, err) < 0)
    return -1;
  if (!there && frame->picture->memory & MEMORY_DEVICE) {
    pthread_mutex_lock(&device->memory);
    device->brought_down += frame_bytes(frame);
    pthread_mutex_unlock(&device->memory);
  }
  return 0;
}

/* Checks that the frame can be read. Afterwards its pixels are in the host's memory, unless the device reads them in
 * place. */
static int check_frame(struct device *device, const struct frame *frame, struct error *err) {
  if (!frame)
    return error_set(err, STATUS_FAILED, "submit: this plan needs a frame");
  if (frame->format >= PIXEL_FORMATS || frame->width < 1 || frame->height < 1)
    return error_set(err, STATUS_INPUT, "a frame of format %d and size %dx%d", (int)frame->format, frame->width,
                     frame->height);
  bool in_place = device_reads_in_place(device, frame);
  if (!in_place && bring_down(device, frame, err) < 0)
    return -1;
  for (int i = 0; i < frame_planes(frame->format); i++)
    if (!(in_place ? frame->picture->device_plane[i] : frame->plane[i]) ||
        frame->pitch[i] < frame_row_bytes(frame->format, i, frame->width))
      return error_set(err, STATUS_INPUT, "a %s frame whose plane %d is missing or has rows of %d bytes",
                       frame_format_name(frame->format), i, frame->pitch[i]);
  return 0;
}

/* Checks those frames of a run that some op reads. */
static int check_frames(struct device *device, const struct plan *plan, const struct frame *frames, struct error *err) {
  for (int i = 0; i < plan->told_count; i++) {
    const struct op *told = &plan->ops[plan->told[i]];
    const struct op_pixels_in *op = &told->pixels_in;
    if (told->type != OP_PIXELS_IN)
      continue;
    for (int j = op->source * op->y.n; j < (op->source + 1) * op->y.n; j++)
      if (check_frame(device, frames ? &frames[j] : NULL, err) < 0)
        return op->source ? error_prefix(err, "the control source: ") : -1;
  }
  return 0;
}

static void hold_frames(const struct device *device, const struct program *program, const struct frame *frames,
                        struct frame held[FRAMES_MAX]) {
  for (int i = 0; i < FRAMES_MAX; i++)
    held[i] = frames && i < program->frames && device_reads_later(device, &frames[i]) ? frame_hold(&frames[i])
                                                                                      : (struct frame){0};
}

static void release_frames(struct frame held[FRAMES_MAX]) {
  for (int i = 0; i < FRAMES_MAX; i++)
    frame_release(&held[i]);
}

/* --- preparing and releasing programs --- */

/* Refuses a state if the program that shares its states (the owner) has one of the same name with another shape. */
static int check_owner(const struct plan *plan, const struct program *owner, struct error *err) {
  for (int i = 0; owner && i < plan->state_count; i++) {
    const struct declared_state *a = &plan->states[i], *b;
    int index = plan_find_state(owner->plan, a->name);
    if (index < 0)
      continue;
    b = &owner->plan->states[index];
    if (a->n != b->n || a->h != b->h || a->w != b->w || a->c != b->c || a->demand != b->demand)
      return error_set(err, STATUS_FAILED, "prepare: the state %s is not of the owner's shape", a->name);
  }
  return 0;
}

void device_release(struct device *device, struct program **program) {
  if (*program) {
    struct frame made[RUNS_IN_FLIGHT][BATCH_MAX], read[RUNS_IN_FLIGHT][FRAMES_MAX];
    memcpy(made, (*program)->made, sizeof made);
    memcpy(read, (*program)->read, sizeof read);
    /* waits until the program's runs in flight, which may write and read the pictures, have ended */
    device->impl->release(device, *program);
    for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
      release_pictures(made[i]);
      release_frames(read[i]);
    }
  }
  *program = NULL;
}

int device_prepare(struct device *device, struct program **program, const struct plan *plan,
                   const struct program_options *options, struct error *err) {
  *program = NULL;
  if (!plan->finished)
    return error_set(err, STATUS_FAILED, "prepare: the plan is not finished");
  if (plan->resources != device->resources)
    return error_set(err, STATUS_FAILED, "prepare: the plan's resources are not the device's");
  if (options->output >= PIXEL_FORMATS)
    return error_set(err, STATUS_FAILED, "prepare: there is no pixel format %d", (int)options->output);
  const struct frame described = describe_output(plan, options->output);
  struct program_options wanted = *options;
  wanted.own_memory |= options->parts > 1;
  wanted.picture_bytes = picture_bytes(&device->pictures, &described, count_pictures(plan));
  if (check_owner(plan, options->owner, err) < 0 || device->impl->prepare(device, program, plan, &wanted, err) < 0)
    return -1;
  (*program)->plan = plan;
  (*program)->frames = count_frames(plan);
  (*program)->pictures = count_pictures(plan);
  (*program)->output = described;
  (*program)->writes_resources = writes_resources(plan);
  (*program)->submitted = (*program)->collected = 0;
  (*program)->started = 0;
  /* The pool of pictures never becomes smaller again. So it is enlarged last, when all else that the program needs has
   * found memory. */
  if (make_room(&device->pictures, &described, (*program)->pictures, err) == 0)
    return 0;
  device_release(device, program);
  return -1;
}

/* --- starting and collecting runs --- */

/* Checks the arguments of device_submit against the rules in its comment (device.h). */
static int check_arguments(struct device *device, const struct program *program, const struct run_params *params,
                           const struct frame *frames, struct error *err) {
  return check_frames(device, program->plan, frames, err) < 0 ? -1 : check_run(program->plan, params, err);
}

int device_submit(struct device *device, struct program *program, const struct run_params *params,
                  const struct frame *frames, struct error *err) {
  struct frame *pictures = program->made[program->submitted % RUNS_IN_FLIGHT];
  if (device_check_weights(device, "submit", err) < 0)
    return -1;
  if (program_in_flight(program) >= RUNS_IN_FLIGHT)
    return error_set(err, STATUS_FAILED, "submit: two runs are in flight already");
  if (check_arguments(device, program, params, frames, err) < 0 ||
      take_pictures(&device->pictures, program, pictures, err) < 0)
    return -1;
  int status = device->impl->submit(device, program, params, frames, pictures, err);
  if (program->writes_resources)
    device_count_change(device);
  if (status < 0) {
    release_pictures(pictures);
    return -1;
  }
  hold_frames(device, program, frames, program->read[program->submitted++ % RUNS_IN_FLIGHT]);
  return 0;
}

int device_collect(struct device *device, struct program *program, struct frame *pictures, struct error *err) {
  if (!program_in_flight(program))
    return error_set(err, STATUS_FAILED, "collect: no run is in flight");
  struct frame *made = program->made[program->collected % RUNS_IN_FLIGHT];
  int status = device->impl->collect(device, program, err);
  release_frames(program->read[program->collected++ % RUNS_IN_FLIGHT]);
  for (int i = 0; status == 0 && pictures && i < program->pictures; i++) {
    pictures[i] = made[i];
    made[i] = (struct frame){0};
  }
  release_pictures(made);
  return status;
}

int device_run(struct device *device, struct program *program, const struct run_params *params, struct error *err) {
  if (device->sizes_only)
    return check_arguments(device, program, params, NULL, err);
  if (device_submit(device, program, params, NULL, err) < 0)
    return -1;
  return device_collect(device, program, NULL, err);
}

int device_start(struct device *device, struct program *program, const struct run_params *params, struct error *err) {
  if (device->sizes_only)
    return check_arguments(device, program, params, NULL, err);
  if (program_in_flight(program) && device_collect(device, program, NULL, err) < 0)
    return -1;
  return device_submit(device, program, params, NULL, err);
}

int device_start_part(struct device *device, struct program *program, const struct run_params *params, bool merged,
                      struct error *err) {
  if (device->sizes_only)
    return check_arguments(device, program, params, NULL, err);
  if (program->started == 0 && program_in_flight(program) && device_collect(device, program, NULL, err) < 0)
    return -1;
  if (program->started == 0 && check_arguments(device, program, params, NULL, err) < 0)
    return -1;
  int status = device->impl->start_part(device, program, params, program->started, merged, err);
  if (program->writes_resources)
    device_count_change(device);
  if (status < 0) {
    program->started = 0;
    return -1;
  }
  program->started = (program->started + 1) % program->parts;
  program->submitted += program->started == 0;
  return program->started > 0;
}

int device_settle(struct device *device, struct error *err) {
  return device->impl->settle(device, err);
}

static void describe_sources(struct profile *profile, const struct plan *plan, const struct run_params *params,
                             const struct frame *frames) {
  for (int i = 0; i < plan->op_count; i++) {
    const struct op_pixels_in *op = &plan->ops[i].pixels_in;
    if (plan->ops[i].type != OP_PIXELS_IN)
      continue;
    const struct frame *frame = &frames[op->source * op->y.n]; /* the first frame that the op reads from this source */
    const struct geometry *g = &params->geometry[op->source * op->y.n];
    double part = (double)g->source_w * (double)g->source_h / ((double)frame->width * frame->height);
    profile_describe_source(profile, plan, i, frame, part);
  }
}

int device_profile(struct device *device, struct program *program, const struct run_params *params,
                   const struct frame *frames, const struct profile_request *request, struct profile *profile,
                   struct error *err) {
  *profile = (struct profile){0};
  if (device_check_weights(device, "profile", err) < 0)
    return -1;
  if (program_in_flight(program))
    return error_set(err, STATUS_FAILED, "profile: a run is in flight");
  if (check_arguments(device, program, params, frames, err) < 0)
    return -1;
  struct frame pictures[BATCH_MAX];
  if (take_pictures(&device->pictures, program, pictures, err) < 0)
    return -1;
  int status = profile_init(profile, program->plan->op_count) < 0
                   ? error_set(err, STATUS_FAILED, "profile: out of memory")
                   : device->impl->profile(device, program, params, frames, pictures, request, profile, err);
  if (program->writes_resources)
    device_count_change(device);
  release_pictures(pictures);
  if (status == 0) {
    profile_describe(profile, program->plan, program->element);
    describe_sources(profile, program->plan, params, frames);
  }
  for (int i = 0; status == 0 && program->plan->region_count && i < profile->count; i++)
    profile->rows[i].runs = run_op_runs(program->plan, i, params);
  if (status < 0)
    profile_free(profile);
  return status;
}
