/* Adapters: small files that change a model's weights, in proportion to the weight that is given to each. The kinds are
 * LoRA, LoCon (a LoRA of convolutions, which may have a middle factor), LoHa, LoKr, DoRA and plain differences. Tensors
 * may be named as by kohya, LyCORIS, diffusers or PEFT.
 *
 * adapter.c       opens an adapter: which tensors of the model it changes, and by what
 * groups.c        groups a file's tensors by module
 * tensor_names.c  reads the names of tensors
 * base.c          finds out for which family of models a file is
 * modules.c       the model's modules, under every name that a file may use
 * factors.c       makes the factors of a blend (unet/plan/blend.h) from tensors
 * peft.c          reads scales from a file's header or from PEFT's config
 * describe.c      text for people
 *
 * Ownership: an adapter owns its factors and borrows the checkpoint. The factors must outlive the resources made of
 * them. Threads: an open adapter is never changed, so that any thread may read it. */
#ifndef UNET_ADAPTER_ADAPTER_H
#define UNET_ADAPTER_ADAPTER_H

#include "unet/adapter/tensor_names.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/plan/blend.h"

/* A change of one tensor of the checkpoint: `term` says what is added to it. */
struct adapter_place {
  const struct safetensor *tensor;
  /* The change itself. Its weight is 1; the caller of adapter_open sets its store, the index of the factors'
   * resource. */
  struct blend_term term;
};

/* The families of models for which files are made. Those from BASE_OTHER on have no U-Net, or one that is not
 * supported. If a file shows signs of several of these, the first one in this order counts. */
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

/* A summary of a file, which does not depend on the model. */
struct adapter_summary {
  int modules[PARTS];     /* number of modules in each part of the model */
  int kinds[FAMILY_ANY];  /* number of modules of each family */
  int middle, magnitude;  /* numbers of modules that have a middle factor, and that have a magnitude (DoRA) */
  int rank_min, rank_max; /* 0: no module has a rank */
  int scaleless;          /* number of modules that have factors but no alpha, so that their rank is taken as alpha */
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
  bool lenient; /* tensors that fit no module of the model are left out with a log line instead of refused */
  const struct log *log;
};

/* Opens a file, or the file that PEFT or diffusers saved in a folder, and reads all of it. Errors are STATUS_MODEL. The
 * caller closes *adapter, which is NULL after a failure. */
int adapter_open(struct adapter **adapter, const char *path, const struct checkpoint *checkpoint,
                 const struct adapter_options *options, struct error *err);
void adapter_close(struct adapter **adapter); /* Frees the adapter. Stores NULL; takes NULL. */

/* Returns true if the file is an adapter of any kind, even one that is not supported. */
bool adapter_recognise(const struct safetensors *files);
/* Prints a description of an adapter's file. Fails with STATUS_MODEL if the file is refused. */
int adapter_print(const struct safetensors *files, FILE *out, struct error *err);
/* Writes a summary in a few words: "LoRA of rank 16, 128 layers of the U-Net". */
void adapter_describe(const struct adapter_summary *summary, char *text, size_t size);

#endif
