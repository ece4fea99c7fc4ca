#include "unet/base/picture.h"

#include <pthread.h>
#include <stdlib.h>

#include "unet/base/platform.h"

/* --- holding and releasing a frame's pixels, and waiting for them --- */

static void give_back(struct picture *picture);

struct frame frame_hold(const struct frame *frame) {
  if (frame->picture)
    atomic_fetch_add_explicit(&frame->picture->holds, 1, memory_order_relaxed);
  return *frame;
}

void frame_release(struct frame *frame) {
  struct picture *picture = frame->picture;
  frame->picture = NULL;
  for (int i = 0; i < 3; i++)
    frame->plane[i] = NULL;
  if (picture && atomic_fetch_sub_explicit(&picture->holds, 1, memory_order_acq_rel) == 1)
    give_back(picture);
}

int frame_wait(const struct frame *frame, enum memory kind, struct error *err) {
  struct picture *picture = frame->picture;
  if (!(picture ? picture->memory & kind : kind == MEMORY_HOST))
    return error_set(err, STATUS_FAILED, "the picture's pixels are not in %s memory",
                     kind == MEMORY_HOST ? "the host's" : "a device's");
  return picture && picture->owner->wait ? picture->owner->wait(picture, kind, err) : 0;
}

static int say_no_streams(struct error *err) {
  return error_set(err, STATUS_USAGE, "the picture is not in the memory of a GPU, so no stream reads it");
}

int frame_wait_on(const struct frame *frame, void *stream, struct error *err) {
  struct picture *picture = frame->picture;
  return picture && picture->owner->wait_on ? picture->owner->wait_on(picture, stream, err) : say_no_streams(err);
}

int frame_read_on(const struct frame *frame, void *stream, struct error *err) {
  struct picture *picture = frame->picture;
  return picture && picture->owner->read_on ? picture->owner->read_on(picture, stream, err) : say_no_streams(err);
}

bool frame_on_gpu(const struct frame *frame, const struct gpu_id *gpu) {
  const struct picture *picture = frame->picture;
  return picture && picture->memory & MEMORY_DEVICE && gpu_same(&picture->gpu, gpu);
}

bool frame_pinned(const struct frame *frame) {
  return frame->picture && frame->picture->memory & MEMORY_PINNED;
}

bool frame_ready(const struct frame *frame, enum memory kind) {
  struct picture *picture = frame->picture;
  return !picture || !picture->owner->ready || picture->owner->ready(picture, kind);
}

uint8_t *frame_plane(const struct frame *frame, int plane) {
  return (uint8_t *)(uintptr_t)frame->plane[plane];
}

/* --- pools of pictures in memory of any kind --- */

struct picture_pool {
  const struct picture_owner *owner;
  void *opaque;
  int most;
  pthread_mutex_t lock;
  /* The following fields are protected by `lock`. */
  /* list of free pictures; the one released last is taken first, because its memory is most likely in the cache */
  struct picture *free;
  int made; /* number of pictures of this pool that exist, including free ones */
  bool closed;
};

static struct picture *make(struct picture_pool *pool, struct error *err) {
  static atomic_uint_fast64_t last_number;
  struct picture *picture = calloc(1, pool->owner->bytes);
  if (!picture) {
    error_set(err, STATUS_FAILED, "no memory for a picture");
    return NULL;
  }
  picture->owner = pool->owner;
  picture->pool = pool;
  picture->share = -1;
  picture->number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
  if (pool->owner->make(pool->opaque, picture, err) < 0) {
    free(picture);
    return NULL;
  }
  picture->template.picture = picture;
  return picture;
}

static void destroy(struct picture *picture) {
  picture->owner->destroy(picture);
  free(picture);
}

static void pool_free(struct picture_pool *pool) {
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

static void give_back(struct picture *picture) {
  struct picture_pool *pool = picture->pool;
  if (picture->owner->recycle)
    picture->owner->recycle(picture);
  pthread_mutex_lock(&pool->lock);
  bool closed = pool->closed, last = closed && pool->made == 1;
  if (closed) {
    pool->made--;
  } else {
    picture->next = pool->free;
    pool->free = picture;
  }
  pthread_mutex_unlock(&pool->lock);
  if (closed)
    destroy(picture);
  if (last)
    pool_free(pool);
}

int picture_pool_open(struct picture_pool **out, const struct picture_owner *owner, void *opaque, int at_once, int most,
                      struct error *err) {
  struct picture_pool *pool = *out = calloc(1, sizeof *pool);
  if (!pool)
    return error_set(err, STATUS_FAILED, "no memory for pictures");
  *pool = (struct picture_pool){.owner = owner, .opaque = opaque, .most = most};
  platform_lock_init(&pool->lock);
  for (; pool->made < at_once; pool->made++) {
    struct picture *picture = make(pool, err);
    if (!picture) {
      picture_pool_close(out);
      return -1;
    }
    picture->next = pool->free;
    pool->free = picture;
  }
  return 0;
}

int picture_pool_take(struct picture_pool *pool, struct frame *frame, struct error *err) {
  pthread_mutex_lock(&pool->lock);
  struct picture *picture = pool->free;
  bool full = pool->most && pool->made == pool->most;
  if (picture)
    pool->free = picture->next;
  else if (!full)
    pool->made++; /* count the picture before it is made: another thread must never see fewer pictures than exist */
  pthread_mutex_unlock(&pool->lock);
  if (!picture && full)
    return 0;
  if (!picture && !(picture = make(pool, err))) {
    pthread_mutex_lock(&pool->lock);
    pool->made--;
    pthread_mutex_unlock(&pool->lock);
    return -1;
  }
  atomic_store_explicit(&picture->holds, 1, memory_order_relaxed);
  *frame = picture->template;
  return 1;
}

void picture_pool_close(struct picture_pool **out) {
  struct picture_pool *pool = *out;
  *out = NULL;
  if (!pool)
    return;
  pthread_mutex_lock(&pool->lock);
  struct picture *picture = pool->free;
  for (struct picture *p = picture; p; p = p->next)
    pool->made--;
  pool->free = NULL;
  pool->closed = true;
  bool last = !pool->made;
  pthread_mutex_unlock(&pool->lock);
  for (struct picture *next; picture; picture = next) {
    next = picture->next;
    destroy(picture);
  }
  if (last)
    pool_free(pool);
}

/* --- pools of pictures in host memory --- */

struct host_picture {
  struct picture base;
  struct gpu gpu; /* the GPU that has locked the pages of the picture's memory; zeroed: none */
};

static uint8_t *host_alloc(struct host_picture *picture, const struct gpu *gpu, size_t bytes) {
  uint8_t *pinned = gpu->impl ? gpu->impl->alloc_host(gpu, bytes) : NULL;
  picture->base.memory = MEMORY_HOST;
  if (!pinned)
    return platform_alloc(FRAME_ALIGN, bytes);
  picture->base.memory |= MEMORY_PINNED;
  picture->gpu = *gpu;
  return pinned;
}

static int host_make(void *opaque, struct picture *picture, struct error *err) {
  const struct host_pictures *shape = opaque;
  struct frame *frame = &picture->template;
  frame->format = shape->format;
  frame->width = shape->width;
  frame->height = shape->height;
  size_t bytes = frame_lay_out(frame, NULL);
  uint8_t *memory = host_alloc((struct host_picture *)picture, &shape->gpu, bytes);
  if (!memory)
    return error_set(err, STATUS_FAILED, "no memory for a %dx%d picture (%zu bytes)", frame->width, frame->height,
                     bytes);
  frame_lay_out(frame, memory);
  return 0;
}

static void host_destroy(struct picture *picture) {
  const struct gpu *gpu = &((const struct host_picture *)picture)->gpu;
  uint8_t *memory = frame_plane(&picture->template, 0);
  if (gpu->impl)
    gpu->impl->free_host(gpu, memory);
  else
    platform_free(memory);
}

static const struct picture_owner host_owner = {
    .bytes = sizeof(struct host_picture), .make = host_make, .destroy = host_destroy};

int host_pictures_take(struct host_pictures *pictures, enum pixel_format format, int width, int height,
                       struct frame *frame, struct error *err) {
  if (pictures->format != format || pictures->width != width || pictures->height != height)
    picture_pool_close(&pictures->pool);
  pictures->format = format;
  pictures->width = width;
  pictures->height = height;
  if (!pictures->pool && picture_pool_open(&pictures->pool, &host_owner, pictures, 0, 0, err) < 0)
    return -1;
  return picture_pool_take(pictures->pool, frame, err) == 1 ? 0 : -1;
}

int host_pictures_copy(struct host_pictures *pictures, const struct frame *from, struct frame *frame,
                       struct error *err) {
  struct frame copy;
  if (host_pictures_take(pictures, from->format, from->width, from->height, &copy, err) < 0)
    return -1;
  uint8_t *const planes[3] = {frame_plane(&copy, 0), frame_plane(&copy, 1), frame_plane(&copy, 2)};
  frame_copy_pixels(planes, copy.pitch, from);
  *frame = *from;
  frame->picture = copy.picture;
  for (int i = 0; i < 3; i++) {
    frame->plane[i] = copy.plane[i];
    frame->pitch[i] = copy.pitch[i];
  }
  return 0;
}

void host_pictures_free(struct host_pictures *pictures) {
  picture_pool_close(&pictures->pool);
}
