/* Cases for test_attention: values, operands on the host and on the device, and what the definition makes of them. */
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
  FILL_HUGE_MIXED,   /* rows of ordinary, huge and all scores in between, side by side */
  FILL_HUGE_FAR,     /* the scores of a row far from zero, near each other */
  FILL_HUGE_RISING,  /* from next to nothing to huge, every 30th of the keys twice the one before; rows of both signs */
  FILL_HUGE_FALLING, /* the same from the last key to the first */
  FILL_HUGE_STEP,    /* from the 128th key on one unit in the last place more, near 2^27: a factor of 2^16 for ln 2 */

  FILL_LARGEST, /* FP16's largest, whose sums FP32 rounds: results are only known to lie between values */
  FILL_COARSE,  /* normal values to the next quarter: scores that FP32 holds exactly, for scales out of the ordinary */
};

struct test_case {
  int B, H, Tq, Tk, D;
  int Tk2, count2; /* count2 may lie outside 0..Tk2 / rows2 */
  int rows2;       /* rows that each of count2 counts; 0: 1 */
  float scale;     /* 0: 1 / sqrt(D) */
  bool causal;
  bool fused;  /* q, k and v in one tensor with odd row strides; else separate and dense */
  bool shared; /* K and V of one batch row serve all */
  bool ring;   /* the bank is one tensor with K and V side by side, and with rows of its own for each batch row */
  enum fill fill;
};

struct operand {
  half *host;
  float *wide; /* the same values */
  void *device;
  size_t count;
};

/* The operands of a case; args hold device pointers. Rows of the bank behind the valid ones and all of o are NaN. */
struct problem {
  struct test_case t;
  struct operand q, k, v, k2, v2, o;
  int *count2; /* device */
  struct attn_args args;
};

/* What the definition says of a problem. */
struct expected {
  float *rows; /* [B][count][H * D]: rows first, first + step, ... of the result. NULL: only the bounds are known */
  int first, step, count;
  float *low, *high; /* [B][H * D]: the least and the largest value of a column: results are means of its values */
};

void problem_make(struct problem *p, const struct test_case *t);
void problem_free(struct problem *p);

/* Both to the device, the first by way of the second. */
void operand_upload(struct operand *x);

struct expected expected_make(const struct problem *p);
void expected_free(struct expected *e);

/* One line about a case: "NAME B1 H2 77x113+0/0 D64 normal: 1.2e-04 VERDICT". */
void test_case_print(const struct test_case *t, const char *choice, double error, const char *verdict);

#endif
