#include "cuda/readers.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "unet/base/platform.h"

struct readers {
  pthread_mutex_t lock; /* protects the fields below */
  pthread_cond_t begun, done;
  pthread_t threads[READERS_MAX - 1];
  int thread_count;
  bool ends; /* true: the threads are to return */
  void (*read)(void *opaque, int piece);
  void *opaque;
  int pieces, next; /* how many pieces the present job has, and the next one that no thread has taken */
  int left;         /* how many pieces are not read yet */
};

/* Reads pieces as long as there are any. The lock is held, except while a piece is read. */
static void read_pieces(struct readers *readers) {
  while (readers->next < readers->pieces) {
    int piece = readers->next++;
    pthread_mutex_unlock(&readers->lock);
    readers->read(readers->opaque, piece);
    pthread_mutex_lock(&readers->lock);
    if (--readers->left == 0)
      pthread_cond_signal(&readers->done);
  }
}

static void *run(void *opaque) {
  struct readers *readers = opaque;
  pthread_mutex_lock(&readers->lock);
  while (!readers->ends) {
    read_pieces(readers);
    if (!readers->ends)
      pthread_cond_wait(&readers->begun, &readers->lock);
  }
  pthread_mutex_unlock(&readers->lock);
  return NULL;
}

struct readers *readers_open(void) {
  int processors = platform_processors();
  struct readers *readers = processors > 1 ? calloc(1, sizeof *readers) : NULL;
  if (!readers)
    return NULL;
  pthread_mutex_init(&readers->lock, NULL);
  pthread_cond_init(&readers->begun, NULL);
  pthread_cond_init(&readers->done, NULL);
  while (readers->thread_count + 1 < READERS_MAX && readers->thread_count + 1 < processors &&
         !pthread_create(&readers->threads[readers->thread_count], NULL, run, readers))
    readers->thread_count++;
  if (readers->thread_count > 0)
    return readers;
  readers_close(readers);
  return NULL;
}

void readers_close(struct readers *readers) {
  if (!readers)
    return;
  pthread_mutex_lock(&readers->lock);
  readers->ends = true;
  pthread_cond_broadcast(&readers->begun);
  pthread_mutex_unlock(&readers->lock);
  for (int i = 0; i < readers->thread_count; i++)
    pthread_join(readers->threads[i], NULL);
  pthread_cond_destroy(&readers->done);
  pthread_cond_destroy(&readers->begun);
  pthread_mutex_destroy(&readers->lock);
  free(readers);
}

int readers_count(const struct readers *readers) {
  return readers ? readers->thread_count + 1 : 1;
}

void readers_run(struct readers *readers, int pieces, void (*read)(void *opaque, int piece), void *opaque) {
  if (!readers || pieces < 2) {
    for (int i = 0; i < pieces; i++)
      read(opaque, i);
    return;
  }
  pthread_mutex_lock(&readers->lock);
  readers->read = read;
  readers->opaque = opaque;
  readers->pieces = readers->left = pieces;
  readers->next = 0;
  for (int i = 1; i < pieces; i++)
    pthread_cond_signal(&readers->begun);
  read_pieces(readers);
  while (readers->left > 0)
    pthread_cond_wait(&readers->done, &readers->lock);
  pthread_mutex_unlock(&readers->lock);
}
