/* For tests of Depth Anything V2: runs a model on a device and compares its values with those of transformers. */
#ifndef TESTS_DEPTH_BENCH_H
#define TESTS_DEPTH_BENCH_H

#include "tests/rigs/rig.h"
#include "unet/model/depth.h"

/* The folder of goldens and the device's name, from the command line. */
extern const char *goldens, *device_name;

/* A model on a device, and one plan on that device. */
struct bench {
  struct golden golden;
  struct depth *depth;
  struct resources resources;
  struct device *device;
  struct plan plan;
  struct program *program;
  struct error err;
};

/* Opens the golden and the model in folder; NULL: the golden's own. */
void bench_open(struct bench *b, const char *folder);
void bench_close(struct bench *b);
void prepare(struct bench *b);

/* Returns the largest error allowed. On a GPU it is twice the error of PyTorch's FP16, which depth.py measured. For
 * depths it is four times that, because all errors of one picture have the same sign, so that chance matters more. At
 * published shapes the error is 0.8 times PyTorch's (tests/peers/depth_shapes.py). */
double bound_of(struct bench *b, const char *name);

/* Compares t's values with the golden's, starting at `skip`, every `step`th. */
void compare(struct bench *b, const char *name, struct tensor t, size_t skip, size_t step);

/* Makes a golden's picture an input, with black at -1 as in the engine. */
struct tensor picture_input(struct bench *b, const char *name, struct values *picture);
/* Runs the plan with the picture in x. */
void run_picture(struct bench *b, struct tensor x, struct values *picture);
void check_picture(const char *folder, const char *name);
bool has_this_device(void); /* if not, it prints why on standard error */

#endif
