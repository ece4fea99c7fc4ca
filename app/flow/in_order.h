/* A queue of pictures that several threads make. One thread takes them in the order of their numbers, which begin at 0
 * without gaps. Pixels are not copied; the queue holds references to at most `capacity` pictures. */
#ifndef APP_FLOW_IN_ORDER_H
#define APP_FLOW_IN_ORDER_H

#include <pthread.h>
#include <stdbool.h>

#include "unet/base/picture.h"

enum { IN_ORDER_MAX = 128 };

struct in_order {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by `lock`. */
  struct frame frames[IN_ORDER_MAX]; /* picture number n is at n modulo IN_ORDER_MAX */
  bool there[IN_ORDER_MAX];
  int capacity;
  long next; /* number of the picture that is taken next */
  long end;  /* no picture with this number or a higher one will come; LONG_MAX: the end is not known yet */
};

/* Makes an empty queue; capacity: how many pictures it holds at most, 1 to IN_ORDER_MAX. */
void in_order_init(struct in_order *queue, int capacity);
void in_order_free(struct in_order *queue); /* releases the pictures that are still in the queue */

/* Waits until the picture is among the next `capacity` ones, then stores it. The queue takes over the caller's
 * reference in every case. Returns false, with the reference released, if the queue ends before this number. The call
 * for the picture that is taken next never waits, so other threads cannot block its maker. */
bool in_order_put(struct in_order *queue, long number, const struct frame *picture);
/* Waits for the next picture and removes it from the queue; the caller gets the queue's reference to it. Returns false
 * if the queue ends before that picture. */
bool in_order_take(struct in_order *queue, struct frame *picture);
/* Ends the queue before the picture with this number, unless it already ends earlier; 0 makes in_order_put and
 * in_order_take return at once. Pictures with this or a higher number are released. Any thread may call this function,
 * any number of times. */
void in_order_end(struct in_order *queue, long number);

#endif
