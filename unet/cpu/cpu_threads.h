/* Threads of the CPU device, by OpenMP; without OpenMP there is one thread. */
#ifndef UNET_CPU_CPU_THREADS_H
#define UNET_CPU_CPU_THREADS_H

#include <stddef.h>

#ifdef _OPENMP
#include <omp.h>
#endif

enum { THREADS_MOST = 256 };

/* Returns the number of threads to use: the wanted number, but no more than THREADS_MOST and no more than
 * OMP_THREAD_LIMIT and OMP_MAX_ACTIVE_LEVELS allow. wanted 0 means one for each processor that this process may use. */
static inline int threads_choose(int wanted) {
#ifdef _OPENMP
  int threads = wanted > 0 ? wanted : omp_get_num_procs();
  int limit = omp_get_max_active_levels() > 0 ? omp_get_thread_limit() : 1;
  int most = limit < THREADS_MOST ? limit : THREADS_MOST;
  return threads < most ? threads : most;
#else
  (void)wanted;
  return 1;
#endif
}

/* Makes OpenMP's parallel regions of the calling thread use exactly `count` threads. OMP_DYNAMIC might give fewer, and
 * oneDNN would then leave a part of its work undone. */
static inline void threads_set(int count) {
#ifdef _OPENMP
  omp_set_dynamic(0);
  omp_set_num_threads(count);
#else
  (void)count;
#endif
}

/* thread_number returns the calling thread's number, thread_count the number of threads. Both are for use inside a
 * parallel region of OpenMP. */
static inline int thread_number(void) {
#ifdef _OPENMP
  return omp_get_thread_num();
#else
  return 0;
#endif
}

static inline int thread_count(void) {
#ifdef _OPENMP
  return omp_get_num_threads();
#else
  return 1;
#endif
}

/* Divides `count` items among the threads of a parallel region of OpenMP: the calling thread gets items *low to *high -
 * 1. */
static inline void thread_share(size_t count, size_t *low, size_t *high) {
  *low = count * (size_t)thread_number() / (size_t)thread_count();
  *high = count * (size_t)(thread_number() + 1) / (size_t)thread_count();
}

#endif
