/* A model: its config files as typed structs, its open weight files, and its tokenizers. It comes from a diffusers
 * folder or from a single file. Config fields that this program does not support are never ignored: they are refused,
 * with name and value.
 *
 * Ownership: struct checkpoint owns everything it points to. Resources made from it (checkpoint_matrix and others)
 * refer to its files, so it must stay open until the device has loaded them. Threads: an open checkpoint is never
 * changed, so any thread may read it; but only one thread at a time uses a tokenizer. */
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

/* An open model: its parts (networks and tokenizers), and what its files say about it. Each predictor (U-Net) reads the
 * texts of all text encoders. */
struct checkpoint {
  char *name;            /* name of the folder or file, for people */
  struct single *single; /* the model's file, if the model is one file; NULL: the model is a folder */
  bool zero_negative;    /* true: an empty negative prompt is encoded as zeros (force_zeros_for_empty_prompt) */
  /* true: the U-Net reads [latent | latent of the input picture], as with InstructPix2Pix and mini */
  bool image_condition;
  /* factor by which the autoencoder's output for the input picture is multiplied before the U-Net reads it */
  float image_scale;
  /* the timestep from which sampling starts at strength 1; 0: the last timestep of the training schedule */
  int noisiest;
  bool one_timestep; /* true: the U-Net was trained at the noisiest timestep only (SDXS) */
  bool inpainting;   /* true: the U-Net reads [latent | mask | latent of the picture with the masked region removed] */
  struct text_encoder text_encoders[TEXT_ENCODERS_MAX];
  struct predictor predictors[PREDICTORS_MAX];
  int text_encoder_count, predictor_count;
  struct autoencoder autoencoder;
  struct scheduler_config scheduler;
  /* error message about the first feature of the scheduler's file that is not supported; set if scheduler.lacks is not
   * 0 */
  struct error scheduler_refusal;
  /* the styles on which the model was trained, from styles.json; NULL: the model has no such file */
  struct styles *styles;
};

/* Opens a model, and checks that its networks fit each other (channels, text width, vocabulary). The caller closes
 * *checkpoint. Returns 0, or -1 with err of STATUS_MODEL, or of STATUS_FAILED if memory is short. */
int checkpoint_open(struct checkpoint **checkpoint, const struct checkpoint_sources *sources, const struct log *log,
                    struct error *err);
/* Closes all files. *checkpoint becomes NULL; does nothing if it is NULL. */
void checkpoint_close(struct checkpoint **checkpoint);

/* Returns part number `index` of the model, counted from 0 in the order: U-Nets, autoencoder, text encoders. NULL after
 * the last one. */
const struct component *checkpoint_component(const struct checkpoint *checkpoint, int index);
/* Returns the file that describes a part, for messages: its config.json, or the file of its weights. */
const char *component_origin(const struct component *component);
/* Returns how many bytes all weights take in the files. */
size_t checkpoint_bytes(const struct checkpoint *checkpoint);
/* Returns the number of values of all weights in the files, without those of an element type that is not supported. */
size_t checkpoint_parameters(const struct checkpoint *checkpoint);
/* Returns the family's name for people: "SD 1". */
const char *checkpoint_family(const struct checkpoint *checkpoint);
/* Prints a description: family, classes, sizes, parameters, element types and bytes. tensors: prints each tensor as
 * well. */
void checkpoint_print(const struct checkpoint *checkpoint, bool tensors, FILE *out);
/* Prints a description of a file of weights that is not a model. tensors: prints each tensor as well. */
void weights_print(const struct safetensors *files, bool tensors, FILE *out);

/* The following functions make resources (constant tensors of a network, unet/plan/resources.h) from the weights of a
 * part. `name` is the key without the part's prefix ("conv_in.weight"); the resource is called "unet/conv_in.weight".
 * They fail if the tensor is missing or has another shape: the message names file, key and both shapes, and the space
 * of the returned tensor is TENSOR_NONE. */
/* Returns true if the component has a tensor of this name. */
bool checkpoint_has(const struct component *from, const char *name);
/* The first `rows` rows of the tensor `name` of the file. One or several such parts, stacked, make up a resource (a
 * constant tensor of a network). */
struct stack_part {
  const char *name;
  int rows;
  int of;       /* number of rows that the tensor must have in the file; 0: as many as `rows` */
  int exponent; /* exponent of a power of two: the values read from the file are multiplied by 2^exponent */
};
/* Makes a convolution's weight: the file has [rows][in][kernel][kernel], the result is [rows, kernel, kernel, in]. */
struct tensor checkpoint_conv(const struct component *from, struct resources *to, const struct stack_part *part, int in,
                              int kernel, struct error *err);
/* Makes a matrix from a tensor [rows][columns], or from a 1x1 convolution [rows][columns][1][1]. */
struct tensor checkpoint_matrix(const struct component *from, struct resources *to, const char *name, int rows,
                                int columns, struct error *err);
/* Makes a vector from a tensor with one dimension. */
struct tensor checkpoint_vector(const struct component *from, struct resources *to, const char *name, int length,
                                struct error *err);
/* Reads all values of a tensor as FP32, in row-major order of `shape`, for weights that are computed from several
 * tensors. `out` has room for all values. Returns 0, or -1 with err, also if the tensor has another shape. */
int checkpoint_values(const struct component *from, const char *name, int rank, const int64_t *shape, float *out,
                      struct error *err);
/* Fails unless the component has a tensor of this name and shape. */
int checkpoint_check(const struct component *from, const char *name, int rank, const int64_t *shape, struct error *err);
/* Makes one tensor from several matrices of `columns` columns, stacked by rows; columns 0: from several vectors. Used
 * to join the weights of layers that read the same input, and those of all time projections of a U-Net. */
struct tensor checkpoint_stack(const struct component *from, struct resources *to, const char *name,
                               const struct stack_part *parts, int part_count, int columns, struct error *err);

#endif
