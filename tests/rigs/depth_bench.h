/* Runs a model of Depth Anything V2 on a device, for tests that compare its values with those of transformers. */
#ifndef TESTS_DEPTH_BENCH_H
#define TESTS_DEPTH_BENCH_H

#include "tests/rigs/rig.h"
#include "unet/model/depth.h"

/* folder of the goldens (values that transformers computed), and name of the device; both from the command line */
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

/* Opens the golden, and the model in `folder`; NULL: the golden's own model. */
void bench_open(struct bench *b, const char *folder);
void bench_close(struct bench *b);
void prepare(struct bench *b);

/* Returns the largest error that is allowed for the golden's values `name`. On a GPU it is twice the error of PyTorch
 * with FP16, which depth.py has measured. For depths it is four times that error: all errors of one picture have the
 * same sign, so chance matters more. At the sizes of published models this program's error is 0.8 times PyTorch's
 * (tests/peers/depth_shapes.py). */
double bound_of(struct bench *b, const char *name);

/* Compares values of the tensor t with the golden's values `name`: every `step`th one, from value number `skip` on. */
void compare(struct bench *b, const char *name, struct tensor t, size_t skip, size_t step);

/* Makes an input of the plan for the golden's picture `name`, whose values are then in *picture; black is -1, as in the
 * engine. */
struct tensor picture_input(struct bench *b, const char *name, struct values *picture);
/* Runs the plan with the picture's values in the input x. */
void run_picture(struct bench *b, struct tensor x, struct values *picture);
void check_picture(const char *folder, const char *name);
bool has_this_device(void); /* returns true if the device can be opened; if not, prints the reason on standard error */

#endif
