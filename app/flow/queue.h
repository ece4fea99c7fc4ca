/* A bounded queue of frames between two threads, which blocks and loses nothing. Pixels are not copied: the queue holds
 * up to `capacity` pictures. */
#ifndef APP_FLOW_QUEUE_H
#define APP_FLOW_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#include "unet/base/picture.h"

enum { QUEUE_MAX = 16 };

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Protected by lock. */
  struct frame frames[QUEUE_MAX];
  int capacity, first, count;
  bool closed;
};

/* capacity: 1 to QUEUE_MAX. */
void queue_init(struct queue *queue, int capacity);
void queue_free(struct queue *queue); /* releases the frames that are left */

/* Waits while the queue is full, then adds the frame. Always takes over its hold. False: the queue is closed, and the
 * hold was released. */
bool queue_put(struct queue *queue, const struct frame *frame);
/* Waits while the queue is empty. The caller gets the frame's hold. False: the queue is closed and empty. */
bool queue_take(struct queue *queue, struct frame *frame);
/* Refuses further frames; those inside can still be taken. Any thread may call it, any number of times. */
void queue_close(struct queue *queue);
/* Closes the queue and releases all frames inside, so that calls on both ends return at once. */
void queue_abort(struct queue *queue);

#endif
