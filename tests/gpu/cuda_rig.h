/* Helpers for tests of the whole CUDA device: a small network that runs on it. */
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

extern uint8_t source[SIDE * SIDE * 4]; /* pixels of the frame that make_frame made last */
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
/* Returns 0 if there is a GPU. Returns SKIPPED if there is none, the device says so in one line, and "auto" uses the
 * CPU; otherwise 1. */
int look_for_gpu(void);

#endif
