/* Adapters: small files that change a model's weights, in proportion to a weight that the user gives each adapter. The
 * kinds are LoRA, LoCon (a LoRA of convolutions, which may have a middle factor), LoHa, LoKr, DoRA and plain
 * differences. Tensors may be named as by kohya, LyCORIS, diffusers or PEFT.
 *
 * adapter.c opens an adapter: it finds which tensors of the model it changes, and by what. groups.c groups a file's
 * tensors by module; tensor_names.c reads their names; base.c finds out for which family of models a file is; modules.c
 * lists the model's modules, under every name that a file may use; factors.c makes the factors of a blend
 * (unet/plan/blend.h) from tensors; peft.c reads scales from a file's header or from PEFT's config; describe.c writes
 * text for people.
 *
 * Ownership: an adapter owns its factors and borrows the checkpoint. The factors must outlive the tensors (struct
 * resources) made of them. Threads: an open adapter is never changed, so that any thread may read it. */
#ifndef UNET_ADAPTER_ADAPTER_H
#define UNET_ADAPTER_ADAPTER_H

#include "unet/adapter/tensor_names.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/plan/blend.h"

/* A change that an adapter makes to the model's weights: `term` is added to one tensor of the checkpoint. */
struct adapter_place {
  const struct safetensor *tensor;
  /* The change: factors whose product is added to the tensor. term.weight is 1. The caller of adapter_open sets
   * term.store, the index of the resource (a vector on the device) that has the factors. */
  struct blend_term term;
};

/* The families of models for which adapter files are made. Families from BASE_OTHER on have no U-Net, or one that is
 * not supported. If a file shows signs of several families from BASE_OTHER on, the first one in this order counts. */
enum adapter_base {
  BASE_UNKNOWN,
  BASE_SD, /* SD 1 or SD 2 */
  BASE_SD1,
  BASE_SD2,
  BASE_SDXL,
  BASE_OTHER,
  BASE_MOTION = BASE_OTHER,
  BASE_SVD,
  BASE_CHROMA,
  BASE_QWEN,
  BASE_HUNYUAN,
  BASE_AURAFLOW,
  BASE_FLUX,
  BASE_WAN,
  BASE_HIDREAM,
  BASE_CASCADE,
  BASE_LUMINA,
  BASE_MOCHI,
  BASE_SD3,
  BASE_LTX,
  BASE_TRANSFORMER,
  BASE_T5,
  BASE_LANGUAGE,
  BASES
};

/* What an adapter's file tells by itself, without the model to which it is applied. */
struct adapter_summary {
  /* for each part of a model (U-Net, text encoders): number of its modules (layers) that the file changes */
  int modules[PARTS];
  /* for each kind of factors (enum family: LoRA, LoHa, ...): number of modules that are changed by such factors */
  int kinds[FAMILY_ANY];
  int middle, magnitude; /* numbers of modules with a middle factor, and of modules with a magnitude (DoRA) */
  /* smallest and largest rank of the modules that the file changes; 0: none of them has a rank */
  int rank_min, rank_max;
  int scaleless; /* number of modules with factors but without an alpha; their rank is taken as alpha */
  enum adapter_base base;
  size_t bytes;
};

struct adapter {
  char *path;
  struct adapter_summary summary;
  struct adapter_place *places;
  int place_count;
  float *factors;
  size_t factor_count;
};

struct adapter_options {
  /* true: tensors that fit no module of the model are left out with a log line; false: the file is refused */
  bool lenient;
  const struct log *log;
};

/* Opens a file, or the file that PEFT or diffusers saved in a folder, and reads all of it. The caller closes *adapter,
 * which is NULL after a failure. Returns 0, or -1 with err of STATUS_MODEL, or of STATUS_FAILED if memory is short. */
int adapter_open(struct adapter **adapter, const char *path, const struct checkpoint *checkpoint,
                 const struct adapter_options *options, struct error *err);
/* Frees the adapter. *adapter becomes NULL; does nothing if it is NULL. */
void adapter_close(struct adapter **adapter);

/* Returns true if the file is an adapter of any kind, even one that is not supported. */
bool adapter_recognise(const struct safetensors *files);
/* Prints a description of an adapter's file for people. Returns 0, or -1 with err of STATUS_MODEL if the file is not an
 * adapter that is supported. */
int adapter_print(const struct safetensors *files, FILE *out, struct error *err);
/* Writes a summary of the file in a few words to `text`: "LoRA of rank 16, 128 layers of the U-Net". */
void adapter_describe(const struct adapter_summary *summary, char *text, size_t size);

#endif
