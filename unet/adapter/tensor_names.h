/* What the names of an adapter's tensors say. Kohya, LyCORIS, diffusers (old and new), PEFT and ComfyUI name them
 * differently: which part of the model, a module of it, then what the tensor is to it. Each of these is read by itself,
 * so that every prefix goes with every style. */
#ifndef UNET_ADAPTER_TENSOR_NAMES_H
#define UNET_ADAPTER_TENSOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/* What a tensor is to its module. */
enum piece {
  PIECE_DOWN, /* LoRA: [rank, in, ..] */
  PIECE_UP,   /* [out, rank, ..] */
  PIECE_MID,  /* [rank, rank, kh, kw] */
  PIECE_ALPHA,
  PIECE_MAGNITUDE, /* DoRA */
  PIECE_UP_BIAS,   /* of the layer's bias, scaled as the product is */
  PIECE_W1_A,      /* LoHa: hada_, LoKr: lokr_ */
  PIECE_W1_B,
  PIECE_W2_A,
  PIECE_W2_B,
  PIECE_T1,
  PIECE_T2,
  PIECE_W1, /* LoKr: whole */
  PIECE_W2,
  PIECE_DIFF, /* added as it is */
  PIECE_DIFF_BIAS,
  PIECES
};

enum family { FAMILY_LORA, FAMILY_LOHA, FAMILY_LOKR, FAMILY_FULL, FAMILY_ANY /* alpha and magnitude */ };

/* Which part of the model a name is of. */
enum part { PART_UNET, PART_TEXT, PART_TEXT_2, PART_ANY, PARTS };

struct adapter_key {
  enum piece piece;
  enum family family;
  enum part part;
  bool kohya;       /* named as kohya's scripts do, which write an alpha for each module */
  const char *path; /* of the module, inside the name: with dots or with underscores in their place */
  size_t length;
  size_t module; /* length of the name up to what the tensor is: equal for all tensors of a module */
};

/* Reads a name. False: it is none of an adapter's. */
bool adapter_key_read(const char *name, struct adapter_key *key);
/* The module's path with underscores in place of dots. size is at least 1; a longer path is cut. */
void adapter_key_flatten(const struct adapter_key *key, char *path, size_t size);
/* True for a tensor of an embedding that the file may bring beside its adapter: "bundle_emb.NAME.clip_l",
 * "text_encoders_0", "<s0>". */
bool adapter_key_is_embedding(const char *name);
/* What kind of file a name gives away that is no adapter of these kinds ("OFT", "a ControlNet-LLLite"); NULL: none. */
const char *adapter_key_refused(const char *name);

#endif
