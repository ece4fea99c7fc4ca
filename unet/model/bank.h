/* The bank of a frame's plan: keys and values of earlier frames, to which self-attention attends as well
 * (unet/plan/op_memory.h). Each layer has a ring for each call of the U-Net, with all guidance rows. */
#ifndef UNET_MODEL_BANK_H
#define UNET_MODEL_BANK_H

#include "unet/model/walk.h"
#include "unet/plan/plan.h"

/* Layers are chosen by levels: bit i stands for the self-attention at 1/2^i of the picture's width and height. */
enum { BANK_LEVELS = 10, BANK_CALLS_MAX = 8 /* largest number of calls of the U-Net with a bank */ };

/* The bank as one call of the U-Net uses it. Zeroed: there is none. */
struct bank {
  struct tensor state; /* [1, 1, 1, BANK_VALUES] */
  int room;            /* frames of each ring */
  unsigned levels;
  int scale; /* pixels of a latent cell */
  int step;  /* number of the call */
};

/* Returns the levels at which a U-Net has self-attention. scale: pixels of a latent cell. */
unsigned bank_levels_there(const struct walk *walk, int scale);
/* Returns the two finest of these levels; 1/8 and 1/16 for SD 1 and 2, 1/16 and 1/32 for SDXL. */
unsigned bank_levels_usual(unsigned there);
/* Appends OP_RECALL, which begins the run of the bank, and returns the bank for the call number 0. global: that of the
 * picture's motion (motion.h), whose cut empties the bank; may be no tensor. */
struct bank bank_begin(struct plan *plan, int room, unsigned levels, int scale, struct tensor global);
/* Adds the ring of the attention whose name is the plan's present prefix to *op, if the bank keeps this layer. */
void bank_attend(const struct bank *bank, struct plan *plan, const struct unet_layer *layer, struct op_attention *op);
/* Appends OP_REMEMBER for that attention, if op has a ring. keys_values: its keys and values, a slice. */
void bank_remember(const struct bank *bank, struct plan *plan, const struct op_attention *op,
                   struct tensor keys_values);
/* Returns the number of values that the rings of a plan hold. */
size_t bank_elements(const struct plan *plan);

#endif
