/* For tests of the definition of the ops: a plan with its inputs and weights, run on "cpu:plain". */
#ifndef TESTS_DEFINITION_BENCH_H
#define TESTS_DEFINITION_BENCH_H

#include "unet/base/picture.h"
#include "unet/devices.h"

/* A plan with its inputs and weights, run on "cpu:plain". */
struct bench {
  struct resources resources;
  struct plan plan;
  struct device *device;
  struct program *program;
  struct run_params params;
  struct {
    struct tensor tensor;
    const float *data;
  } inputs[8];
  int input_count;
};

struct bench begin(void);
struct tensor give(struct bench *b, struct tensor t, const float *data);
struct tensor input(struct bench *b, int h, int w, int c, const float *data);

/* data in checkpoint order: [out][in][k][k] */
struct tensor weight(struct bench *b, const char *name, int out, int k, int in, const float *data);
struct tensor vector(struct bench *b, const char *name, int c, const float *data);
void prepare(struct bench *b, enum pixel_format output);
void run(struct bench *b, const struct frame *frame, struct frame *picture);
void finish(struct bench *b);

/* Runs the plan and compares y with what it should be. */
void expect(struct bench *b, struct tensor y, const float *expected, double tolerance);

#endif
