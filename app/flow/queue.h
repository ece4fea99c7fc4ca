/* A queue of frames between two threads. No frame is lost: the writer waits while the queue is full, the reader while
 * it is empty. Pixels are not copied; the queue holds references to at most `capacity` pictures. */
#ifndef APP_FLOW_QUEUE_H
#define APP_FLOW_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "unet/base/picture.h"

enum { QUEUE_MAX = 16 };

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by `lock`. */
  struct frame frames[QUEUE_MAX];
  int capacity, first, count;
  bool closed;
};

/* Makes an empty queue for `capacity` frames, 1 to QUEUE_MAX. */
void queue_init(struct queue *queue, int capacity);
void queue_free(struct queue *queue); /* releases the frames that are left in the queue */

/* Waits while the queue is full, then appends the frame. The queue takes over the caller's reference in every case.
 * Returns false if the queue is closed; the reference was released then. */
bool queue_put(struct queue *queue, const struct frame *frame);
/* Waits while the queue is empty, then removes the oldest frame, whose reference the caller gets. Returns false if the
 * queue is closed and empty. */
bool queue_take(struct queue *queue, struct frame *frame);
/* Makes the queue refuse further frames; those in the queue can still be taken. Any thread may call this function, any
 * number of times. */
void queue_close(struct queue *queue);
/* Closes the queue and releases all frames in it, so that waiting calls of queue_put and queue_take return false at
 * once. */
void queue_abort(struct queue *queue);

#endif
