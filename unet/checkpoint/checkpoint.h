/* A diffusers folder: its config files as typed structs, its weight files open, its tokenizer. A field of a config that
 * the network here does not have is refused by name and value, never ignored.
 *
 * Ownership: struct checkpoint owns everything it points to. Resources made from it (checkpoint_matrix and the like)
 * refer to its files: keep it open until the device has loaded them.
 * Threads: read-only once open, but for the tokenizer (one thread at a time). */
#ifndef UNET_CHECKPOINT_CHECKPOINT_H
#define UNET_CHECKPOINT_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "unet/base/controls.h"
#include "unet/base/error.h"
#include "unet/base/log.h"
#include "unet/plan/op.h"
#include "unet/plan/resources.h"
#include "unet/checkpoint/parts.h"
#include "unet/checkpoint/sources.h"
#include "unet/sample/sampler.h"
#include "unet/text/styles.h"

enum { TEXT_ENCODERS_MAX = 2, PREDICTORS_MAX = 2 };

/* The folder as lists. Each predictor reads the texts of all text encoders. */
struct checkpoint {
  char *name;            /* of the folder or file, for people */
  struct single *single; /* the one file that it was opened from; NULL: a folder */
  bool zero_negative;    /* the empty negative prompt is zeros, not its encoding: force_zeros_for_empty_prompt */
  bool image_condition;  /* the predictors' input is [latent | picture latent]: InstructPix2Pix, mini */
  float image_scale;     /* that picture latent is this times the autoencoder's own */
  int noisiest;          /* the timestep that strength 1 begins at; 0: the last of training */
  bool one_timestep;     /* the predictor was trained at the noisiest alone: SDXS */
  bool inpainting;       /* it is [latent | mask | latent of what the mask leaves of the picture] */
  struct text_encoder text_encoders[TEXT_ENCODERS_MAX];
  struct predictor predictors[PREDICTORS_MAX];
  int text_encoder_count, predictor_count;
  struct autoencoder autoencoder;
  struct scheduler_config scheduler;
  struct error scheduler_refusal; /* why its file is not followed, where scheduler.lacks says so */
  struct styles *styles;          /* NULL: the folder has no styles.json */
};

/* The networks are checked against each other (channels, text width, vocabulary). Errors are STATUS_MODEL. */
int checkpoint_open(struct checkpoint **checkpoint, const struct checkpoint_sources *sources, const struct log *log,
                    struct error *err);
void checkpoint_close(struct checkpoint **checkpoint); /* stores NULL; takes NULL */

/* Part number index of all lists: predictors, autoencoder, text encoders. NULL behind the last. */
const struct component *checkpoint_component(const struct checkpoint *checkpoint, int index);
/* What describes a part, for messages: its config.json, or the file of its weights. */
const char *component_origin(const struct component *component);
/* Bytes of the weights on disk. */
size_t checkpoint_bytes(const struct checkpoint *checkpoint);
/* Elements of the weights on disk. */
size_t checkpoint_parameters(const struct checkpoint *checkpoint);
/* "SD 1", for people. */
const char *checkpoint_family(const struct checkpoint *checkpoint);
/* Lines for people: family, classes, sizes, parameters, element types, bytes; with tensors, also each tensor. */
void checkpoint_print(const struct checkpoint *checkpoint, bool tensors, FILE *out);
/* The same of a file that is no model. */
void weights_print(const struct safetensors *files, bool tensors, FILE *out);

/* Weights as resources. name is the key without the component's prefix ("conv_in.weight"); the resource is called
 * "unet/conv_in.weight". A missing tensor or another shape is an error that names file, key and both shapes; the
 * returned space is then TENSOR_NONE. */
/* Whether there is such a tensor. */
bool checkpoint_has(const struct component *from, const char *name);
/* A tensor, or its first rows. */
struct stack_part {
  const char *name;
  int rows;
  int of;       /* rows that the file's tensor has; 0: no more */
  int exponent; /* values are the file's times 2 to this power */
};
/* [rows][in][kernel][kernel] on disk, [rows, kernel, kernel, in] as resource. */
struct tensor checkpoint_conv(const struct component *from, struct resources *to, const struct stack_part *part, int in,
                              int kernel, struct error *err);
/* [rows][columns], or a 1x1 convolution's [rows][columns][1][1]. */
struct tensor checkpoint_matrix(const struct component *from, struct resources *to, const char *name, int rows,
                                int columns, struct error *err);
struct tensor checkpoint_vector(const struct component *from, struct resources *to, const char *name, int length,
                                struct error *err);
/* All values of a tensor as FP32, in the file's order: for weights that are made from several. out holds them all,
 * which the caller knows to be there (checkpoint_check). */
int checkpoint_values(const struct component *from, const char *name, int rank, const int64_t *shape, float *out,
                      struct error *err);
/* Whether a tensor is there with this shape: else an error as above. */
int checkpoint_check(const struct component *from, const char *name, int rank, const int64_t *shape, struct error *err);
/* Several matrices stacked by rows, or with columns 0 vectors end to end, as one resource called name: fused
 * projections, all time projections of a U-Net. */
struct tensor checkpoint_stack(const struct component *from, struct resources *to, const char *name,
                               const struct stack_part *parts, int part_count, int columns, struct error *err);

#endif
