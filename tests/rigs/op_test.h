/* Runs one op (or a few) on two devices with random operands, and compares the results. A case builds a plan with the
 * functions of plan.h, as models do. All devices run the same cases (op_cases.h). */
#ifndef TESTS_OP_TEST_H
#define TESTS_OP_TEST_H

#include "unet/plan/device.h"

/* Values of operands: normally distributed with a standard deviation of 1, or unusual ones. */
enum fill {
  FILL_NORMAL,
  FILL_LARGE,    /* normal values times 1000, or times 30 if operands are FP16 or BF16, so that sums do not overflow */
  FILL_OFFSET,   /* 100 + 0.1 times a normal value, for a small variance around a large mean */
  FILL_CONSTANT, /* all values are equal */
  FILL_ZEROS,    /* half of the values are 0 */
  FILL_TINY,     /* times 0.001 */
  FILL_NANS,     /* a fifth of the values are no numbers; results must be no numbers where the reference's are */
};

enum { TEST_OPERANDS = 24, TEST_OUTPUTS = 6 };

struct op_test {
  struct plan plan;
  struct resources resources;
  uint64_t random;
  enum dtype dtype; /* type to which operands are rounded, so that both devices get the same values */
  struct operand {
    /* tensor of the operand; if its space is TENSOR_NONE, the operand is a weight, whose data are read through the
     * resources */
    struct tensor tensor;
    float *data;
  } operands[TEST_OPERANDS];
  int operand_count;
  struct tensor outputs[TEST_OUTPUTS];
  int output_count;
  struct run_params params;
  struct frame frames[FRAMES_MAX];
  uint8_t *pixels[FRAMES_MAX];
  int frame_count;
  bool has_nans;    /* true: an operand was filled with FILL_NANS */
  bool has_picture; /* true: the plan ends with OP_PIXELS_OUT */
  enum pixel_format output;
};

struct op_test_options {
  struct device_options device;          /* device under test; its results are compared with those of "cpu:plain" */
  void (*opened)(struct device *device); /* called with the device before it is used, to change it; NULL: not wanted */
  /* called with the program that the device makes of a case, to check it; NULL: not wanted */
  void (*prepared)(const struct program *program);
  double product; /* largest allowed ||out - ref|| / ||ref|| for convolutions, linear layers, norms and attention */
  double exact;   /* largest allowed ||out - ref|| / ||ref|| for ops that only move, add and scale */
  int codes;      /* largest allowed difference of an 8-bit output sample; with 10 bits four times as much */
  enum dtype operands; /* type of operands; DTYPE_F16 for a device that stores FP16 */
  uint64_t seed;       /* seed of the random numbers; 0: a new one is chosen */
  bool verbose;        /* true: a line is printed for every case; false: only for those that fail */
  bool large;          /* true: cases for which the reference takes a second are run as well */
  int apart, first;    /* only cases number first, first + apart, first + 2 apart and so on are run; apart 0: all */
};

/* --- building --- */

double test_uniform(struct op_test *t);                 /* returns a random number from 0 up to, but not including, 1 */
int test_integer(struct op_test *t, int low, int high); /* returns a random number from low to high, both included */
float test_normal(struct op_test *t);
float test_value(struct op_test *t, enum fill fill); /* returns a random value of an operand, rounded to t->dtype */

/* Makes an input of the plan with random values. */
struct tensor test_input(struct op_test *t, int n, int h, int w, int c, enum demand demand, enum fill fill);
/* Makes a weight. Its values are scaled by 1 / sqrt(inputs), so that sums stay as large as the inputs. */
struct tensor test_weight(struct op_test *t, int out, int k, int in);
struct tensor test_vector(struct op_test *t, int c, float mean);
struct tensor test_table(struct op_test *t, int rows, int c); /* makes a weight for embeddings, [rows, 1, 1, c] */
/* test_state makes a state of the plan, which is given the same values before each run; test_slots makes a resource of
 * n slots. */
struct tensor test_state(struct op_test *t, int n, int h, int w, int c, enum demand demand);
struct tensor test_slots(struct op_test *t, int n, int h, int w, int c);
/* Makes y one of the plan's outputs, which are compared. */
void test_output(struct op_test *t, struct tensor y);
/* Adds a frame of random pixels to those of the run, and returns it; the caller may change it. smooth: true for a
 * gradient with a little noise, as in real pictures. */
struct frame *test_frame(struct op_test *t, enum pixel_format format, int width, int height, bool smooth);

/* Frees the operands, the plan and the resources of a test. */
void op_test_free(struct op_test *t);

/* --- running --- */

/* Cases of one op: `build` is called for each element of the array `arguments`, or once with NULL if there is no
 * array. */
struct op_cases {
  const char *name; /* name of the cases, which begins with that of the op */
  void (*build)(struct op_test *t, const void *argument);
  const void *arguments;
  size_t size; /* size in bytes of an element of `arguments` */
  int count;
  bool exact;   /* true: the bound `exact` of the options applies; false: the bound `product` */
  bool codes;   /* true: results are 8-bit codes divided by 255, which must be equal on all devices */
  bool whole;   /* true: results are whole numbers, which must be equal on all devices */
  double bound; /* relative error that these cases have in FP32 already; used if the options' bound is smaller */
};

#define OP_CASES(name, build, arguments)                                                                               \
  { name, build, arguments, sizeof(arguments)[0], sizeof(arguments) / sizeof(arguments)[0], false }
#define OP_CASES_BOUND(name, build, arguments, bound)                                                                  \
  { name, build, arguments, sizeof(arguments)[0], sizeof(arguments) / sizeof(arguments)[0], false, false, false, bound }
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

/* Runs case number `index` twice on both devices, with poisoned memory. Returns 0 if the results of both devices agree
 * and the second run repeats the first one. Otherwise returns -1, after a line that says what differs, and with which
 * seed. */
int op_test_run(const struct op_cases *cases, int index, const struct op_test_options *options);

#endif
