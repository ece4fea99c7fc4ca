/* cuDNN 9 through its backend API: a convolution, alone or with bias, time row, residual and activation behind it as
 * one graph of operations. Tensors are NHWC, which cuDNN writes as dimensions N, C, H, W with strides of that order. */
#include "libraries.h"

#include <dlfcn.h>
#include <stdlib.h>

#if HAVE_CUDNN
#include <cudnn.h>

enum { OPS_MAX = 5, TENSORS_MAX = 12, OBJECTS_MAX = 64, OFFERS_MAX = 24 };

typedef cudnnBackendDescriptor_t object;

struct dnn {
  void *library;
  cudnnHandle_t handle; /* made on first use: it is slow */
  size_t version;
  __typeof__(&cudnnCreate) create;
  __typeof__(&cudnnDestroy) destroy;
  __typeof__(&cudnnSetStream) set_stream;
  __typeof__(&cudnnBackendCreateDescriptor) object_create;
  __typeof__(&cudnnBackendDestroyDescriptor) object_destroy;
  __typeof__(&cudnnBackendSetAttribute) object_set;
  __typeof__(&cudnnBackendGetAttribute) object_get;
  __typeof__(&cudnnBackendFinalize) object_finalize;
  __typeof__(&cudnnBackendExecute) execute;
};

struct dnn_conv {
  struct dnn *dnn;
  object objects[OBJECTS_MAX]; /* all that were made, destroyed in reverse */
  int count;
  object plan, pack;
  /* The operands: id and device address of each tensor that is not virtual. */
  int64_t ids[TENSORS_MAX];
  void *pointers[TENSORS_MAX];
  int operands;
  int64_t next_id;
  bool failed; /* building stops making sense at the first refusal; checked at the end */
};

static bool load(struct dnn *dnn) {
  const struct {
    void *pointer;
    const char *name;
  } symbols[] = {
      {&dnn->create, "cudnnCreate"},
      {&dnn->destroy, "cudnnDestroy"},
      {&dnn->set_stream, "cudnnSetStream"},
      {&dnn->object_create, "cudnnBackendCreateDescriptor"},
      {&dnn->object_destroy, "cudnnBackendDestroyDescriptor"},
      {&dnn->object_set, "cudnnBackendSetAttribute"},
      {&dnn->object_get, "cudnnBackendGetAttribute"},
      {&dnn->object_finalize, "cudnnBackendFinalize"},
      {&dnn->execute, "cudnnBackendExecute"},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
    if (!(*(void **)symbols[i].pointer = dlsym(dnn->library, symbols[i].name)))
      return false;
  __typeof__(&cudnnGetVersion) version = NULL;
  *(void **)&version = dlsym(dnn->library, "cudnnGetVersion");
  dnn->version = version ? version() : 0;
  return dnn->version >= 90000;
}

struct dnn *dnn_open(void) {
  struct dnn *dnn = calloc(1, sizeof *dnn);
  if (!dnn)
    return NULL;
  dnn->library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (dnn->library && load(dnn))
    return dnn;
  dnn_close(dnn);
  return NULL;
}

void dnn_close(struct dnn *dnn) {
  if (!dnn)
    return;
  if (dnn->handle)
    dnn->destroy(dnn->handle);
  /* The library stays mapped, as cuBLASLt does. */
  free(dnn);
}

size_t dnn_version(const struct dnn *dnn) {
  return dnn ? dnn->version : 0;
}

/* --- objects of the backend API --- */

static object make(struct dnn_conv *conv, cudnnBackendDescriptorType_t type) {
  object made = NULL;
  if (conv->failed || conv->count == OBJECTS_MAX || conv->dnn->object_create(type, &made)) {
    conv->failed = true;
    return NULL;
  }
  return conv->objects[conv->count++] = made;
}

static void set(struct dnn_conv *conv, object o, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                int64_t count, const void *values) {
  if (!conv->failed && conv->dnn->object_set(o, name, type, count, values))
    conv->failed = true;
}

static void set_object(struct dnn_conv *conv, object o, cudnnBackendAttributeName_t name, object value) {
  set(conv, o, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static object finalize(struct dnn_conv *conv, object o) {
  if (!conv->failed && conv->dnn->object_finalize(o))
    conv->failed = true;
  return o;
}

/* --- tensors --- */

/* A tensor of n, c, h, w; virtual when it has no address. */
static object tensor(struct dnn_conv *conv, cudnnDataType_t type, const int64_t dims[4], const void *pointer) {
  int64_t c = dims[1], h = dims[2], w = dims[3], strides[4] = {c * h * w, 1, c * w, c}, alignment = 16;
  int64_t id = ++conv->next_id;
  bool is_virtual = !pointer;
  object o = make(conv, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(conv, o, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set(conv, o, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
  set(conv, o, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
  set(conv, o, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  set(conv, o, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
  set(conv, o, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  if (pointer && conv->operands < TENSORS_MAX) {
    conv->ids[conv->operands] = id;
    conv->pointers[conv->operands++] = (void *)pointer;
  }
  return finalize(conv, o);
}

/* --- operations --- */

static object convolution(struct dnn_conv *conv, const struct gemm_args *args, object x, object w, object y) {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  int64_t spatial = 2, pad[2] = {args->pad, args->pad}, stride[2] = {args->stride, args->stride}, dilation[2] = {1, 1};
  float alpha = 1, beta = 0;
  object d = make(conv, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(conv, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set(conv, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  set(conv, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
  set(conv, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
  set(conv, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
  set(conv, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride);
  set(conv, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilation);
  finalize(conv, d);
  object op = make(conv, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  set_object(conv, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, d);
  set_object(conv, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  set_object(conv, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
  set_object(conv, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  set(conv, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &alpha);
  set(conv, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &beta);
  return finalize(conv, op);
}

/* y = mode(x, b); b NULL for functions of one operand. */
static object pointwise(struct dnn_conv *conv, cudnnPointwiseMode_t mode, object x, object b, object y) {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  object d = make(conv, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(conv, d, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  set(conv, d, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
  finalize(conv, d);
  object op = make(conv, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set_object(conv, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d);
  set_object(conv, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b)
    set_object(conv, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
  set_object(conv, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  return finalize(conv, op);
}

/* The convolution and, when fused, what follows it; the last operation writes args->y. Returns the number of
 * operations. */
static int build_operations(struct dnn_conv *conv, const struct gemm_args *args, const half_t *bias, bool fused,
                            object ops[OPS_MAX]) {
  int64_t x_dims[4] = {args->n, args->c, args->h, args->w};
  int64_t w_dims[4] = {args->columns, args->c, args->kernel, args->kernel};
  int64_t y_dims[4] = {args->n, args->columns, args->out_h, args->out_w}, row[4] = {1, args->columns, 1, 1};
  const struct {
    const void *operand;
    const int64_t *dims;
    cudnnPointwiseMode_t mode;
    bool wanted;
  } tail[] = {
      {args->residual, y_dims, CUDNN_POINTWISE_ADD, args->residual != NULL},
      {bias, row, CUDNN_POINTWISE_ADD, bias != NULL},
      {NULL, NULL, CUDNN_POINTWISE_RELU_FWD, args->act == ACT_RELU},
  };
  enum { TAILS = sizeof tail / sizeof tail[0] };
  int count = 0, left = 0;
  for (int i = 0; i < TAILS && fused; i++)
    left += tail[i].wanted;
  object x = tensor(conv, CUDNN_DATA_HALF, x_dims, args->x), w = tensor(conv, CUDNN_DATA_HALF, w_dims, args->weight);
  object last = left ? tensor(conv, CUDNN_DATA_FLOAT, y_dims, NULL) : tensor(conv, CUDNN_DATA_HALF, y_dims, args->y);
  ops[count++] = convolution(conv, args, x, w, last);
  for (int i = 0; i < TAILS && left; i++) {
    if (!tail[i].wanted)
      continue;
    left--;
    object b = tail[i].operand ? tensor(conv, CUDNN_DATA_HALF, tail[i].dims, tail[i].operand) : NULL;
    object y = left ? tensor(conv, CUDNN_DATA_FLOAT, y_dims, NULL) : tensor(conv, CUDNN_DATA_HALF, y_dims, args->y);
    ops[count++] = pointwise(conv, tail[i].mode, last, b, y);
    last = y;
  }
  return count;
}

/* --- engines --- */

/* FP32 sums of FP16 products in a fixed order, and no compiling at start, which takes seconds for a network's shapes.
 */
static bool notes_allowed(struct dnn *dnn, object engine) {
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT];
  cudnnBackendBehaviorNote_t habits[CUDNN_BEHAVIOR_NOTE_TYPE_COUNT];
  int64_t count = 0, habit_count = 0;
  if (dnn->object_get(engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                      CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes) ||
      dnn->object_get(engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, CUDNN_BEHAVIOR_NOTE_TYPE_COUNT,
                      &habit_count, habits))
    return false;
  for (int64_t i = 0; i < count; i++)
    if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC || notes[i] == CUDNN_NUMERICAL_NOTE_WINOGRAD ||
        notes[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION || notes[i] == CUDNN_NUMERICAL_NOTE_FFT)
      return false;
  for (int64_t i = 0; i < habit_count; i++)
    if (habits[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)
      return false;
  return true;
}

static bool engine_allowed(struct dnn *dnn, object config) {
  int64_t count = 0;
  object engine = NULL;
  if (dnn->object_create(CUDNN_BACKEND_ENGINE_DESCRIPTOR, &engine))
    return false;
  bool allowed =
      !dnn->object_get(config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &engine) &&
      notes_allowed(dnn, engine);
  dnn->object_destroy(engine);
  return allowed;
}

/* An execution plan of this configuration that fits the workspace, or NULL. */
static object plan_create(struct dnn *dnn, object config, size_t workspace_bytes) {
  object plan = NULL;
  int64_t needed = 0, count = 0;
  if (dnn->object_create(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan))
    return NULL;
  if (!dnn->object_set(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &dnn->handle) &&
      !dnn->object_set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &config) &&
      !dnn->object_finalize(plan) &&
      !dnn->object_get(plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &needed) &&
      (size_t)needed <= workspace_bytes)
    return plan;
  dnn->object_destroy(plan);
  return NULL;
}

/* The index-th plan that can be made from what the heuristics offer, in their order. */
static void choose_plan(struct dnn_conv *conv, object graph, int index, size_t workspace_bytes) {
  struct dnn *dnn = conv->dnn;
  object offers[OFFERS_MAX] = {0};
  cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  int64_t count = 0;
  object heuristics = make(conv, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set_object(conv, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  set(conv, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  finalize(conv, heuristics);
  for (int i = 0; i < OFFERS_MAX; i++)
    offers[i] = make(conv, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  if (conv->failed || dnn->object_get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                      OFFERS_MAX, &count, offers))
    return;
  for (int64_t i = 0; i < count && i < OFFERS_MAX; i++) {
    object plan = engine_allowed(dnn, offers[i]) ? plan_create(dnn, offers[i], workspace_bytes) : NULL;
    if (plan && index-- == 0) {
      conv->plan = plan;
      return;
    }
    if (plan)
      dnn->object_destroy(plan);
  }
}

static void build(struct dnn_conv *conv, const struct gemm_args *args, const half_t *bias, bool fused, int index,
                  void *workspace, size_t workspace_bytes) {
  object ops[OPS_MAX];
  int64_t count = build_operations(conv, args, bias, fused, ops);
  object graph = make(conv, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(conv, graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, ops);
  set(conv, graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &conv->dnn->handle);
  finalize(conv, graph);
  if (!conv->failed)
    choose_plan(conv, graph, index, workspace_bytes);
  if (!conv->plan)
    return;
  conv->pack = make(conv, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  set(conv, conv->pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, conv->operands, conv->ids);
  set(conv, conv->pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, conv->operands, conv->pointers);
  set(conv, conv->pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  finalize(conv, conv->pack);
}

struct dnn_conv *dnn_conv_create(struct dnn *dnn, const struct gemm_args *args, const half_t *bias, bool fused,
                                 int index, void *workspace, size_t workspace_bytes) {
  if (fused && ((args->act != ACT_NONE && args->act != ACT_RELU) || (uintptr_t)bias % 16))
    return NULL;
  if (!dnn->handle && dnn->create(&dnn->handle)) {
    dnn->handle = NULL;
    return NULL;
  }
  struct dnn_conv *conv = calloc(1, sizeof *conv);
  if (!conv)
    return NULL;
  conv->dnn = dnn;
  build(conv, args, bias, fused, index, workspace, workspace_bytes);
  if (conv->plan && conv->pack && !conv->failed)
    return conv;
  dnn_conv_destroy(conv);
  return NULL;
}

void dnn_conv_destroy(struct dnn_conv *conv) {
  if (!conv)
    return;
  if (conv->plan)
    conv->dnn->object_destroy(conv->plan);
  while (conv->count > 0)
    conv->dnn->object_destroy(conv->objects[--conv->count]);
  free(conv);
}

cudaError_t dnn_conv_launch(const struct dnn_conv *conv, cudaStream_t stream) {
  if (conv->dnn->set_stream(conv->dnn->handle, stream) || conv->dnn->execute(conv->dnn->handle, conv->plan, conv->pack))
    return cudaErrorUnknown;
  return cudaSuccess;
}

#else

struct dnn *dnn_open(void) {
  return NULL;
}
void dnn_close(struct dnn *dnn) {
  (void)dnn;
}
size_t dnn_version(const struct dnn *dnn) {
  (void)dnn;
  return 0;
}
struct dnn_conv *dnn_conv_create(struct dnn *dnn, const struct gemm_args *args, const half_t *bias, bool fused,
                                 int index, void *workspace, size_t workspace_bytes) {
  (void)dnn, (void)args, (void)bias, (void)fused, (void)index, (void)workspace, (void)workspace_bytes;
  return NULL;
}
void dnn_conv_destroy(struct dnn_conv *conv) {
  (void)conv;
}
cudaError_t dnn_conv_launch(const struct dnn_conv *conv, cudaStream_t stream) {
  (void)conv, (void)stream;
  return cudaErrorNotSupported;
}

#endif
