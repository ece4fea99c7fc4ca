#include "cuda/turns.h"

void turns_init(struct turns *turns) {
  *turns = (struct turns){0};
  pthread_mutex_init(&turns->lock, NULL);
  pthread_cond_init(&turns->changed, NULL);
}

void turns_free(struct turns *turns) {
  pthread_cond_destroy(&turns->changed);
  pthread_mutex_destroy(&turns->lock);
}

void turns_take(struct turns *turns) {
  pthread_mutex_lock(&turns->lock);
  unsigned own = turns->next++;
  while (turns->now != own)
    pthread_cond_wait(&turns->changed, &turns->lock);
  pthread_mutex_unlock(&turns->lock);
}

void turns_give(struct turns *turns) {
  pthread_mutex_lock(&turns->lock);
  turns->now++;
  pthread_cond_broadcast(&turns->changed);
  pthread_mutex_unlock(&turns->lock);
}
