#include "tests/rigs/fake_engine.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unet/base/platform.h"

enum { NATIVE = 64, MULTIPLE = 8, MAX_IN_FLIGHT = 2, RING = MAX_IN_FLIGHT * BATCH_MAX };

/* A frame in flight. */
struct fake_frame {
  struct frame frame; /* held until the picture is collected */
  const struct prepared *prepared;
  void *opaque;
  int64_t submitted_ns, done_ns;
  bool there, whole;
  int left; /* number of frames in the same run that are collected after this one */
  bool fails;
};

struct prepared {
  struct prepared *next;
  struct prepared_info info;
  /* frames in the handle's stream batch (frames at different steps in one run), newest first */
  struct fake_frame waiting[STREAM_BATCH_MAX];
};

struct engine {
  int number;                           /* number in the order of opening */
  bool prompts[SLOTS], has_long[SLOTS]; /* prompts: slots whose text was set; has_long: slots with a long text */
  struct engine_info info;
  struct prepared *handles;
  struct fake_frame frames[RING]; /* frames in flight; the n-th submitted one is at n modulo RING */
  int64_t last_done_ns;
  float detail; /* what engine_usual_detail returns */
  int left;     /* number of slices of background work that are still to be done */
  bool behind;
  int pictures;
  /* numbers of frames that were submitted and collected; a run without a frame counts as one */
  int submitted, collected;
  int runs, in_flight; /* runs submitted so far, and those in flight */
  unsigned random;
  size_t bytes; /* size of the memory of one picture */
  struct picture_pool *pool;
};

/* Settings and results of the tests. */
static struct fake_engine_script script;
static struct fake_engine_log record;
static atomic_int released, preparable, openable;
/* Protects the log, and the engines' handles, frames and pictures: one thread may prepare and release while another
 * submits and collects, and several engines may be at work. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char texts[SLOTS][64];

void fake_engine_begin(const struct fake_engine_script *new_script) {
  script = *new_script;
  memset(&record, 0, sizeof record);
  released = 0;
  preparable = 0;
  openable = 0;
}

void fake_engine_let_open(int engines) {
  openable += engines;
}

void fake_engine_let_prepare(int handles) {
  preparable += handles;
}

void fake_engine_release(int pictures) {
  released += pictures;
}

const char *fake_engine_text(int slot) {
  static _Thread_local char text[sizeof texts[0]];
  pthread_mutex_lock(&lock);
  memcpy(text, texts[slot], sizeof text);
  pthread_mutex_unlock(&lock);
  return text;
}

const struct fake_engine_log *fake_engine_log(void) {
  return &record;
}

const struct fake_submit *fake_engine_submit(int number) {
  return &record.submits[number % FAKE_LOG];
}

static void sleep_until(int64_t ns) {
  struct timespec at = {ns / 1000000000, ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL))
    ;
}

static int rounded(int wish, enum sizing sizing) {
  int step = sizing == SIZE_WHOLE ? MULTIPLE : sizing == SIZE_EVEN ? 2 : 1;
  int near = (wish + step / 2) / step * step;
  return wish <= 0 ? NATIVE : sizing && near < MULTIPLE ? MULTIPLE : near;
}

struct fake_picture {
  struct picture base;
  uint8_t *there; /* pixels that host memory gets when somebody waits for them; NULL: it has them */
  size_t bytes;
  pthread_mutex_t lock;
};

static int make_picture(void *opaque, struct picture *picture, struct error *err) {
  const struct engine *engine = opaque;
  picture->memory = MEMORY_HOST;
  struct fake_picture *fake = (struct fake_picture *)picture;
  fake->bytes = engine->bytes;
  pthread_mutex_init(&fake->lock, NULL);
  picture->template.plane[0] = calloc(1, engine->bytes);
  return picture->template.plane[0] ? 0 : error_set(err, STATUS_FAILED, "no memory");
}

/* Hides the pixels in host memory, like a device that keeps the picture in its own. */
static void hide_picture(struct picture *picture) {
  enum { POISON = 0xa5 };
  struct fake_picture *fake = (struct fake_picture *)picture;
  uint8_t *host = frame_plane(&picture->template, 0);
  fake->there = malloc(fake->bytes);
  if (!fake->there)
    return;
  memcpy(fake->there, host, fake->bytes);
  memset(host, POISON, fake->bytes);
}

static void show_picture(struct picture *picture, bool copies) {
  struct fake_picture *fake = (struct fake_picture *)picture;
  pthread_mutex_lock(&fake->lock);
  if (fake->there && copies)
    memcpy(frame_plane(&picture->template, 0), fake->there, fake->bytes);
  free(fake->there);
  fake->there = NULL;
  pthread_mutex_unlock(&fake->lock);
}

static int wait_for_picture(struct picture *picture, enum memory kind, struct error *err) {
  (void)err;
  if (kind == MEMORY_HOST)
    show_picture(picture, true);
  return 0;
}

static void recycle_picture(struct picture *picture) {
  show_picture(picture, false);
}

static void free_picture(struct picture *picture) {
  pthread_mutex_destroy(&((struct fake_picture *)picture)->lock);
  free(frame_plane(&picture->template, 0));
}

static const struct picture_owner owner = {.bytes = sizeof(struct fake_picture),
                                           .make = make_picture,
                                           .recycle = recycle_picture,
                                           .destroy = free_picture,
                                           .wait = wait_for_picture};

/* Makes the pool of pictures: enough for the frames in flight and for those that the caller holds, each large enough
 * for the largest handle. */
static int make_pictures(struct engine *engine, const struct engine_shape *shape, struct error *err) {
  int count = RING + engine->pictures + STREAM_BATCH_MAX;
  size_t bytes = (size_t)shape->width * (size_t)shape->height * 4;
  if (bytes <= engine->bytes)
    return 0;
  engine->bytes = bytes;
  picture_pool_close(&engine->pool);
  return picture_pool_open(&engine->pool, &owner, engine, count, count, err);
}

int engine_open(struct engine **out, const struct engine_params *params, struct error *err) {
  int number = ++record.engines_tried;
  *out = NULL;
  sleep_until(platform_now_ns() + script.open_ms * INT64_C(1000000));
  while (script.slow_to_open && number > 1 + openable)
    usleep(1000);
  if (params->model && !strcmp(params->model, FAKE_REFUSED))
    return error_set(err, STATUS_MODEL, "%s: as told", params->model);
  if (number <= script.unopened)
    return error_set(err, STATUS_DEVICE, "the fake device is away as told");
  struct engine *engine = calloc(1, sizeof *engine);
  if (!engine)
    return error_set(err, STATUS_FAILED, "no memory");
  engine->number = number;
  int open = ++record.engines_open;
  record.most_engines = open > record.most_engines ? open : record.most_engines;
  engine->info = (struct engine_info){.model = "fake",
                                      .device = "fake",
                                      .depth = script.depth ? script.depth : 1,
                                      .native_width = NATIVE,
                                      .native_height = NATIVE,
                                      .size_multiple = MULTIPLE,
                                      .image_conditioned = true};
  engine->pictures = params->device.pictures > 1 ? params->device.pictures : 1;
  *out = engine;
  return 0;
}

int engine_fall_back(struct engine *engine, struct error *err) {
  (void)engine, (void)err;
  return -1;
}

void engine_nearest_size(const struct engine *engine, enum sizing sizing, int *width, int *height) {
  (void)engine;
  *width = rounded(*width, sizing);
  *height = rounded(*height, sizing);
}

int engine_prepare(struct engine *engine, const struct engine_shape *shape, struct prepared **out, struct error *err) {
  *out = NULL;
  int number = record.handles_made++;
  while (script.slow_to_prepare && number > preparable)
    usleep(1000);
  if (shape->steps && shape->steps == script.refuse_steps)
    return error_set(err, STATUS_DEVICE, "%d steps do not fit", shape->steps);
  if (shape->width && shape->width == script.refuse_width)
    return error_set(err, STATUS_DEVICE, "a width of %d does not fit", shape->width);
  struct prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared)
    return error_set(err, STATUS_FAILED, "no memory");
  prepared->info.shape = *shape;
  prepared->info.shape.width = rounded(shape->width, shape->sizing);
  prepared->info.shape.height = rounded(shape->height, shape->sizing);
  prepared->info.shape.steps = shape->steps ? shape->steps : 1;
  prepared->info.shape.chunks = shape->chunks ? shape->chunks : 1;
  prepared->info.frames_behind = shape->stream_batch ? prepared->info.shape.steps - 1 : 0;
  prepared->info.flops = script.pixel_flops * prepared->info.shape.width * prepared->info.shape.height;
  prepared->info.rows = shape->guidance ? 2 : 1;
  prepared->info.eta = FAKE_ETA * shape->sampler;
  pthread_mutex_lock(&lock);
  int status = make_pictures(engine, &prepared->info.shape, err);
  if (status == 0) {
    prepared->next = engine->handles;
    engine->handles = prepared;
    *out = prepared;
  }
  pthread_mutex_unlock(&lock);
  if (status)
    free(prepared);
  return status;
}

void engine_release(struct engine *engine, struct prepared **handle) {
  struct prepared *prepared = *handle, **link = &engine->handles;
  if (!prepared)
    return;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < RING; i++)
    if (engine->frames[i].prepared == prepared)
      record.released_busy = true;
  while (*link != prepared)
    link = &(*link)->next;
  *link = prepared->next;
  pthread_mutex_unlock(&lock);
  for (int i = 0; i < prepared->info.frames_behind; i++)
    frame_release(&prepared->waiting[i].frame);
  free(prepared);
  *handle = NULL;
  record.handles_released++;
}

void prepared_get_info(const struct prepared *prepared, struct prepared_info *info) {
  *info = prepared->info;
}

void engine_close(struct engine **engine) {
  if (!*engine)
    return;
  for (int i = 0; i < RING; i++) {
    record.released_busy |= record.engines_open > 1 && (*engine)->frames[i].prepared;
    (*engine)->frames[i].prepared = NULL; /* these frames are dropped */
  }
  while ((*engine)->handles) {
    struct prepared *prepared = (*engine)->handles;
    engine_release(*engine, &prepared);
  }
  for (int i = 0; i < RING; i++)
    frame_release(&(*engine)->frames[i].frame);
  picture_pool_close(&(*engine)->pool);
  free(*engine);
  *engine = NULL;
  record.engines_closed++;
  record.closed = --record.engines_open == 0;
}

void engine_limit_memory(struct engine *engine, size_t bytes) {
  (void)engine;
  record.memory_limit = bytes;
}

void engine_get_info(const struct engine *engine, struct engine_info *info) {
  sleep_until(platform_now_ns() + script.info_ms * INT64_C(1000000));
  *info = engine->info;
}

size_t engine_copied(const struct engine *engine) {
  return 100 * (size_t)engine->collected;
}

int engine_in_flight(const struct engine *engine) {
  return engine->in_flight;
}

int engine_set_prompt(struct engine *engine, int slot, const char *text, struct error *err) {
  if (!text[0]) {
    record.refused_prompts++;
    return error_set(err, STATUS_MODEL, "an empty prompt");
  }
  pthread_mutex_lock(&lock); /* another engine may be used at the same time */
  snprintf(texts[slot], sizeof texts[slot], "%s", text);
  pthread_mutex_unlock(&lock);
  record.prompts[slot]++;
  engine->left += record.submitted ? script.slices : 0;
  engine->prompts[slot] = true;
  engine->has_long[slot] = !strncmp(text, "long", 4);
  return 0;
}

int engine_chunks(const struct engine *engine, const struct controls *controls) {
  return engine->has_long[controls->prompt] ? 2 : 1;
}

int engine_go_on(struct engine *engine, struct error *err) {
  (void)err;
  record.slices += engine->left > 0;
  engine->left -= engine->left > 0;
  return engine->left > 0;
}

bool engine_is_behind(const struct engine *engine) {
  return engine->behind;
}

bool engine_is_busy(const struct engine *engine) {
  return engine->left > 0;
}

/* Returns the luma of the nearest pixel. Fake sources and the pattern give 8-bit formats, which have luma in plane 0,
 * and RGBA. */
static int grey_at(const struct frame *frame, int x, int y) {
  const uint8_t *row = frame->plane[0] + (ptrdiff_t)y * frame->pitch[0];
  switch (frame->format) {
  case PIXEL_NV12:
  case PIXEL_YUV420P:
    return row[x];
  case PIXEL_YUYV:
    return row[2 * x];
  default:
    return (row[4 * x] + 2 * row[4 * x + 1] + row[4 * x + 2]) / 4;
  }
}

void fake_engine_color(const struct controls *controls, int grey, uint8_t rgb[3]) {
  for (int c = 0; c < 3; c++) {
    float tint = controls->prompt >> c & 1 ? 1.0f : 0.35f;
    rgb[c] = (uint8_t)lrintf((float)grey * (1 - controls->strength + controls->strength * tint));
  }
}

/* Paints the frame, cropped to the picture's shape. */
static void paint(const struct engine_shape *shape, const struct frame *picture, const struct controls *controls,
                  const struct frame *frame) {
  int w = shape->width, h = shape->height;
  double scale = frame ? fmin((double)frame->width / w, (double)frame->height / h) : 1;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      int grey = 128;
      if (frame) {
        double from_x = (x + 0.5 - w / 2.0) * scale + frame->width / 2.0;
        double from_y = (y + 0.5 - h / 2.0) * scale + frame->height / 2.0;
        grey = grey_at(frame, (int)from_x, (int)from_y);
      }
      uint8_t *pixel = frame_plane(picture, 0) + 4 * ((size_t)y * (size_t)w + (size_t)x);
      fake_engine_color(controls, grey, pixel);
      pixel[3] = 255;
    }
}

int engine_under_way(const struct prepared *prepared) {
  int count = 0;
  for (int i = 0; i < prepared->info.frames_behind; i++)
    count += prepared->waiting[i].there;
  return count;
}

/* Adds the newest frame to the stream batch. Returns the frame that leaves it. */
static struct fake_frame advance_batch(struct prepared *prepared, const struct fake_frame *newest) {
  int behind = prepared->info.frames_behind;
  struct fake_frame leaves = behind ? prepared->waiting[behind - 1] : *newest;
  memmove(prepared->waiting + 1, prepared->waiting, sizeof prepared->waiting - sizeof *prepared->waiting);
  prepared->waiting[0] = *newest;
  return leaves;
}

bool engine_follows(const struct prepared *prepared) {
  (void)prepared;
  return false;
}

int engine_follow(struct engine *engine, const struct engine_request *request, struct error *err) {
  (void)engine, (void)request;
  return error_set(err, STATUS_FAILED, "this handle follows no motion of frames");
}

/* True if this submit, which is the engine's next one, is to fail. */
static bool is_to_fail(const struct engine *engine) {
  if (script.failing_engine)
    return engine->number == script.failing_engine && engine->runs + 1 == script.fail_at_submit;
  return record.submitted + 1 == script.fail_at_submit &&
         (!script.failing_engines || engine->number <= script.failing_engines);
}

static int fail(struct error *err) {
  error_set(err, STATUS_DEVICE, "the fake device fails as told");
  return script.loses ? error_mark_lost(err) : -1;
}

/* Returns when the engine will be done with its next run. */
static int64_t done_at(struct engine *engine, int64_t now, int steps) {
  int64_t took = (script.frame_ms + script.step_ms * steps) * INT64_C(1000000);
  engine->random = engine->random * 1664525u + 1013904223u + (unsigned)engine->number;
  took += script.most_random_ms ? (engine->random >> 8) % (unsigned)script.most_random_ms * INT64_C(1000000) : 0;
  return (engine->last_done_ns > now ? engine->last_done_ns : now) + took;
}

static void note_submit(const struct engine *engine, const struct engine_request *request, const struct frame *frame,
                        const struct frame *picture, int64_t now) {
  const struct engine_shape *shape = &request->prepared->info.shape;
  const struct controls *controls = request->controls;
  record.submits[record.submitted % FAKE_LOG] =
      (struct fake_submit){.has_frame = frame != NULL,
                           .serial = request->identity.serial,
                           .restart = request->restart,
                           .captured_ns = request->identity.captured_ns,
                           .submitted_ns = now,
                           .controls = *controls,
                           .engine = engine->number,
                           .width = shape->width,
                           .height = shape->height,
                           .sampler = shape->sampler,
                           .room = shape->bank_room,
                           .steps = shape->steps,
                           .chunks = shape->chunks,
                           .guidance = shape->guidance,
                           .on_device = request->on_device,
                           .input = frame ? frame->plane[0] : NULL,
                           .control = request->control_frame ? request->control_frame->plane[0] : NULL,
                           .output = picture->plane[0]};
  record.unset_prompt_used |= !engine->prompts[controls->prompt];
  for (int i = 0; i < SLOT_PRESETS; i++)
    record.unset_prompt_used |= controls->blend[i] > 0 && !engine->prompts[SLOT_PRESET_1 + i];
  record.submitted++;
}

/* Makes the picture of one frame of a run. */
static int submit_one(struct engine *engine, const struct engine_request *request, int64_t now, int left,
                      struct error *err) {
  const struct engine_shape *shape = &request->prepared->info.shape;
  const struct frame *frame = shape->text_to_image || request->drain ? NULL : request->frame;
  struct frame picture;
  pthread_mutex_lock(&lock);
  int got = picture_pool_take(engine->pool, &picture, err);
  record.starved |= got != 1;
  if (got == 1)
    note_submit(engine, request, frame, &picture, now);
  pthread_mutex_unlock(&lock);
  if (got != 1)
    return error_set(err, STATUS_HELD, "all pictures are held");
  picture.format = PIXEL_RGBA;
  picture.width = shape->width;
  picture.height = shape->height;
  picture.pitch[0] = shape->width * 4;
  picture.pts = request->identity.pts;
  picture.captured_ns = request->identity.captured_ns;
  picture.serial = request->identity.serial;
  paint(shape, &picture, request->controls, frame);
  if (request->on_device)
    hide_picture(picture.picture);
  const struct fake_frame newest = {.frame = picture,
                                    .prepared = request->prepared,
                                    .opaque = request->opaque,
                                    .submitted_ns = now,
                                    .there = !request->drain,
                                    .whole = engine->left == 0};
  pthread_mutex_lock(&lock);
  struct fake_frame *submitted = &engine->frames[engine->submitted++ % RING];
  *submitted = advance_batch(request->prepared, &newest);
  submitted->prepared = request->prepared;
  submitted->done_ns = engine->last_done_ns;
  submitted->left = left;
  submitted->fails = script.fails_late && is_to_fail(engine);
  pthread_mutex_unlock(&lock);
  return 0;
}

static int count_requests(const struct engine_request *request) {
  int count = 0;
  for (; request; request = request->next)
    count++;
  return count;
}

static bool is_of_style(int slot) {
  pthread_mutex_lock(&lock);
  bool found = !strncmp(texts[slot], FAKE_STYLE, strlen(FAKE_STYLE));
  pthread_mutex_unlock(&lock);
  return found;
}

float engine_usual_detail(const struct engine *engine) {
  return engine->detail;
}

int engine_submit(struct engine *engine, const struct engine_request *request, struct error *err) {
  const struct engine_shape *shape = &request->prepared->info.shape;
  const struct frame *frame = shape->text_to_image || request->drain ? NULL : request->frame;
  if (frame && frame_wait(frame, MEMORY_HOST, err) < 0)
    return -1;
  if (!script.fails_late && is_to_fail(engine))
    return fail(err);
  int64_t now = platform_now_ns();
  engine->last_done_ns = done_at(engine, now, shape->steps);
  engine->detail = is_of_style(request->controls->prompt) ? FAKE_DETAIL : 0;
  for (int left = count_requests(request); left--; request = request->next)
    if (submit_one(engine, request, now, left, err))
      return -1;
  pthread_mutex_lock(&lock);
  engine->runs++;
  engine->in_flight++;
  record.overfull |= engine->in_flight > MAX_IN_FLIGHT;
  record.most_in_flight = engine->in_flight > record.most_in_flight ? engine->in_flight : record.most_in_flight;
  engine->behind = engine->left > 0;
  engine->left -= engine->left > 0;
  pthread_mutex_unlock(&lock);
  return 0;
}

/* Drops the pictures of a run that has failed: that of *result, and as many after it. */
static int lose_run(struct engine *engine, int more, struct engine_result *result, struct error *err) {
  frame_release(&result->picture);
  for (; more; more--) {
    struct fake_frame *next = &engine->frames[engine->collected++ % RING];
    frame_release(&next->frame);
    next->prepared = NULL;
  }
  result->left = 0;
  return fail(err);
}

int engine_collect(struct engine *engine, struct engine_result *result, struct error *err) {
  *result = (struct engine_result){0};
  if (!engine->in_flight) {
    record.overfull = true;
    return error_set(err, STATUS_FAILED, "nothing is in flight");
  }
  pthread_mutex_lock(&lock);
  struct fake_frame *oldest = &engine->frames[engine->collected++ % RING];
  int collected = ++record.collected;
  pthread_mutex_unlock(&lock);
  sleep_until(oldest->done_ns);
  while (script.gated && released < collected)
    usleep(1000);
  *result = (struct engine_result){.picture = oldest->frame,
                                   .pending = !oldest->there,
                                   .opaque = oldest->there ? oldest->opaque : NULL,
                                   .left = oldest->left,
                                   .whole = oldest->whole,
                                   .submitted_ns = oldest->submitted_ns,
                                   .finished_ns = platform_now_ns()};
  if (result->pending)
    frame_release(&result->picture);
  bool fails = oldest->fails;
  pthread_mutex_lock(&lock);
  engine->in_flight -= fails || oldest->left == 0;
  int lost = fails ? oldest->left : 0;
  oldest->frame = (struct frame){0};
  oldest->prepared = NULL;
  pthread_mutex_unlock(&lock);
  return fails ? lose_run(engine, lost, result, err) : 0;
}
