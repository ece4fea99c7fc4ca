/* The thread of an OBS filter that owns an engine of the library. The filter hands frames to it and takes pictures from
 * it; neither waits for the other. The thread always takes the newest frame; older frames that wait are replaced.
 *
 * One of three frame buffers is written by the filter, one has the newest frame, and one is read by the thread. Only
 * pointers are exchanged, so the lock is never held while pixels are copied. The licence of the compiled plug-in stands
 * in obs_filter.h. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include <util/bmem.h>
#include <util/platform.h>
#include <util/threading.h>

#include "app/library/obs_filter.h"

/* Longer side of the picture if the user has set no size, in pixels; as in the other filters of the library. */
enum { LONGEST_SIDE = 512 };
/* An engine is opened again when the settings have been the same for this time in ns, because OBS reports each letter
 * of a name that is being typed. */
enum { SETTLED = 700000000 };

struct frame {
  uint8_t *pixels; /* the frame's pixels in RGBA, row after row without gaps */
  size_t room;     /* number of bytes that `pixels` has */
  uint32_t width, height;
  int64_t time_ns;
};

struct worker {
  const struct obs_rows *rows;
  pthread_t thread;
  struct frame frames[3];
  struct frame *writing; /* frame that worker_offer fills; used only by the thread that calls worker_offer */

  /* The following fields are protected by `lock`. */
  pthread_mutex_t lock;
  pthread_cond_t changed; /* condition that is signalled when a frame comes or the thread has to end */
  struct frame *newest;
  bool fresh;                     /* true: the thread has not begun with the newest frame */
  bool stop;                      /* true: the thread has to end */
  bool failed;                    /* true: the engine has failed and waits for other settings */
  struct wish *next;              /* settings that the thread has not taken yet; NULL: there are none */
  struct reverie_picture picture; /* newest finished picture, if the filter has not taken it yet; plane[0] NULL: there
                                   * is none */

  /* The following fields are used only by the thread. */
  struct frame *reading;
  struct reverie *engine; /* the engine; NULL: not open */
  struct wish *wish;      /* the settings that the engine has, or with which it has failed; NULL: none yet */
  bool has_size;          /* true: the user has set the size of pictures */
  uint32_t sized_width, sized_height; /* size of the source's frame for which the size of pictures was chosen; 0: none
                                       * was chosen yet */
  struct reverie_error told;          /* the error that was logged last; it is not logged again */
};

/* --- passing the library's log lines to OBS --- */

static void log_line(void *opaque, int level, const char *line) {
  static const int levels[] = {LOG_WARNING, LOG_INFO, LOG_DEBUG};
  (void)opaque;
  blog(levels[level < 0 || level > 2 ? 2 : level], "[reverie] %s", line);
}

static void log_error(struct worker *worker, const struct reverie_error *error) {
  if (!strcmp(worker->told.message, error->message))
    return;
  worker->told = *error;
  log_line(NULL, REVERIE_LOG_WARNING, error->message);
}

/* --- the engine and its settings --- */

/* Sets the engine's parameters to the present settings. opening: true: those that are read when the model is opened;
 * false: all others. Settings equal to those in `before` are left out; before NULL: the engine has its defaults. If the
 * engine refuses a value while opening, returns -1 with error; later this is only logged, and the former value stays.
 * Returns 0 on success. */
static int apply(struct worker *worker, bool opening, const struct wish *before, struct reverie_error *error) {
  const struct obs_value none = {0};
  for (int i = 0; i < worker->rows->count; i++) {
    const struct obs_row *row = &worker->rows->row[i];
    const struct obs_value *value = &worker->wish->value[i];
    if ((row->about.when == REVERIE_AT_OPENING) != opening || value_equal(value, before ? &before->value[i] : &none))
      continue;
    int status = value_apply(row, value, worker->engine, error);
    if (status && opening)
      return -1;
    if (status)
      log_error(worker, error);
    if (row->about.type == REVERIE_SIZE) {
      worker->has_size = value->given && !status;
      worker->sized_width = worker->sized_height = 0;
    }
  }
  return 0;
}

static int open_engine(struct worker *worker, struct reverie_error *error) {
  const struct reverie_config config = {.size = sizeof config,
                                        .log = log_line,
                                        .device = *worker->wish->device ? worker->wish->device : NULL,
                                        .threads = worker->wish->threads,
                                        /* three pictures: one just made, one that waits to be taken, and one that the
                                         * filter draws */
                                        .pictures = 3,
                                        .flags = REVERIE_SMOOTH | REVERIE_PACED};
  worker->has_size = false;
  worker->sized_width = worker->sized_height = 0;
  return reverie_create(&worker->engine, &config, error) || reverie_set(worker->engine, "fit", "stretch", error) ||
         apply(worker, true, NULL, error) || reverie_open(worker->engine, error);
}

/* Sets the engine to the settings `taken`. If these need another engine, opens the engine again. Returns 0, or another
 * number with error. */
static int adopt(struct worker *worker, struct wish *taken, struct reverie_error *error) {
  struct wish *before = worker->wish;
  bool anew = !worker->engine || wish_opens_anew(worker->rows, before, taken);
  worker->wish = taken;
  if (anew)
    reverie_destroy(&worker->engine);
  int status = anew ? open_engine(worker, error) : 0;
  if (!status)
    status = apply(worker, false, anew ? NULL : before, error);
  wish_free(before);
  return status;
}

/* Sets the size of pictures if the user has set none: the frame's shape with LONGEST_SIDE pixels on the longer side,
 * rounded to a size that the model can make. Returns 0, or another number with error. */
static int choose_size(struct worker *worker, struct reverie_error *error) {
  uint32_t from_width = worker->reading->width, from_height = worker->reading->height;
  if (worker->has_size || (from_width == worker->sized_width && from_height == worker->sized_height))
    return 0;
  double shape = (double)from_width / from_height;
  int width = (int)lrint(LONGEST_SIDE * fmin(shape, 1)), height = (int)lrint(LONGEST_SIDE / fmax(shape, 1));
  worker->sized_width = from_width;
  worker->sized_height = from_height;
  return reverie_nearest_size(worker->engine, &width, &height, error) ||
         reverie_prepare(worker->engine, width, height, error);
}

/* --- making pictures --- */

/* Makes the picture of the frame that the thread reads. picture->plane[0] is NULL if a stream batch (frames at
 * different steps in one run) has no finished picture yet. Returns 0, or another number with error. */
static int restyle(struct worker *worker, struct reverie_picture *picture, struct reverie_error *error) {
  const struct frame *from = worker->reading;
  const struct reverie_frame frame = {.size = sizeof frame,
                                      .format = REVERIE_RGBA,
                                      .width = (int)from->width,
                                      .height = (int)from->height,
                                      .plane = {from->pixels},
                                      .pitch = {4 * (int)from->width},
                                      .time_ns = from->time_ns};
  return choose_size(worker, error) || reverie_submit(worker->engine, &frame, error) ||
         reverie_collect(worker->engine, picture, error);
}

/* Makes this picture the one that the filter takes next, and releases the picture before if the filter has not taken
 * it. picture NULL: the engine has failed, and there is no picture. */
static void publish(struct worker *worker, const struct reverie_picture *picture) {
  pthread_mutex_lock(&worker->lock);
  struct reverie_picture before = worker->picture;
  worker->picture = picture ? *picture : (struct reverie_picture){.size = sizeof worker->picture};
  worker->failed = !picture;
  pthread_mutex_unlock(&worker->lock);
  if (before.plane[0])
    reverie_release(&before);
}

/* Makes a picture of the frame that the thread has taken, with new settings unless `taken` is NULL. An engine that
 * fails is closed. */
static void work(struct worker *worker, struct wish *taken) {
  struct reverie_error error = {.size = sizeof error};
  struct reverie_picture picture = {.size = sizeof picture};
  int status = taken ? adopt(worker, taken, &error) : 0;
  if (!status)
    status = restyle(worker, &picture, &error);
  if (!status && picture.plane[0])
    publish(worker, &picture);
  if (!status)
    return;
  log_error(worker, &error);
  reverie_destroy(&worker->engine);
  publish(worker, NULL);
}

/* Returns true if there are new settings that the thread may take now. Settings that need a new engine must have been
 * the same for SETTLED ns. Called with the lock held. */
static bool may_take(const struct worker *worker) {
  return worker->next && (!worker->wish || !wish_opens_anew(worker->rows, worker->wish, worker->next) ||
                          os_gettime_ns() - worker->next->time >= SETTLED);
}

/* Waits until the filter has stored a new frame in worker->newest. Exchanges it with worker->reading, of which a
 * picture was already made. *taken: new settings, or NULL. Returns false if the thread has to end. */
static bool next_frame(struct worker *worker, struct wish **taken) {
  pthread_mutex_lock(&worker->lock);
  while (!worker->stop && !(worker->fresh && (!worker->failed || may_take(worker))))
    pthread_cond_wait(&worker->changed, &worker->lock);
  struct frame *frame = worker->newest;
  worker->newest = worker->reading;
  worker->reading = frame;
  worker->fresh = false;
  *taken = may_take(worker) && !worker->stop ? worker->next : NULL;
  if (*taken)
    worker->next = NULL;
  bool goes_on = !worker->stop;
  pthread_mutex_unlock(&worker->lock);
  return goes_on;
}

static void *run(void *opaque) {
  struct worker *worker = opaque;
  struct wish *taken;
  os_set_thread_name("reverie");
  while (next_frame(worker, &taken))
    work(worker, taken);
  reverie_destroy(&worker->engine);
  return NULL;
}

/* --- functions that the filter (obs_filter.c) calls, on OBS's threads --- */

static void free_worker(struct worker *worker) {
  if (worker->picture.plane[0])
    reverie_release(&worker->picture);
  for (int i = 0; i < 3; i++)
    bfree(worker->frames[i].pixels);
  wish_free(worker->next);
  wish_free(worker->wish);
  pthread_cond_destroy(&worker->changed);
  pthread_mutex_destroy(&worker->lock);
  bfree(worker);
}

struct worker *worker_start(const struct obs_rows *rows, struct wish *wish) {
  struct worker *worker = bzalloc(sizeof *worker);
  worker->rows = rows;
  worker->next = wish;
  worker->writing = &worker->frames[0];
  worker->newest = &worker->frames[1];
  worker->reading = &worker->frames[2];
  pthread_mutex_init(&worker->lock, NULL);
  pthread_cond_init(&worker->changed, NULL);
  if (!pthread_create(&worker->thread, NULL, run, worker))
    return worker;
  log_line(NULL, REVERIE_LOG_WARNING, "no thread for the filter; close other programs and add it again");
  free_worker(worker);
  return NULL;
}

void worker_stop(struct worker *worker) {
  if (!worker)
    return;
  pthread_mutex_lock(&worker->lock);
  worker->stop = true;
  pthread_cond_signal(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
  pthread_join(worker->thread, NULL);
  free_worker(worker);
}

void worker_set(struct worker *worker, struct wish *wish) {
  pthread_mutex_lock(&worker->lock);
  struct wish *before = worker->next;
  worker->next = wish;
  pthread_mutex_unlock(&worker->lock);
  wish_free(before);
}

/* Copies pixels to a frame. The frame's memory is enlarged if it is too small for them. */
static void fill(struct frame *frame, const uint8_t *pixels, uint32_t pitch) {
  size_t row = 4 * (size_t)frame->width, bytes = row * frame->height;
  if (frame->room < bytes) {
    frame->pixels = brealloc(frame->pixels, bytes);
    frame->room = bytes;
  }
  for (uint32_t y = 0; y < frame->height; y++)
    memcpy(frame->pixels + y * row, pixels + (size_t)y * pitch, row);
}

void worker_offer(struct worker *worker, const uint8_t *pixels, uint32_t pitch, uint32_t width, uint32_t height,
                  int64_t time_ns) {
  struct frame *frame = worker->writing;
  frame->width = width;
  frame->height = height;
  frame->time_ns = time_ns;
  fill(frame, pixels, pitch);
  pthread_mutex_lock(&worker->lock);
  worker->writing = worker->newest;
  worker->newest = frame;
  worker->fresh = true;
  pthread_cond_signal(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
}

bool worker_take(struct worker *worker, struct reverie_picture *picture) {
  pthread_mutex_lock(&worker->lock);
  *picture = worker->picture;
  worker->picture = (struct reverie_picture){.size = sizeof worker->picture};
  pthread_mutex_unlock(&worker->lock);
  return picture->plane[0];
}

bool worker_failed(struct worker *worker) {
  pthread_mutex_lock(&worker->lock);
  bool failed = worker->failed;
  pthread_mutex_unlock(&worker->lock);
  return failed;
}
