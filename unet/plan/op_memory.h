/* The ops with which self-attention also attends to earlier frames. These frames' keys and values are called the bank.
 *
 * Each attention layer has a ring buffer: a state with slots for the keys and values of some earlier frames. One small
 * state (`bank` below) is shared by all ring buffers: it says how many frames they hold, and in which slot this run
 * stores its own. First in a run, OP_RECALL updates the small state. Then in each layer OP_ATTENTION reads the ring
 * buffer as its k2 and v2, and OP_REMEMBER after it writes one slot. op.h says how ops are declared. */
#ifndef UNET_PLAN_OP_MEMORY_H
#define UNET_PLAN_OP_MEMORY_H

#include "unet/base/controls.h"
#include "unet/plan/operands.h"

/* The values in the small state (a tensor that outlives a run) of the bank, which stores earlier frames' keys and
 * values. All layers share this state. Zeros stand for a bank that holds no frame. */
enum bank_value {
  /* number of earlier frames that this run attends to: those in slots 0 to BANK_COUNT - 1 of each layer's ring
   * buffer */
  BANK_COUNT,
  BANK_STORES, /* 1: this run stores its keys and values in the bank; 0: it does not */
  /* index, in each layer's ring buffer, at which keys and values are stored next: those of this run or, if this run
   * stores none, those of a later run */
  BANK_SLOT,
  /* counts runs since a frame was last stored in the bank (earlier frames' keys and values), the next run included,
   * modulo run.bank.every; at 0 the next run stores its frame */
  BANK_AGE,
  BANK_VALUES
};

/* Updates the bank's small state at the beginning of a run. N is run.bank.frames and K is run.bank.every. If the last
 * run stored its frame, the count of frames grows by one (to N at most), and the slot to write is the next one of N. If
 * nothing of earlier frames may be used (run.restart or run.bank.anew is set, or cut is other than 0), the bank is
 * emptied instead: count, slot and age become 0. Then this run is to store if the age is 0, and the age is raised by
 * one, modulo K. The op runs only while N is not 0 (REGION_BANK).
 *   cut   int32 [1, 1, 1, 1]: may be a view of one channel; other than 0: this frame shows another scene than the last
 *   bank  int32 [1, 1, 1, BANK_VALUES]: a state */
#define OPERANDS_RECALL(T, P)                                                                                          \
  T(cut, OPERAND_READ | OPERAND_VIEW | OPERAND_OPTIONAL | OPERAND_WHOLE)                                               \
  T(bank, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)
struct op_recall {
  OPERANDS(RECALL)
  int room; /* number of slots of each layer's ring buffer; at least run.bank.frames */
};

/* Stores this frame's keys or values in a ring buffer: ring[n, slot] = the tokens of x[n], for all n. The slot is the
 * value BANK_SLOT of `bank`. If the value BANK_STORES of `bank` is 0 instead of 1, nothing is written.
 *   x     [n, h, w, c]: keys and values, a view of a fused projection
 *   bank  int32 [1, 1, 1, BANK_VALUES], from OP_RECALL
 *   ring  [n, room, h * w, c]: a state, the ring buffer of one layer */
#define OPERANDS_REMEMBER(T, P)                                                                                        \
  T(x, OPERAND_READ | OPERAND_VIEW)                                                                                    \
  T(bank, OPERAND_READ | OPERAND_STATE | OPERAND_WHOLE)                                                                \
  T(ring, OPERAND_WRITE | OPERAND_STATE)
struct op_remember {
  OPERANDS(REMEMBER)
};

#endif
