#include "app/flow/queue.h"

void queue_init(struct queue *queue, int capacity) {
  *queue = (struct queue){.capacity = capacity};
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->changed, NULL);
}

void queue_finish(struct queue *queue) {
  pthread_cond_destroy(&queue->changed);
  pthread_mutex_destroy(&queue->lock);
}

bool queue_put(struct queue *queue, void *item) {
  pthread_mutex_lock(&queue->lock);
  while (queue->count == queue->capacity && !queue->closed)
    pthread_cond_wait(&queue->changed, &queue->lock);
  bool open = !queue->closed;
  if (open) {
    queue->items[(queue->first + queue->count) % QUEUE_MAX] = item;
    queue->count++;
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  return open;
}

void *queue_take(struct queue *queue) {
  void *item = NULL;
  pthread_mutex_lock(&queue->lock);
  while (!queue->count && !queue->closed)
    pthread_cond_wait(&queue->changed, &queue->lock);
  if (queue->count) {
    item = queue->items[queue->first];
    queue->first = (queue->first + 1) % QUEUE_MAX;
    queue->count--;
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  return item;
}

static void shut(struct queue *queue, bool forget) {
  pthread_mutex_lock(&queue->lock);
  queue->closed = true;
  if (forget)
    queue->count = 0;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
}

void queue_close(struct queue *queue) {
  shut(queue, false);
}

void queue_abort(struct queue *queue) {
  shut(queue, true);
}
