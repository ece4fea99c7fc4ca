/* Who may use a GPU's streams and lists: one at a time, in the order of asking, so that a preparation, which asks anew
 * for each op, lets the runs of another thread through between two. */
#ifndef CUDA_TURNS_H
#define CUDA_TURNS_H

#include <pthread.h>

struct turns {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned next, now; /* numbers: given to who asks next; whose turn it is */
};

void turns_init(struct turns *turns);
void turns_finish(struct turns *turns);
void turns_take(struct turns *turns);
void turns_give(struct turns *turns);

#endif
