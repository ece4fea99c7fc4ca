/* Cases for test_attention: values, operands on the host and on the device, and the results that the definition of
 * attention (attention_cpu) gives for them. */
#ifndef TESTS_ATTENTION_CASE_H
#define TESTS_ATTENTION_CASE_H

#include <stdio.h>
#include <stdlib.h>

#include "attention/choices.h"
#include "tests/rigs/attention_util.h"

enum fill {
  FILL_NORMAL,
  FILL_LARGE,   /* scores of hundreds: nearly one-hot */
  FILL_ONE_HOT, /* each row has one key that matches it, all other scores equal */
  FILL_CONSTANT,
  FILL_RISING, /* the maximum grows with every key */
  FILL_FALLING,
  FILL_V_LARGE, /* values near FP16's largest, of one sign */

  /* Scores of up to 2^35, made of powers of two so that FP32 holds them exactly. */
  FILL_HUGE,         /* q and k are +-2^15: all keys but the best, of which there may be several, count for nothing */
  FILL_HUGE_MIXED,   /* some rows with ordinary scores, some with huge ones, some with sizes between */
  FILL_HUGE_FAR,     /* the scores of a row are far from zero and near each other */
  FILL_HUGE_RISING,  /* scores grow from nearly 0 to huge, doubling 29 times over the keys; rows of either sign */
  FILL_HUGE_FALLING, /* as FILL_HUGE_RISING, from the last key to the first */
  /* scores near 2^27; from the 128th key on larger by one unit in the last place, a factor of 2^16 in the softmax if
   * scale is ln 2 */
  FILL_HUGE_STEP,

  FILL_LARGEST, /* the largest values of FP16, whose sums FP32 rounds: only bounds of the results are known */
  FILL_COARSE,  /* normal values rounded to multiples of 1/4, so that FP32 holds scores exactly: for unusual scales */
};

struct test_case {
  int B, H, Tq, Tk, D;
  int Tk2, count2; /* count2 may lie outside 0..Tk2 / rows2 */
  int rows2;       /* how many rows one unit of count2 stands for; 0: 1 */
  float scale;     /* factor of the scores; 0: 1 / sqrt(D) */
  bool causal;
  bool fused;  /* true: q, k and v are in one tensor, with odd row strides; false: three dense tensors */
  bool shared; /* true: all batch rows use K and V of the first one */
  /* true: the bank is one tensor with K and V side by side and rows for each batch row; false: K and V are apart and
   * shared */
  bool ring;
  enum fill fill;
};

struct operand {
  half *host;
  float *wide; /* the values of host as float */
  void *device;
  size_t count;
};

/* The operands of a case; args has device pointers. Bank rows behind the valid ones, and all of o, are NaN at first. */
struct problem {
  struct test_case t;
  struct operand q, k, v, k2, v2, o;
  int *count2; /* in device memory */
  struct attn_args args;
};

/* The results that the definition gives for a problem. */
struct expected {
  float *rows; /* [B][count][H * D]: rows first, first + step, ... of the result. NULL: only the bounds are known */
  int first, step, count;
  float *low, *high; /* [B][H * D]: the least and the largest value of a column: results are means of its values */
};

void problem_make(struct problem *p, const struct test_case *t);
void problem_free(struct problem *p);

/* Converts x->wide to x->host, and copies that to the device. */
void operand_upload(struct operand *x);

struct expected expected_make(const struct problem *p);
void expected_free(struct expected *e);

/* Prints one line about a case: "NAME B1 H2 77x113+0/0 D64 normal: 1.2e-04 VERDICT". */
void test_case_print(const struct test_case *t, const char *choice, double error, const char *verdict);

#endif
