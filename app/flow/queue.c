#include "app/flow/queue.h"

void queue_init(struct queue *queue, int capacity) {
  *queue = (struct queue){.capacity = capacity};
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->changed, NULL);
}

/* Removes the oldest frame from the ring and returns it. The queue must not be empty. */
static struct frame take(struct queue *queue) {
  struct frame frame = queue->frames[queue->first];
  queue->first = (queue->first + 1) % QUEUE_MAX;
  queue->count--;
  return frame;
}

static void forget(struct queue *queue) {
  while (queue->count) {
    struct frame frame = take(queue);
    frame_release(&frame);
  }
}

void queue_free(struct queue *queue) {
  forget(queue);
  pthread_cond_destroy(&queue->changed);
  pthread_mutex_destroy(&queue->lock);
}

bool queue_put(struct queue *queue, const struct frame *frame) {
  struct frame refused = *frame;
  pthread_mutex_lock(&queue->lock);
  while (queue->count == queue->capacity && !queue->closed)
    pthread_cond_wait(&queue->changed, &queue->lock);
  bool open = !queue->closed;
  if (open) {
    queue->frames[(queue->first + queue->count) % QUEUE_MAX] = *frame;
    queue->count++;
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  if (!open)
    frame_release(&refused);
  return open;
}

bool queue_take(struct queue *queue, struct frame *frame) {
  pthread_mutex_lock(&queue->lock);
  while (!queue->count && !queue->closed)
    pthread_cond_wait(&queue->changed, &queue->lock);
  bool got = queue->count > 0;
  if (got) {
    *frame = take(queue);
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  return got;
}

static void shut(struct queue *queue, bool abort) {
  pthread_mutex_lock(&queue->lock);
  queue->closed = true;
  if (abort)
    forget(queue);
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
}

void queue_close(struct queue *queue) {
  shut(queue, false);
}

void queue_abort(struct queue *queue) {
  shut(queue, true);
}
