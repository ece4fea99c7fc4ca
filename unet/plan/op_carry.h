/* The ops of noise that moves with the picture, so that its grain does not stand still while things move. Each cell of
 * the latent has a position in an endless texture of noise. The noise values are in two tables; each cell of the
 * texture stands for one entry of one of them. texture.h explains this and has the arithmetic, in whole numbers; op.h
 * says how ops are declared. */
#ifndef UNET_PLAN_OP_CARRY_H
#define UNET_PLAN_OP_CARRY_H

#include "unet/plan/operands.h"
#include "unet/plan/texture.h"

/* Moves the field (each cell's position in the texture of noise) along the motion since the last frame, and finds the
 * entry of the two tables of noise for each cell. y holds for each cell: its position (2 values), the entry, and a
 * flag. The flag is 1 if the texture was too distorted, so that this run renews it (starts it anew), else 0; y then has
 * the cell's position in the old texture. After a cut, and if run.restart is set, each cell gets the position that it
 * has in the latent, and cell i of the texture gets entry i of the first table.
 *   flow     int32 [1, h, w, 2]: displacement of each cell to its position in the last frame, in 1/256 pixel
 *   visible  int32 [1, h, w, 1]: not 0 if the cell was seen in the last frame
 *   global   int32 [1, 1, 1, values]: from OP_FLOW; the first value is not 0 after a cut
 *   places   int32 [1, h, w, 2]: the field, as row and column in 1/256 pixel (struct texture_field)
 *   entries  int32 [1, h, w, 1]: the texture: number of the entry that each of its cells stands for
 *   y        int32 [1, h, w, ADVECTED_VALUES] */
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
  int cell; /* width of a cell of the latent, in pixels of the picture */
};

/* If run.carried is true, y = the noise that moves with the picture, else y = `noise`. `advected` has a number for each
 * cell p of the latent, here called entry[p]. If entry[p] is less than h * w, cell p of sample i of y is a copy of cell
 * entry[p] of sample i of `noise`. Otherwise it is a copy of cell texture_second(entry[p] - h * w, first + i) of
 * `second` (`first` is a field below).
 *   advected  int32 [1, h, w, ADVECTED_VALUES], from OP_ADVECT
 *   noise     FP32 [samples, h, w, c]
 *   second    FP32 [1, h, w, c]: shared by all samples
 *   y         FP32, a state of noise's shape */
#define OPERANDS_CARRIED_NOISE(T, P)                                                                                   \
  T(advected, OPERAND_READ | OPERAND_STATE | OPERAND_WHOLE)                                                            \
  T(noise, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(second, OPERAND_READ | OPERAND_STATE)                                                                              \
  T(y, OPERAND_WRITE)
struct op_carried_noise {
  OPERANDS(CARRIED_NOISE)
  /* Several ops may take noise from the same tensor `second`. Each sample begins at another cell of it, so that the
   * samples differ. first: number of this op's first sample, counted from 0 over all these ops. */
  int first;
};

#endif
