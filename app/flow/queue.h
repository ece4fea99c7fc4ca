/* A bounded, blocking hand-over of pointers between two threads, in order and without loss. */
#ifndef APP_FLOW_QUEUE_H
#define APP_FLOW_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

enum { QUEUE_MAX = 16 };

struct queue {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* protected by lock */
  void *items[QUEUE_MAX];
  int capacity, first, count;
  bool closed;
};

/* capacity: 1..QUEUE_MAX. */
void queue_init(struct queue *queue, int capacity);
void queue_finish(struct queue *queue); /* items left in it are the caller's */

/* Waits while the queue is full. false: it is closed, the item stays with the caller. */
bool queue_put(struct queue *queue, void *item);
/* Waits while the queue is empty. NULL: it is closed and empty. */
void *queue_take(struct queue *queue);
/* No more is put; what is inside can still be taken. May be called twice and from any thread. */
void queue_close(struct queue *queue);
/* As queue_close, and what is inside is forgotten: both ends return at once. */
void queue_abort(struct queue *queue);

#endif
