/* Turns at a GPU's streams and lists: one thread at a time has them, in the order of asking. A preparation asks again
 * for each op, so that the runs of another thread get through between two ops. */
#ifndef CUDA_TURNS_H
#define CUDA_TURNS_H

#include <pthread.h>

struct turns {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned next, now; /* the number that the next thread to ask gets; the number whose turn it is */
};

void turns_init(struct turns *turns);
void turns_free(struct turns *turns);
void turns_take(struct turns *turns);
void turns_give(struct turns *turns);

#endif
