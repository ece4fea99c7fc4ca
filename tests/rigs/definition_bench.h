/* Helpers for tests of the ops' definitions (plain C, in unet/cpu) with values that were worked out by hand. */
#ifndef TESTS_DEFINITION_BENCH_H
#define TESTS_DEFINITION_BENCH_H

#include "unet/base/picture.h"
#include "unet/devices.h"

/* A plan with its inputs and weights, which the device "cpu:plain" runs. */
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

/* Returns an empty plan without inputs and weights. */
struct bench begin(void);
/* give sets the data of an input tensor; `input` makes an input tensor of this size and sets its data. data must stay
 * valid until finish. */
struct tensor give(struct bench *b, struct tensor t, const float *data);
struct tensor input(struct bench *b, int h, int w, int c, const float *data);

/* Makes a weight of the plan from data, which are in a checkpoint's order: [out][in][k][k]. */
struct tensor weight(struct bench *b, const char *name, int out, int k, int in, const float *data);
struct tensor vector(struct bench *b, const char *name, int c, const float *data);
/* prepare makes the plan ready to run, run runs it on a frame, and finish frees everything. */
void prepare(struct bench *b, enum pixel_format output);
void run(struct bench *b, const struct frame *frame, struct frame *picture);
void finish(struct bench *b);

/* Runs the plan and fails the test unless y has the expected values. */
void expect(struct bench *b, struct tensor y, const float *expected, double tolerance);

#endif
