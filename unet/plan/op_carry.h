/* The ops of noise that moves with the picture (op.h). texture.h has the arithmetic, which is on whole numbers. */
#ifndef UNET_PLAN_OP_CARRY_H
#define UNET_PLAN_OP_CARRY_H

#include "unet/plan/operands.h"
#include "unet/plan/texture.h"

/* Moves the field of places by one frame, and finds the entry that each cell shows: y = [place of the cell before a
 * renewal | entry | 1 if the texture is renewed in this run, else 0]. In a run without a past, and after a cut, the
 * field becomes the identity, and each cell of the texture the entry of its own number, of the first table (texture.h).
 *   flow     whole [1, h, w, 2]: displacement of each cell to its position in the last frame, in 1/256 pixel
 *   visible  whole [1, h, w, 1]: not 0 if the cell was seen in the last frame
 *   global   whole [1, 1, 1, values], of which the first one is not 0 if nothing is known of the last frame
 *   places   whole [1, h, w, 2]: the field (struct texture_field)
 *   entries  whole [1, h, w, 1]: the texture, the entry of each of its cells
 *   y        whole [1, h, w, ADVECTED_VALUES] */
enum advected_value { ADVECTED_Y, ADVECTED_X, ADVECTED_ENTRY, ADVECTED_RENEWED, ADVECTED_VALUES };
#define OPERANDS_ADVECT(T, P)                                                                                          \
  T(flow, OPERAND_READ | OPERAND_WHOLE)                                                                                \
  T(visible, OPERAND_READ | OPERAND_WHOLE)                                                                             \
  T(global, OPERAND_READ | OPERAND_WHOLE)                                                                              \
  T(places, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)                                              \
  T(entries, OPERAND_READ | OPERAND_WRITE | OPERAND_STATE | OPERAND_WHOLE)                                             \
  T(y, OPERAND_WRITE | OPERAND_WHOLE)
struct op_advect {
  OPERANDS(ADVECT)
  int cell; /* pixels of a cell's side */
};

/* y = the noise that moves with the picture if run.carried is true, else the noise as it is. Pixel p of sample i of y
 * is read at advected[p].entry: from sample i of the first table, noise, or from the second table at
 * texture_second(entry, first + i).
 *   advected  whole [1, h, w, ADVECTED_VALUES]
 *   noise     precise [samples, h, w, c]
 *   second    precise [1, h, w, c]
 *   y         precise, a state of noise's shape */
#define OPERANDS_CARRIED_NOISE(T, P)                                                                                   \
  T(advected, OPERAND_READ | OPERAND_STATE | OPERAND_WHOLE)                                                            \
  T(noise, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(second, OPERAND_READ | OPERAND_STATE)                                                                              \
  T(y, OPERAND_WRITE)
struct op_carried_noise {
  OPERANDS(CARRIED_NOISE)
  int first; /* number of noise's first sample among all that share `second` */
};

#endif
