/* What a program is made of: launches of kernels and libraries, each with all that it needs. */
#ifndef CUDA_STEPS_H
#define CUDA_STEPS_H

#include "cuda/cuda_device.h"

struct blas_product;
struct dnn_conv;

enum step_kind {
  STEP_GEMM,
  STEP_NARROW,
  STEP_BLAS,
  STEP_DNN,
  STEP_PRODUCT,
  STEP_HALO,
  STEP_NORM,
  STEP_GATHER,
  STEP_EPILOGUE,
  STEP_ATTENTION,
  STEP_PLAIN_ATTENTION,
  STEP_SAMPLE,
  STEP_PIXELS_IN,
  STEP_PIXELS_OUT,
};

/* One launch. */
struct step {
  enum step_kind kind;
  int op;        /* index in the plan */
  int algorithm; /* of a library: its number among what it offers */
  union {
    struct gemm_args gemm;
    struct product_args product;
    struct halo_args halo;
    struct blas_product *blas; /* owned */
    struct dnn_conv *dnn;      /* owned */
    struct norm_args norm;
    struct gather_args gather;
    struct epilogue_args epilogue;
    struct {
      struct attn_args args;
      void *workspace;
    } attention;
    struct plain_attention_args plain_attention;
    struct {
      cudaError_t (*launch)(const struct launch_queue *queue, const struct sample_args *args);
      struct sample_args args;
    } sample;
    struct pixels_args pixels;
  };
};

struct steps {
  struct step *list;
  int count, capacity;
};

int steps_append(struct steps *steps, const struct step *step, struct error *err);
void steps_truncate(struct steps *steps, int count); /* drops all behind the first count */
void steps_finish(struct steps *steps);              /* also of a zeroed one */
cudaError_t step_launch(struct cuda_device *device, const struct step *step);
/* Those from first on, before end. */
cudaError_t steps_launch(struct cuda_device *device, const struct steps *steps, int first, int end);
const char *step_kind_name(enum step_kind kind);
/* The kind's name with tile, splits or algorithm: "gemm 64x64/2". */
void step_describe(const struct step *step, char *out, size_t size);

#endif
