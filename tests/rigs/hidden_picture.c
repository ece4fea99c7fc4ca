#include "tests/rigs/hidden_picture.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { POISON = 0xa5 };

struct hidden_picture {
  struct picture base;
  uint8_t *pixels;
  size_t bytes;
  pthread_mutex_t lock;
  bool there;
};

static int make(void *opaque, struct picture *picture, struct error *err) {
  struct hidden_picture *hidden = (struct hidden_picture *)picture;
  struct frame frame = *(const struct frame *)opaque;
  (void)err;
  hidden->bytes = frame_lay_out(&frame, NULL);
  hidden->pixels = malloc(hidden->bytes);
  uint8_t *host = malloc(hidden->bytes);
  if (!host || !hidden->pixels)
    abort();
  frame_lay_out(&frame, hidden->pixels);
  uint8_t *const planes[3] = {frame_plane(&frame, 0), frame_plane(&frame, 1), frame_plane(&frame, 2)};
  frame_copy_pixels(planes, frame.pitch, opaque);
  memset(host, POISON, hidden->bytes);
  frame_lay_out(&frame, host);
  pthread_mutex_init(&hidden->lock, NULL);
  picture->template = frame;
  picture->memory = MEMORY_HOST | MEMORY_DEVICE;
  return 0;
}

static void destroy(struct picture *picture) {
  struct hidden_picture *hidden = (struct hidden_picture *)picture;
  pthread_mutex_destroy(&hidden->lock);
  free(hidden->pixels);
  free(frame_plane(&picture->template, 0));
}

static int wait(struct picture *picture, enum memory kind, struct error *err) {
  struct hidden_picture *hidden = (struct hidden_picture *)picture;
  (void)err;
  pthread_mutex_lock(&hidden->lock);
  if (kind == MEMORY_HOST && !hidden->there)
    memcpy(frame_plane(&picture->template, 0), hidden->pixels, hidden->bytes);
  hidden->there |= kind == MEMORY_HOST;
  pthread_mutex_unlock(&hidden->lock);
  return 0;
}

static const struct picture_owner owner = {
    .bytes = sizeof(struct hidden_picture), .make = make, .destroy = destroy, .wait = wait};

struct frame hidden_copy(const struct frame *frame) {
  struct picture_pool *pool;
  struct frame hidden;
  if (picture_pool_open(&pool, &owner, (void *)(uintptr_t)frame, 1, 1, NULL) < 0 ||
      picture_pool_take(pool, &hidden, NULL) != 1)
    abort();
  picture_pool_close(&pool);
  return hidden;
}

void hidden_replace(struct frame *frame) {
  struct frame hidden = hidden_copy(frame);
  frame_release(frame);
  *frame = hidden;
}
