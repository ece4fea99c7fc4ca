#include "app/flow/in_order.h"

#include <limits.h>

void in_order_init(struct in_order *queue, int capacity) {
  *queue = (struct in_order){.capacity = capacity, .end = LONG_MAX};
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->changed, NULL);
}

/* Releases the stored pictures whose numbers are `from` or higher. The caller holds the lock. */
static void forget(struct in_order *queue, long from) {
  long end = queue->next + queue->capacity;
  for (long number = from > queue->next ? from : queue->next; number < end; number++)
    if (queue->there[number % IN_ORDER_MAX]) {
      queue->there[number % IN_ORDER_MAX] = false;
      frame_release(&queue->frames[number % IN_ORDER_MAX]);
    }
}

void in_order_free(struct in_order *queue) {
  forget(queue, 0);
  pthread_cond_destroy(&queue->changed);
  pthread_mutex_destroy(&queue->lock);
}

bool in_order_put(struct in_order *queue, long number, const struct frame *picture) {
  struct frame refused = *picture;
  pthread_mutex_lock(&queue->lock);
  while (number < queue->end && number >= queue->next + queue->capacity)
    pthread_cond_wait(&queue->changed, &queue->lock);
  bool wanted = number < queue->end;
  if (wanted) {
    queue->frames[number % IN_ORDER_MAX] = *picture;
    queue->there[number % IN_ORDER_MAX] = true;
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  if (!wanted)
    frame_release(&refused);
  return wanted;
}

bool in_order_take(struct in_order *queue, struct frame *picture) {
  pthread_mutex_lock(&queue->lock);
  while (queue->next < queue->end && !queue->there[queue->next % IN_ORDER_MAX])
    pthread_cond_wait(&queue->changed, &queue->lock);
  bool got = queue->next < queue->end;
  if (got) {
    *picture = queue->frames[queue->next % IN_ORDER_MAX];
    queue->there[queue->next % IN_ORDER_MAX] = false;
    queue->next++;
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  return got;
}

void in_order_end(struct in_order *queue, long number) {
  pthread_mutex_lock(&queue->lock);
  if (number < queue->end) {
    queue->end = number;
    forget(queue, number);
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
}
