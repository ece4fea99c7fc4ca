/* The bank in the plan of a frame: keys and values of earlier frames, to which self-attention attends in addition to
 * those of this frame (unet/plan/op_memory.h). Each attention layer has a ring buffer for each call of the U-Net: a
 * state with slots for the keys and values of a few earlier frames. */
#ifndef UNET_MODEL_BANK_H
#define UNET_MODEL_BANK_H

#include "unet/model/walk.h"
#include "unet/plan/plan.h"

/* Bit i of a set of levels stands for the self-attention layers that work at 1/2^i of the picture's width and
 * height. */
enum { BANK_LEVELS = 10, BANK_CALLS_MAX = 8 /* largest number of U-Net calls in a frame with a bank */ };

/* The bank (keys and values of earlier frames) for one call of the U-Net. Zeroed: there is no bank. */
struct bank {
  /* the small state that all layers share, with the count of stored frames and other whole numbers: int32 [1, 1, 1,
   * BANK_VALUES] */
  struct tensor state;
  int room; /* number of slots, for one frame each, in each ring buffer; 0: there is no bank (earlier frames' keys and
             * values) */
  unsigned levels;
  int scale; /* width in pixels of a cell, the part of the picture for which one latent value stands */
  int step;  /* number of the U-Net's call in the frame, from 0 */
};

/* Returns the set of levels (bit i: 1/2^i of the picture's width and height) at which a U-Net has self-attention.
 * scale: width of a latent's cell in pixels. */
unsigned bank_levels_there(const struct walk *walk, int scale);
/* Returns the two finest of the levels `there` (bits), at which self-attention uses a bank (earlier frames' keys and
 * values) by default: 1/8 and 1/16 for SD 1 and 2, 1/16 and 1/32 for SDXL. */
unsigned bank_levels_usual(unsigned there);
/* Appends OP_RECALL, which updates the count of stored frames at the beginning of a run. Returns the bank (earlier
 * frames' keys and values) for the U-Net's call 0. global: how the whole picture moved (motion.h); if it says that the
 * scene has changed (a cut), the bank is emptied. No tensor: motion is not measured. */
struct bank bank_begin(struct plan *plan, int room, unsigned levels, int scale, struct tensor global);
/* Adds the keys and values of earlier frames to the operands of the attention *op, if the bank stores those of this
 * layer. The layer is identified by the plan's present prefix of names. */
void bank_attend(const struct bank *bank, struct plan *plan, const struct unet_layer *layer, struct op_attention *op);
/* Appends OP_REMEMBER, which stores an attention's keys and values in the layer's ring buffer, if *op has one
 * (bank_attend). keys_values: a view of the tensor with keys and values. */
void bank_remember(const struct bank *bank, struct plan *plan, const struct op_attention *op,
                   struct tensor keys_values);
/* Returns how many values the bank's ring buffers (keys and values of earlier frames) of a plan have together. */
size_t bank_elements(const struct plan *plan);

#endif
