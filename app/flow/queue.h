/* A bounded, blocking hand-over of frames between two threads, in order and without loss. Nothing is copied: it holds
 * as many pictures as its capacity. */
#ifndef APP_FLOW_QUEUE_H
#define APP_FLOW_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "unet/base/picture.h"

enum { QUEUE_MAX = 16 };

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* protected by lock */
  struct frame frames[QUEUE_MAX];
  int capacity, first, count;
  bool closed;
};

/* capacity: 1..QUEUE_MAX. */
void queue_init(struct queue *queue, int capacity);
void queue_free(struct queue *queue); /* releases what is left */

/* Waits while the queue is full. Takes over the frame's hold in any case. false: the queue is closed, and the hold was
 * released. */
bool queue_put(struct queue *queue, const struct frame *frame);
/* Waits while the queue is empty. false: it is closed and empty. */
bool queue_take(struct queue *queue, struct frame *frame);
/* No more is put; what is inside can still be taken. May be called twice and from any thread. */
void queue_close(struct queue *queue);
/* As queue_close, and what is inside is released: both ends return at once. */
void queue_abort(struct queue *queue);

#endif
