/* Which kernel or library does a convolution or linear layer: a few candidates timed when a program is prepared, the
 * fastest kept in a file for each GPU, driver and library version. */
#ifndef CUDA_TUNE_H
#define CUDA_TUNE_H

#include "cuda/cuda_device.h"

enum backend { BACKEND_GEMM, BACKEND_NARROW, BACKEND_BLAS, BACKEND_DNN, BACKEND_PRODUCT, BACKENDS };
enum { CANDIDATES_MAX = 16 };

struct choice {
  enum backend backend;
  int index;  /* BACKEND_GEMM: enum gemm_tile; BACKEND_PRODUCT: product_index(); libraries: number among what their
                 heuristics offer */
  int splits; /* BACKEND_GEMM, BACKEND_PRODUCT */
};

static inline int product_index(enum product_tile tile, enum product_pair pair) {
  return (int)tile * PRODUCT_PAIRS + (int)pair;
}

/* Reads what earlier runs found. dir NULL or unreadable: starts empty. */
int tuner_open(struct tuner **tuner, const struct cuda_device *device, const char *dir, struct error *err);
void tuner_close(struct tuner *tuner); /* takes NULL */

/* The choice kept for a key (a line's worth of text without line breaks), or false. */
bool tuner_find(const struct tuner *tuner, const char *key, struct choice *choice);
void tuner_store(struct tuner *tuner, const char *key, const struct choice *choice);
/* Writes the file anew when something was stored since: whole, or not at all, and with what other processes have saved
 * meanwhile, which the tuner then knows too. A failure is one log line. */
void tuner_save(struct tuner *tuner, const struct log *log);

double clock_seconds(void); /* CLOCK_MONOTONIC */

/* Seconds that the steps take on the device: in a captured graph, or one by one where they take a millisecond and more.
 * Negative when they fail. least: the shortest time so far, INFINITY when there is none; steps whose first run shows
 * that they are far slower are not run again. */
double tuner_time(struct cuda_device *device, const struct steps *steps, double least);

#endif
