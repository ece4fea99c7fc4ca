/* One op (or a few) on two devices: operands are random, outputs are compared. A case is built through plan.h, so it
 * goes the way a model's ops go. The same cases serve every device: see op_cases.h. */
#ifndef TESTS_OP_TEST_H
#define TESTS_OP_TEST_H

#include "unet/plan/device.h"

/* How operands are filled: random normal values of about 1, or an extreme. */
enum fill {
  FILL_NORMAL,
  FILL_LARGE,    /* times 1000, or 30 where operands are FP16: sums must not overflow there */
  FILL_OFFSET,   /* 100 + 0.1 normal: norms see a small variance on a large mean */
  FILL_CONSTANT, /* all the same */
  FILL_ZEROS,    /* half of the values are 0 */
  FILL_TINY,     /* times 1e-3 */
};

enum { TEST_OPERANDS = 24, TEST_OUTPUTS = 4 };

struct op_test {
  struct plan plan;
  struct resources resources;
  uint64_t random;
  enum dtype dtype; /* operands are rounded to this, on both devices */
  struct operand {
    struct tensor tensor; /* space TENSOR_NONE: a weight, which the resources read */
    float *data;
  } operands[TEST_OPERANDS];
  int operand_count;
  struct tensor outputs[TEST_OUTPUTS];
  int output_count;
  struct run_params params;
  struct frame frames[FRAMES_MAX];
  uint8_t *pixels[FRAMES_MAX];
  int frame_count;
  bool has_picture; /* the plan ends in OP_PIXELS_OUT */
  enum pixel_format output;
};

struct op_test_options {
  struct device_options device;          /* name, threads...: the device under test; the reference is "cpu:plain" */
  void (*opened)(struct device *device); /* may be NULL: changes the device before it is used */
  void (*prepared)(const struct program *program); /* may be NULL: sees what the device makes of a case */
  double product;      /* bound on ||out - ref|| / ||ref|| for convolutions, linear layers, norms, attention */
  double exact;        /* the same for ops that only move, add and scale */
  int codes;           /* largest difference of an 8-bit output sample (10-bit ones: four times that) */
  enum dtype operands; /* DTYPE_F16 for a device that keeps FP16: both devices then see the same values */
  uint64_t seed;       /* 0: a new one */
  bool verbose;        /* prints every case, not only those that fail */
  bool large;          /* also the cases that take the definition a second */
  int apart, first;    /* of each op's cases only every so many, from that one on; apart 0: all */
};

/* --- building --- */

double test_uniform(struct op_test *t);                 /* [0, 1) */
int test_integer(struct op_test *t, int low, int high); /* low..high */
float test_normal(struct op_test *t);
float test_value(struct op_test *t, enum fill fill); /* one operand's value, rounded to t->dtype */

struct tensor test_input(struct op_test *t, int n, int h, int w, int c, enum demand demand, enum fill fill);
/* Weights are scaled by 1 / sqrt(inputs), so that sums stay of the inputs' size. */
struct tensor test_weight(struct op_test *t, int out, int k, int in);
struct tensor test_vector(struct op_test *t, int c, float mean);
struct tensor test_table(struct op_test *t, int rows, int c); /* an embedding: [rows, 1, 1, c] */
/* A plan's state, which each run finds as it was given, and a resource of slots. */
struct tensor test_state(struct op_test *t, int n, int h, int w, int c, enum demand demand);
struct tensor test_slots(struct op_test *t, int n, int h, int w, int c);
void test_output(struct op_test *t, struct tensor y);
/* The frame of the next number, of random pixels, to be changed at will; smooth: a gradient with a little noise, as
 * pictures are. */
struct frame *test_frame(struct op_test *t, enum pixel_format format, int width, int height, bool smooth);

/* Frees the operands, the plan and the resources. */
void op_test_free(struct op_test *t);

/* --- running --- */

/* Cases of one op: an array of arguments for build, or a single case without one. */
struct op_cases {
  const char *name; /* begins with the op's name */
  void (*build)(struct op_test *t, const void *argument);
  const void *arguments;
  size_t size; /* of an argument */
  int count;
  bool exact; /* which bound applies */
  bool codes; /* outputs are 8-bit codes in 0..1, the same ones everywhere */
};

#define OP_CASES(name, build, arguments)                                                                               \
  { name, build, arguments, sizeof(arguments)[0], sizeof(arguments) / sizeof(arguments)[0], false }
#define OP_CASES_EXACT(name, build, arguments)                                                                         \
  { name, build, arguments, sizeof(arguments)[0], sizeof(arguments) / sizeof(arguments)[0], true }
#define OP_CASES_CODES(name, build, arguments)                                                                         \
  { name, build, arguments, sizeof(arguments)[0], sizeof(arguments) / sizeof(arguments)[0], true, true }
#define OP_CASE(name, build)                                                                                           \
  { name, build, NULL, 0, 1, false }
#define OP_CASE_EXACT(name, build)                                                                                     \
  { name, build, NULL, 0, 1, true }

/* Runs case number `index` on both devices, in poisoned memory, twice: 0 when the outputs agree and the second run
 * repeats the first. Else -1, and a line tells what differed and the seed. */
int op_test_run(const struct op_cases *cases, int index, const struct op_test_options *options);

#endif
