/* For tests of the CUDA device as a whole: a small network on it. */
#ifndef TESTS_CUDA_RIG_H
#define TESTS_CUDA_RIG_H

#include "cuda/cuda_device.h"

enum { SIDE = 64, SKIPPED = 77, FRAMES = 10000 };

/* A small network from pixels to pixels, with a norm, split sums and narrow convolutions in it. */
struct net {
  struct plan plan;
  struct resources resources;
  float *weights[16];
  int weight_count;
  uint32_t random;
};

void net_init(struct net *net);
void net_free(struct net *net);

extern uint8_t source[SIDE * SIDE * 4]; /* what make_frame filled last */
struct frame make_frame(int number);

static const struct run_params params = {.mix = 1, .geometry = {{0, 0, SIDE, SIDE, 0, 0, SIDE, SIDE}}};

struct rig {
  struct net net;
  struct device *device;
  struct program *program;
  struct error err;
};

void must(const struct rig *rig, int status);
void rig_open(struct rig *rig, const struct device_options *options);
void rig_close(struct rig *rig);
void submit(struct rig *rig, int number);
void collect(struct rig *rig, uint8_t *out);
void one_frame(struct rig *rig, int number, uint8_t *out);
void assert_one_line(const struct error *err, const char *what);
/* 0: there is a GPU. SKIPPED: there is none, which is said in one line, and "auto" goes on with the CPU; else 1. */
int look_for_gpu(void);

#endif
