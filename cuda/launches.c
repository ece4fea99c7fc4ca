#include "cuda/launches.h"

#include <stdio.h>
#include <stdlib.h>

#include "cuda/kernels/eight.h"
#include "cuda/kernels/few.h"
#include "cuda/libraries/libraries.h"

/* --- lists of launches --- */

int launches_append(struct launches *launches, const struct launch *launch, struct error *err) {
  if (launches->count == launches->capacity) {
    int capacity = launches->capacity ? 2 * launches->capacity : 64;
    struct launch *list = realloc(launches->list, (size_t)capacity * sizeof *list);
    if (!list)
      return error_set(err, STATUS_FAILED, "out of memory");
    launches->list = list;
    launches->capacity = capacity;
  }
  launches->list[launches->count++] = *launch;
  return 0;
}

void launches_truncate(struct launches *launches, int count) {
  while (launches->count > count) {
    struct launch *launch = &launches->list[--launches->count];
    if (launch->kind == LAUNCH_BLAS)
      blas_product_destroy(launch->blas);
    if (launch->kind == LAUNCH_DNN)
      dnn_conv_destroy(launch->dnn);
  }
}

void launches_free(struct launches *launches) {
  launches_truncate(launches, 0);
  free(launches->list);
  *launches = (struct launches){0};
}

void launches_fetch_ahead(struct launches *launches, const struct launch_queue *queue) {
  for (int i = 0; i < launches->count; i++) {
    struct launch *launch = &launches->list[i];
    if (launch->kind != LAUNCH_NORM || !norm_has_beside(queue, &launch->norm))
      continue;
    int found = 0;
    for (int j = i + 1; j < launches->count && found < NORMS_AHEAD; j++) {
      const struct norm_args *norm = &launches->list[j].norm;
      if (launches->list[j].kind != LAUNCH_NORM)
        continue;
      launch->beside.ahead[found].gamma = norm->gamma;
      launch->beside.ahead[found].beta = norm->beta;
      launch->beside.ahead[found++].channels = norm->c + norm->c2;
      if (norm->groups)
        break;
    }
  }
}

/* --- enqueueing launches on a stream --- */

cudaError_t launch_enqueue(const struct cuda_device *device, const struct launch_queue *queue,
                           const struct launch *launch) {
  switch (launch->kind) {
  case LAUNCH_GEMM:
    return launch_gemm(queue, &launch->gemm);
  case LAUNCH_NARROW:
    return launch_narrow(queue, &launch->gemm);
  case LAUNCH_FEW:
    return launch_few(queue, &launch->gemm);
  case LAUNCH_EIGHT:
    return launch_eight(queue, &launch->gemm);
  case LAUNCH_BLAS:
    return blas_product_launch(launch->blas, queue->stream);
  case LAUNCH_DNN:
    return dnn_conv_launch(launch->dnn, queue->stream);
  case LAUNCH_PRODUCT:
    return launch_product(&device->product, queue, &launch->product);
  case LAUNCH_HALO:
    return launch_halo(&device->product, queue, &launch->halo);
  case LAUNCH_NORM:
    return launch_norm_beside(queue, &launch->norm, &launch->beside);
  case LAUNCH_GATHER:
    return launch_gather(queue, &launch->gather);
  case LAUNCH_EPILOGUE:
    return launch->epilogue.act == ACT_GEGLU ? launch_gates(queue, &launch->epilogue, &launch->joined)
                                             : launch_epilogue(queue, &launch->epilogue);
  case LAUNCH_BLOCK:
    return launch_block(&device->product, queue, &launch->block);
  case LAUNCH_COMPOSED:
    return launch_composed(queue, &launch->composed);
  case LAUNCH_NORM_CONV:
    return launch_norm_conv(queue, &launch->norm_conv);
  case LAUNCH_ROW_ENTER:
    return launch_row_enter(queue, &launch->row_enter);
  case LAUNCH_ROW_ATTEND:
    return launch_row_attend(queue, &launch->row_attend);
  case LAUNCH_ROW_LEAVE:
    return launch_row_leave(queue, &launch->row_leave);
  case LAUNCH_ROW_PAIR:
    return launch_row_pair(&device->product, queue, &launch->row_pair);
  case LAUNCH_ATTENTION:
    return attention_launch(&device->attention, &launch->attention.args, ATTN_AUTO, launch->attention.workspace,
                            queue->stream);
  case LAUNCH_PLAIN_ATTENTION:
    return launch_plain_attention(queue, &launch->attention.args);
  case LAUNCH_STYLE:
    return launch_style(queue, &launch->style);
  case LAUNCH_RECALL:
    return launch_recall(queue, &launch->recall);
  case LAUNCH_REMEMBER:
    return launch_remember(queue, &launch->remember);
  case LAUNCH_JOIN:
    return launch_join(queue, &launch->join);
  case LAUNCH_SAMPLE:
    return launch->sample.enqueue(queue, &launch->sample.args);
  case LAUNCH_MAP:
    return launch_map(queue, &launch->map);
  case LAUNCH_DEPTH:
    return launch->depth.enqueue(queue, &launch->depth.args);
  case LAUNCH_CANVAS:
    return launch->canvas.enqueue(queue, &launch->canvas.args);
  case LAUNCH_ADVECT:
    return launch->advect.enqueue(queue, &launch->advect.args);
  case LAUNCH_MOTION:
    return launch->motion.enqueue(queue, &launch->motion.args);
  case LAUNCH_PIXELS_IN:
    return launch_pixels_in(queue, &launch->pixels);
  case LAUNCH_DETAIL:
    return launch_detail(queue, &launch->detail);
  case LAUNCH_PIXELS_OUT:
    return launch_pixels_out(queue, &launch->pixels);
  }
  return cudaErrorInvalidValue;
}

cudaError_t launches_enqueue(const struct cuda_device *device, const struct launch_queue *queue,
                             const struct launches *launches, int first, int end) {
  cudaError_t status = cudaSuccess;
  for (int i = first; status == cudaSuccess && i < end; i++)
    status = launch_enqueue(device, queue, &launches->list[i]);
  return status;
}

/* --- names of launches for people --- */

const char *launch_kind_name(enum launch_kind kind) {
  static const char *const names[] = {
      [LAUNCH_GEMM] = "gemm",
      [LAUNCH_NARROW] = "narrow",
      [LAUNCH_BLAS] = "cublaslt",
      [LAUNCH_DNN] = "cudnn",
      [LAUNCH_NORM] = "norm",
      [LAUNCH_GATHER] = "gather",
      [LAUNCH_EPILOGUE] = "epilogue",
      [LAUNCH_ATTENTION] = "attention",
      [LAUNCH_PLAIN_ATTENTION] = "plain attention",
      [LAUNCH_SAMPLE] = "sample",
      [LAUNCH_PIXELS_IN] = "pixels in",
      [LAUNCH_PIXELS_OUT] = "pixels out",
      [LAUNCH_PRODUCT] = "sm90",
      [LAUNCH_HALO] = "halo",
      [LAUNCH_NORM_CONV] = "norm conv",
      [LAUNCH_BLOCK] = "block",
      [LAUNCH_COMPOSED] = "composed",
      [LAUNCH_ROW_ENTER] = "row enter",
      [LAUNCH_ROW_ATTEND] = "row attend",
      [LAUNCH_ROW_LEAVE] = "row leave",
      [LAUNCH_STYLE] = "style",
      [LAUNCH_RECALL] = "recall",
      [LAUNCH_REMEMBER] = "remember",
      [LAUNCH_JOIN] = "join",
      [LAUNCH_MAP] = "map",
      [LAUNCH_DEPTH] = "depth",
      [LAUNCH_CANVAS] = "canvas",
      [LAUNCH_ADVECT] = "advect",
      [LAUNCH_MOTION] = "motion",
      [LAUNCH_DETAIL] = "detail",
      [LAUNCH_ROW_PAIR] = "pair",
      [LAUNCH_FEW] = "few",
      [LAUNCH_EIGHT] = "eight",
  };
  bool named = (size_t)kind < sizeof names / sizeof names[0] && names[kind];
  return named ? names[kind] : "other";
}

void launch_describe(const struct launch *launch, char *out, size_t size) {
  static const char *const pairs[PRODUCT_PAIRS] = {
      [PAIR_NONE] = "", [PAIR_WEIGHTS] = " weights", [PAIR_INPUT] = " input", [PAIR_SUM] = " sum"};
  static const char *const shapes[NARROW_SHAPES] = {[NARROW_PAIR] = "", [NARROW_FOUR] = " four", [NARROW_LOW] = " low"};
  const char *kind = launch_kind_name(launch->kind);
  if (launch->kind == LAUNCH_GEMM)
    snprintf(out, size, "%s%s %dx%d/%d%s", kind, is_window(launch->gemm.tile) ? " window" : "",
             gemm_tile_sizes[launch->gemm.tile].m, gemm_tile_sizes[launch->gemm.tile].n, launch->gemm.splits,
             gemm_tile_sizes[launch->gemm.tile].span ? " FP16 sums" : "");
  else if (launch->kind == LAUNCH_PRODUCT)
    snprintf(out, size, "%s %dx%d/%d%s%s%s", kind, product_tile_sizes[launch->product.tile].m,
             product_tile_sizes[launch->product.tile].n, launch->product.gemm.splits, pairs[launch->product.pair],
             launch->product.tile == PRODUCT_128x160_TURNS ? " turns" : "",
             product_attends(launch->product.tile) ? " attends" : "");
  else if (launch->kind == LAUNCH_NARROW)
    snprintf(out, size, "%s%s", kind, shapes[launch->gemm.shape]);
  else if (launch->kind == LAUNCH_HALO)
    snprintf(out, size, "%s %d", kind, halo_tile_pixels[launch->halo.tile]);
  else if (launch->kind == LAUNCH_BLAS || launch->kind == LAUNCH_DNN)
    snprintf(out, size, "%s %d", kind, launch->algorithm);
  else
    snprintf(out, size, "%s", kind);
}
