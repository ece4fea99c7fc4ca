#include "cuda/steps.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda/libraries/libraries.h"

/* --- lists --- */

int steps_append(struct steps *steps, const struct step *step, struct error *err) {
  if (steps->count == steps->capacity) {
    int capacity = steps->capacity ? 2 * steps->capacity : 64;
    struct step *list = realloc(steps->list, (size_t)capacity * sizeof *list);
    if (!list)
      return error_set(err, STATUS_FAILED, "out of memory");
    steps->list = list;
    steps->capacity = capacity;
  }
  steps->list[steps->count++] = *step;
  return 0;
}

void steps_truncate(struct steps *steps, int count) {
  while (steps->count > count) {
    struct step *step = &steps->list[--steps->count];
    if (step->kind == STEP_BLAS)
      blas_product_destroy(step->blas);
    if (step->kind == STEP_DNN)
      dnn_conv_destroy(step->dnn);
  }
}

void steps_finish(struct steps *steps) {
  steps_truncate(steps, 0);
  free(steps->list);
  *steps = (struct steps){0};
}

/* --- launching --- */

cudaError_t step_launch(struct cuda_device *device, const struct step *step) {
  const struct launch_queue *queue = &device->queue;
  switch (step->kind) {
  case STEP_GEMM:
    return launch_gemm(queue, &step->gemm);
  case STEP_NARROW:
    return launch_narrow(queue, &step->gemm);
  case STEP_BLAS:
    return blas_product_launch(step->blas, queue->stream);
  case STEP_DNN:
    return dnn_conv_launch(step->dnn, queue->stream);
  case STEP_PRODUCT:
    return launch_product(&device->product, queue, &step->product);
  case STEP_HALO:
    return launch_halo(&device->product, queue, &step->halo);
  case STEP_NORM:
    return launch_norm(queue, &step->norm);
  case STEP_GATHER:
    return launch_gather(queue, &step->gather);
  case STEP_EPILOGUE:
    return launch_epilogue(queue, &step->epilogue);
  case STEP_ATTENTION:
    return attention_launch(&device->attention, &step->attention.args, ATTN_AUTO, step->attention.workspace,
                            queue->stream);
  case STEP_PLAIN_ATTENTION:
    return launch_plain_attention(queue, &step->plain_attention);
  case STEP_SAMPLE:
    return step->sample.launch(queue, &step->sample.args);
  case STEP_PIXELS_IN:
    return launch_pixels_in(queue, &step->pixels);
  case STEP_PIXELS_OUT:
    return launch_pixels_out(queue, &step->pixels);
  }
  return cudaErrorInvalidValue;
}

cudaError_t steps_launch(struct cuda_device *device, const struct steps *steps, int first, int end) {
  cudaError_t status = cudaSuccess;
  for (int i = first; status == cudaSuccess && i < end; i++)
    status = step_launch(device, &steps->list[i]);
  return status;
}

/* --- names --- */

const char *step_kind_name(enum step_kind kind) {
  static const char *const names[] = {
      [STEP_GEMM] = "gemm",         [STEP_NARROW] = "narrow",       [STEP_BLAS] = "cublaslt",
      [STEP_DNN] = "cudnn",         [STEP_NORM] = "norm",           [STEP_GATHER] = "gather",
      [STEP_EPILOGUE] = "epilogue", [STEP_ATTENTION] = "attention", [STEP_PLAIN_ATTENTION] = "plain attention",
      [STEP_SAMPLE] = "sample",     [STEP_PIXELS_IN] = "pixels in", [STEP_PIXELS_OUT] = "pixels out",
      [STEP_PRODUCT] = "sm90",      [STEP_HALO] = "halo",
  };
  bool named = (size_t)kind < sizeof names / sizeof names[0] && names[kind];
  return named ? names[kind] : "other";
}

void step_describe(const struct step *step, char *out, size_t size) {
  static const char *const pairs[PRODUCT_PAIRS] = {
      [PAIR_NONE] = "", [PAIR_WEIGHTS] = " weights", [PAIR_INPUT] = " input", [PAIR_SUM] = " sum"};
  const char *kind = step_kind_name(step->kind);
  if (step->kind == STEP_GEMM)
    snprintf(out, size, "%s %dx%d/%d", kind, gemm_tile_sizes[step->gemm.tile].m, gemm_tile_sizes[step->gemm.tile].n,
             step->gemm.splits);
  else if (step->kind == STEP_PRODUCT)
    snprintf(out, size, "%s %dx%d/%d%s", kind, product_tile_sizes[step->product.tile].m,
             product_tile_sizes[step->product.tile].n, step->product.gemm.splits, pairs[step->product.pair]);
  else if (step->kind == STEP_HALO)
    snprintf(out, size, "%s %d", kind, halo_tile_pixels[step->halo.tile]);
  else if (step->kind == STEP_BLAS || step->kind == STEP_DNN)
    snprintf(out, size, "%s %d", kind, step->algorithm);
  else
    snprintf(out, size, "%s", kind);
}
