/* Adapters: small files that change a model's weights, each by so much as its weight says. LoRA and LoCon (with a
 * middle factor, too), LoHa, LoKr, DoRA and whole differences, under the names that kohya, LyCORIS, diffusers and PEFT
 * give their tensors.
 *
 * adapter.c       opening: the file, its tensors by module, what they add to which tensor of the model
 * groups.c        a file's tensors by module
 * tensor_names.c  what a tensor's name says
 * base.c          which family of models a file is for
 * modules.c       the model's modules by every name they may have
 * factors.c       tensors to the factors of a blend (unet/plan/blend.h)
 * peft.c          scales that are in a header or a config
 * describe.c      lines for people
 *
 * Ownership: an adapter owns its factors, which must outlive the resources made of them, and borrows the checkpoint.
 * Threads: read-only once open. */
#ifndef UNET_ADAPTER_ADAPTER_H
#define UNET_ADAPTER_ADAPTER_H

#include "unet/adapter/tensor_names.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/plan/blend.h"

/* What an adapter adds to one tensor of the checkpoint. */
struct adapter_place {
  const struct safetensor *tensor;
  struct blend_term term; /* its weight is 1, its store is the caller's to set */
};

/* The families of models that files are for. Those from BASE_OTHER on have no U-Net, or one that is not supported;
 * where a file shows signs of several of them, the first one counts. */
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

/* What a file has, whatever model it is for. */
struct adapter_summary {
  int modules[PARTS];     /* of each part */
  int kinds[FAMILY_ANY];  /* modules of each family */
  int middle, magnitude;  /* modules with a middle factor; with a magnitude (DoRA) */
  int rank_min, rank_max; /* 0: there is none */
  int scaleless;          /* modules with factors and without an alpha, which then is their rank */
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
  bool lenient; /* tensors of modules that the model does not have are left out with one line, else refused */
  const struct log *log;
};

/* Opens a file, or a folder with one as PEFT and diffusers save it, and reads all of it. Errors are STATUS_MODEL. */
int adapter_open(struct adapter **adapter, const char *path, const struct checkpoint *checkpoint,
                 const struct adapter_options *options, struct error *err);
void adapter_close(struct adapter **adapter); /* stores NULL; takes NULL */

/* Whether a file is an adapter of any kind, also one that is refused. */
bool adapter_recognise(const struct safetensors *files);
/* Lines for people about a file that is one. STATUS_MODEL where it is refused. */
int adapter_print(const struct safetensors *files, FILE *out, struct error *err);
/* In a few words: "LoRA of rank 16, 128 modules of the U-Net". */
void adapter_describe(const struct adapter_summary *summary, char *text, size_t size);

#endif
