/* For tests of Depth Anything V2: a model and a plan on a device, compared with what transformers computes. */
#ifndef TESTS_DEPTH_BENCH_H
#define TESTS_DEPTH_BENCH_H

#include "tests/rigs/rig.h"
#include "unet/model/depth.h"

/* The folder of goldens and the device, of the command line. */
extern const char *goldens, *device_name;

/* A model on a device, and one plan on it. */
struct bench {
  struct golden golden;
  struct depth *depth;
  struct resources resources;
  struct device *device;
  struct plan plan;
  struct program *program;
  struct error err;
};

/* folder NULL: the golden's own. */
void bench_open(struct bench *b, const char *folder);
void bench_close(struct bench *b);
void prepare(struct bench *b);

/* On a GPU twice what PyTorch's FP16 is off by, which depth.py measured; of depths four times: all that a picture's are
 * off by has one sign, so that luck decides more. At published shapes it is 0.8 times (tests/peers/depth_shapes.py). */
double bound_of(struct bench *b, const char *name);

/* t's values from `skip` on, every one of `step`. */
void compare(struct bench *b, const char *name, struct tensor t, size_t skip, size_t step);

/* A golden's picture as the engine has it, whose black is -1. */
struct tensor picture_input(struct bench *b, const char *name, struct values *picture);
void run_picture(struct bench *b, struct tensor x, struct values *picture);
void check_picture(const char *folder, const char *name);
bool has_this_device(void); /* else why not, on standard error */

#endif
