/* Runs one op (or a few) on two devices with random operands, and compares the outputs. A case is built through plan.h,
 * so it takes the same way as a model's ops. The same cases serve every device: see op_cases.h. */
#ifndef TESTS_OP_TEST_H
#define TESTS_OP_TEST_H

#include "unet/plan/device.h"

/* Values of operands: random normal ones of about 1, or extreme ones. */
enum fill {
  FILL_NORMAL,
  FILL_LARGE,    /* times 1000, or times 30 if operands are FP16, where sums must not overflow */
  FILL_OFFSET,   /* 100 + 0.1 times a normal value: a small variance on a large mean */
  FILL_CONSTANT, /* all values are equal */
  FILL_ZEROS,    /* half of the values are 0 */
  FILL_TINY,     /* times 0.001 */
};

enum { TEST_OPERANDS = 24, TEST_OUTPUTS = 6 };

struct op_test {
  struct plan plan;
  struct resources resources;
  uint64_t random;
  enum dtype dtype; /* operands are rounded to this type, on both devices */
  struct operand {
    struct tensor tensor; /* space TENSOR_NONE: it is a weight, which the resources read */
    float *data;
  } operands[TEST_OPERANDS];
  int operand_count;
  struct tensor outputs[TEST_OUTPUTS];
  int output_count;
  struct run_params params;
  struct frame frames[FRAMES_MAX];
  uint8_t *pixels[FRAMES_MAX];
  int frame_count;
  bool has_picture; /* the plan ends with OP_PIXELS_OUT */
  enum pixel_format output;
};

struct op_test_options {
  struct device_options device;          /* the device under test; the reference is "cpu:plain" */
  void (*opened)(struct device *device); /* may be NULL; changes the device before it is used */
  /* May be NULL; checks the program that the device makes of a case. */
  void (*prepared)(const struct program *program);
  double product;      /* bound on ||out - ref|| / ||ref|| for convolutions, linear layers, norms, attention */
  double exact;        /* the same bound for ops that only move, add and scale */
  int codes;           /* largest difference of an 8-bit output sample (four times that for 10 bits) */
  enum dtype operands; /* DTYPE_F16 for a device that keeps FP16, so that both devices get the same values */
  uint64_t seed;       /* 0: a new one is chosen */
  bool verbose;        /* every case is printed, not only those that fail */
  bool large;          /* cases run as well for which the reference takes a second */
  int apart, first;    /* only every `apart`th of each op's cases runs, from number `first` on; apart 0: all */
};

/* --- building --- */

double test_uniform(struct op_test *t);                 /* from 0 up to, but not including, 1 */
int test_integer(struct op_test *t, int low, int high); /* from low to high, both included */
float test_normal(struct op_test *t);
float test_value(struct op_test *t, enum fill fill); /* a value of an operand, rounded to t->dtype */

/* Makes an input of the plan with random values. */
struct tensor test_input(struct op_test *t, int n, int h, int w, int c, enum demand demand, enum fill fill);
/* Makes a weight. Its values are scaled by 1 / sqrt(inputs), so that sums stay as large as the inputs. */
struct tensor test_weight(struct op_test *t, int out, int k, int in);
struct tensor test_vector(struct op_test *t, int c, float mean);
struct tensor test_table(struct op_test *t, int rows, int c); /* an embedding: [rows, 1, 1, c] */
/* test_state makes a state of the plan, which has the same values before each run, and test_slots a resource of
 * slots. */
struct tensor test_state(struct op_test *t, int n, int h, int w, int c, enum demand demand);
struct tensor test_slots(struct op_test *t, int n, int h, int w, int c);
/* Makes y an output, which is compared. */
void test_output(struct op_test *t, struct tensor y);
/* Makes the next frame, of random pixels, which the test may change. smooth: it is a gradient with a little noise, as
 * real pictures are. */
struct frame *test_frame(struct op_test *t, enum pixel_format format, int width, int height, bool smooth);

/* Frees the operands, the plan and the resources. */
void op_test_free(struct op_test *t);

/* --- running --- */

/* Cases of one op: an array of arguments for build, or a single case without one. */
struct op_cases {
  const char *name; /* begins with the op's name */
  void (*build)(struct op_test *t, const void *argument);
  const void *arguments;
  size_t size; /* size of an argument */
  int count;
  bool exact; /* the bound `exact` applies and not `product` */
  bool codes; /* outputs are 8-bit codes divided by 255, which must be equal on all devices */
  bool whole; /* outputs are whole numbers, which must be equal on all devices */
};

#define OP_CASES(name, build, arguments)                                                                               \
  { name, build, arguments, sizeof(arguments)[0], sizeof(arguments) / sizeof(arguments)[0], false }
#define OP_CASES_EXACT(name, build, arguments)                                                                         \
  { name, build, arguments, sizeof(arguments)[0], sizeof(arguments) / sizeof(arguments)[0], true }
#define OP_CASES_CODES(name, build, arguments)                                                                         \
  { name, build, arguments, sizeof(arguments)[0], sizeof(arguments) / sizeof(arguments)[0], true, true }
#define OP_CASES_WHOLE(name, build, arguments)                                                                         \
  { name, build, arguments, sizeof(arguments)[0], sizeof(arguments) / sizeof(arguments)[0], true, false, true }
#define OP_CASE(name, build)                                                                                           \
  { name, build, NULL, 0, 1, false }
#define OP_CASE_EXACT(name, build)                                                                                     \
  { name, build, NULL, 0, 1, true }

/* Runs case number `index` on both devices, in poisoned memory, twice. Returns 0 if the outputs agree and the second
 * run repeats the first; otherwise -1, and a line says what differed and with which seed. */
int op_test_run(const struct op_cases *cases, int index, const struct op_test_options *options);

#endif
