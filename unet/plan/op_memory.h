/* The ops with which self-attention also attends to earlier frames: the bank (op.h).
 *
 * Each attention layer has a ring of the keys and values of earlier runs, a state with room for some frames. One small
 * state, the bank's, says for all rings how many frames they hold and where this run stores its own. In a run OP_RECALL
 * comes first, then in each layer OP_ATTENTION with the ring as its second segment, and after it OP_REMEMBER. */
#ifndef UNET_PLAN_OP_MEMORY_H
#define UNET_PLAN_OP_MEMORY_H

#include "unet/base/controls.h"
#include "unet/plan/operands.h"

/* The values of the bank's state. Zeros stand for a bank that holds no frame. */
enum bank_value {
  BANK_COUNT,  /* frames that this run attends to: they are in slots 0 to BANK_COUNT - 1 of each ring */
  BANK_STORES, /* 1: this run stores its keys and values; 0: it does not */
  BANK_SLOT,   /* the slot in which this run stores, or the next one that does */
  BANK_AGE,    /* number of the next run, from 0, in a cycle of run.bank.every runs, of which run 0 stores */
  BANK_VALUES
};

/* Begins a run of the bank with N = run.bank.frames and K = run.bank.every. If the last run has stored its frame, the
 * ring has one frame more (N at most), and the next slot of N is the one to store in. If the run has no past
 * (run.restart or run.bank.anew is set, or cut is other than 0), the bank is emptied instead: count, slot and age
 * are 0.
 * Then the run stores if the age is 0, and the age is raised by one, modulo K. It runs only while N is not 0
 * (REGION_BANK).
 *   cut   [1, 1, 1, 1]: may be a view of one channel; other than 0: the picture has changed altogether
 *   bank  [1, 1, 1, BANK_VALUES]: a state */
#define OPERANDS_RECALL(T, P)                                                                                          \
  T(cut, OPERAND_READ | OPERAND_VIEW | OPERAND_OPTIONAL | OPERAND_WHOLE)                                               \
  T(bank, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)
struct op_recall {
  OPERANDS(RECALL)
  int room; /* slots of each ring: run.bank.frames is at most this */
};

/* ring[n, BANK_SLOT] = the tokens of x[n], for all n, if BANK_STORES is 1; otherwise nothing.
 *   x     [n, h, w, c]: keys and values, a slice of a fused projection
 *   bank  [1, 1, 1, BANK_VALUES]
 *   ring  [n, room, h * w, c]: a state */
#define OPERANDS_REMEMBER(T, P)                                                                                        \
  T(x, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(bank, OPERAND_READ | OPERAND_STATE | OPERAND_WHOLE)                                                                \
  T(ring, OPERAND_WRITE | OPERAND_STATE)
struct op_remember {
  OPERANDS(REMEMBER)
};

#endif
