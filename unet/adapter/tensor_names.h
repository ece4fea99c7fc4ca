/* The names of an adapter's tensors. A name has three parts: the part of the model, a module in it, and the tensor's
 * role in this module. kohya, LyCORIS, old and new diffusers, PEFT and ComfyUI all write these parts differently. The
 * parts are read independently of each other, so every combination is understood. */
#ifndef UNET_ADAPTER_TENSOR_NAMES_H
#define UNET_ADAPTER_TENSOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* The role of a tensor in its module: a factor of the change, a scale, or the whole difference. */
enum piece {
  PIECE_DOWN, /* LoRA: of the two matrices, the one that is multiplied with the layer's input, [rank, in, ..] */
  PIECE_UP,   /* LoRA: of the two matrices, the one that gives the layer's output, [out, rank, ..] */
  PIECE_MID,  /* LoRA of a convolution: the factor between PIECE_UP and PIECE_DOWN, [rank, rank, kh, kw] */
  PIECE_ALPHA,
  PIECE_MAGNITUDE, /* DoRA */
  PIECE_UP_BIAS,   /* change of the layer's bias, with the same scale as the factors' product */
  PIECE_W1_A,      /* this value and those after it, up to PIECE_T2: factors of LoHa (hada_) or LoKr (lokr_) */
  PIECE_W1_B,
  PIECE_W2_A,
  PIECE_W2_B,
  PIECE_T1,
  PIECE_T2,
  PIECE_W1, /* LoKr: a factor that is stored as one tensor, not as a product */
  PIECE_W2,
  PIECE_DIFF, /* a difference that is added to the layer's weight without any factors */
  PIECE_DIFF_BIAS,
  PIECES
};

enum family {
  FAMILY_LORA,
  FAMILY_LOHA,
  FAMILY_LOKR,
  FAMILY_FULL,
  /* no kind of factors: the tensor may belong to any kind of adapter, as an alpha or a magnitude (DoRA) does */
  FAMILY_ANY
};

/* The part of the model to which a name belongs. */
enum part { PART_UNET, PART_TEXT, PART_TEXT_2, PART_ANY, PARTS };

struct adapter_key {
  enum piece piece;
  enum family family;
  enum part part;
  bool kohya;       /* true: the name is written as kohya's scripts do, which store an alpha for each module */
  const char *path; /* the module's path, with dots or underscores; points into the name */
  size_t length;
  /* length of the part of the name that all tensors of a module have in common: all but the end, which tells the
   * role */
  size_t module;
};

/* Reads the parts of a tensor's name into *key. Returns false if the name is not that of an adapter's tensor. */
bool adapter_key_read(const char *name, struct adapter_key *key);
/* Writes the module's path with underscores instead of dots. size is at least 1; a longer path is cut. */
void adapter_key_flatten(const struct adapter_key *key, char *path, size_t size);
/* Returns true if the name is that of an embedding, which a file may hold besides its adapter:
 * "bundle_emb.NAME.clip_l", "text_encoders_0", "<s0>". */
bool adapter_key_is_embedding(const char *name);
/* If this is the name of a tensor in a kind of adapter that is not supported, returns words for the kind, for a message
 * ("OFT", "a ControlNet-LLLite"). Otherwise returns NULL. */
const char *adapter_key_refused(const char *name);

#endif
