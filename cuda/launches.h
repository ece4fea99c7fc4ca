/* The launches that a program consists of. Each is a kernel or a library's function with all its arguments, and is
 * enqueued anew for every run. */
#ifndef CUDA_LAUNCHES_H
#define CUDA_LAUNCHES_H

#include "cuda/cuda_device.h"
#include "cuda/kernels/advect.h"
#include "cuda/kernels/bank.h"
#include "cuda/kernels/canvas.h"
#include "cuda/kernels/composed_conv.h"
#include "cuda/kernels/depth.h"
#include "cuda/kernels/gates.h"
#include "cuda/kernels/motion.h"
#include "cuda/kernels/norm_beside.h"
#include "cuda/kernels/row_pair.h"

struct blas_product;
struct dnn_conv;

enum launch_kind {
  LAUNCH_GEMM,
  LAUNCH_NARROW,
  LAUNCH_FEW,
  LAUNCH_EIGHT,
  LAUNCH_BLAS,
  LAUNCH_DNN,
  LAUNCH_PRODUCT,
  LAUNCH_HALO,
  LAUNCH_NORM,
  LAUNCH_GATHER,
  LAUNCH_EPILOGUE,
  LAUNCH_BLOCK,
  LAUNCH_COMPOSED,
  LAUNCH_NORM_CONV,
  LAUNCH_ROW_ENTER,
  LAUNCH_ROW_ATTEND,
  LAUNCH_ROW_LEAVE,
  LAUNCH_ROW_PAIR,
  LAUNCH_ATTENTION,
  LAUNCH_PLAIN_ATTENTION,
  LAUNCH_STYLE,
  LAUNCH_RECALL,
  LAUNCH_REMEMBER,
  LAUNCH_JOIN,
  LAUNCH_SAMPLE,
  LAUNCH_MAP,
  LAUNCH_DEPTH,
  LAUNCH_CANVAS,
  LAUNCH_ADVECT,
  LAUNCH_MOTION,
  LAUNCH_PIXELS_IN,
  LAUNCH_DETAIL,
  LAUNCH_PIXELS_OUT,
};
enum { LAUNCH_KINDS = LAUNCH_PIXELS_OUT + 1 };

/* A kernel, or a function of a library, with all arguments of one call. */
struct launch {
  enum launch_kind kind;
  int op; /* index, in the plan, of the op that this launch computes; of the first one if it computes several */
  /* for launches of libraries: which of the library's algorithms is used; it is the field `index` of struct choice
   * (ways/way.h) */
  int algorithm;
  union {
    struct gemm_args gemm;
    struct product_args product;
    struct halo_args halo;
    struct blas_product *blas; /* owned */
    struct dnn_conv *dnn;      /* owned */
    struct {
      struct norm_args norm;
      struct norm_beside beside; /* what the norm's launches also make for launches behind them */
    };
    struct gather_args gather;
    struct {
      struct epilogue_args epilogue;
      struct gates_beside joined; /* with ACT_GEGLU: what it also makes for the product behind it */
    };
    struct block_args block;
    struct composed_args composed;
    struct norm_conv_args norm_conv;
    struct row_enter row_enter;
    struct row_attend row_attend;
    struct row_leave row_leave;
    struct row_pair row_pair;
    struct {
      struct attn_args args;
      void *workspace;
    } attention;
    struct style_args style;
    struct recall_args recall;
    struct remember_args remember;
    struct join_args join;
    struct {
      cudaError_t (*enqueue)(const struct launch_queue *queue, const struct sample_args *args);
      struct sample_args args;
    } sample;
    struct map_args map;
    struct {
      cudaError_t (*enqueue)(const struct launch_queue *queue, const struct depth_args *args);
      struct depth_args args;
    } depth;
    struct {
      cudaError_t (*enqueue)(const struct launch_queue *queue, const struct canvas_args *args);
      struct canvas_args args;
    } canvas;
    struct {
      cudaError_t (*enqueue)(const struct launch_queue *queue, const struct advect_args *args);
      struct advect_args args;
    } advect;
    struct {
      cudaError_t (*enqueue)(const struct launch_queue *queue, const struct motion_args *args);
      struct motion_args args;
    } motion;
    struct detail_args detail;
    struct pixels_args pixels;
  };
};

struct launches {
  struct launch *list;
  int count, capacity;
};

/* Appends a copy of the launch to the list. Returns -1 if memory is out. */
int launches_append(struct launches *launches, const struct launch *launch, struct error *err);
void launches_truncate(struct launches *launches, int count); /* removes all launches after the first `count` */
void launches_free(struct launches *launches);                /* frees the list; accepts a zeroed struct */
cudaError_t launch_enqueue(const struct cuda_device *device, const struct launch_queue *queue,
                           const struct launch *launch);
/* Enqueues the launches with indices `first` to `end - 1` of the list, in order. */
cudaError_t launches_enqueue(const struct cuda_device *device, const struct launch_queue *queue,
                             const struct launches *launches, int first, int end);
/* Lets each group norm that can make something beside its result have the gamma and beta of the norms behind it, up to
 * the next group norm, read from memory ahead of them: in a frame all weights have passed since the last one. */
void launches_fetch_ahead(struct launches *launches, const struct launch_queue *queue);
/* Returns the name of a kind of launch for profiles and the tuning file, such as "gemm". */
const char *launch_kind_name(enum launch_kind kind);
/* Writes the kind of the launch with its tile, splits or algorithm, such as "gemm 64x64/2". */
void launch_describe(const struct launch *launch, char *out, size_t size);

#endif
