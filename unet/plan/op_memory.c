#include "unet/plan/op_checks.h"

const char *op_check_recall(const struct op *op, int runs, struct op_result *y) {
  const struct op_recall *o = &op->recall;
  (void)y;
  if (tensor_elements(o->bank) != BANK_VALUES || (tensor_exists(o->cut) && tensor_elements(o->cut) != 1))
    return "the bank's state or the cut has another shape";
  if (o->room < 1 || o->room > BANK_ROOM_MAX)
    return "there is no bank of that many frames";
  return runs == 1 ? NULL : "it is in the loop";
}

const char *op_check_remember(const struct op *op, int runs, struct op_result *y) {
  const struct op_remember *o = &op->remember;
  (void)y;
  if (tensor_elements(o->bank) != BANK_VALUES)
    return "the bank's state has another shape";
  if (o->ring.n != o->x.n || o->ring.w != o->x.h * o->x.w || o->ring.c != o->x.c || o->ring.h > BANK_ROOM_MAX)
    return "the ring has no slots of that shape";
  return runs == 1 ? NULL : "it is in the loop, where each step would need a ring of its own";
}
