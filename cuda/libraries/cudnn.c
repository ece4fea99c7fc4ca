/* cuDNN 9 through its backend API: a convolution, alone or followed by bias, time row (a vector from the time
 * embedding), residual and activation in one graph of operations. Tensors are NHWC; cuDNN wants their dimensions in the
 * order N, C, H, W, with the strides of that layout.
 *
 * cuDNN's heuristics need about a millisecond to answer, and making an execution plan takes as long. Networks use the
 * same shapes again, from layer to layer and step to step. So graphs and their execution plans are kept, and a
 * convolution is run by one of these plans with the addresses of its tensors. */
#include "cuda/libraries/libraries.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#if HAVE_CUDNN
#include <cudnn.h>

enum { OPS_MAX = 5, OBJECTS_MAX = 64, OFFERS_MAX = 24, PLANS_MAX = 4 };

/* Numbers that identify a graph's tensors to cuDNN. Those from FIRST_INNER on are results within the graph, which have
 * no address. */
enum uid { UID_X = 1, UID_WEIGHT, UID_Y, UID_RESIDUAL, UID_VECTOR, FIRST_INNER };

typedef cudnnBackendDescriptor_t object;

/* The properties in which graphs differ, by which a graph is found again. Shapes are compared as bytes, so the struct
 * must have no padding. */
struct shape {
  int n, h, w, c, out_h, out_w, columns, kernel, stride, pad;
  /* What cuDNN does after the convolution, in the same kernel. fused: 1 if it does anything; if 0, the others are 0 as
   * well. act: the activation. residual: 1 if the residual is added. vector: 1 if a vector is added: the bias, the time
   * row (from the time embedding), or their sum. */
  int fused, act, residual, vector;
};

/* A graph of operations: a convolution and what follows it in the same kernel. offers: the engine configurations that
 * cuDNN's heuristics offer for it; plans: execution plans that were made from them, in the same order. */
struct graph {
  struct graph *next;
  struct shape shape;
  struct dnn *dnn;
  /* all descriptors that belong to the graph, except plans; they are destroyed in reverse order */
  object objects[OBJECTS_MAX];
  int count;
  int64_t next_id; /* the next tensor that one operation writes for another gets the id FIRST_INNER + next_id */
  bool failed;     /* true: cuDNN has refused a call while the graph was built, which is checked once at the end */
  object offers[OFFERS_MAX];
  int64_t offer_count, next_offer;
  object plans[PLANS_MAX];
  int plan_count;
};

struct dnn {
  struct graph *graphs;
  /* Protects `handle`: a thread that enqueues launches one by one (runs without a graph) uses it while another thread
   * prepares programs. */
  pthread_mutex_t lock;
  void *library;
  cudnnHandle_t handle; /* handle of the library, created when it is first needed, because creating one is slow; NULL:
                         * none yet */
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
  object plan; /* execution plan of the convolution; owned by its struct graph */
  object pack; /* addresses */
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
  pthread_mutex_init(&dnn->lock, NULL);
  dnn->library = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (dnn->library && load(dnn))
    return dnn;
  dnn_close(dnn);
  return NULL;
}

static void graph_destroy(struct graph *graph) {
  struct dnn *dnn = graph->dnn;
  while (graph->plan_count > 0)
    dnn->object_destroy(graph->plans[--graph->plan_count]);
  while (graph->count > 0)
    dnn->object_destroy(graph->objects[--graph->count]);
  free(graph);
}

void dnn_close(struct dnn *dnn) {
  if (!dnn)
    return;
  while (dnn->graphs) {
    struct graph *graph = dnn->graphs;
    dnn->graphs = graph->next;
    graph_destroy(graph);
  }
  if (dnn->handle)
    dnn->destroy(dnn->handle);
  /* The library is not closed: the CUDA runtime knows its kernels, and unloading it then is not supported. */
  pthread_mutex_destroy(&dnn->lock);
  free(dnn);
}

size_t dnn_version(const struct dnn *dnn) {
  return dnn ? dnn->version : 0;
}

/* --- descriptors of cuDNN's backend API --- */

static object make(struct graph *graph, cudnnBackendDescriptorType_t type) {
  object made = NULL;
  if (graph->failed || graph->count == OBJECTS_MAX || graph->dnn->object_create(type, &made)) {
    graph->failed = true;
    return NULL;
  }
  return graph->objects[graph->count++] = made;
}

static void set(struct graph *graph, object o, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                int64_t count, const void *values) {
  if (!graph->failed && graph->dnn->object_set(o, name, type, count, values))
    graph->failed = true;
}

static void set_object(struct graph *graph, object o, cudnnBackendAttributeName_t name, object value) {
  set(graph, o, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value);
}

static object finalize(struct graph *graph, object o) {
  if (!graph->failed && graph->dnn->object_finalize(o))
    graph->failed = true;
  return o;
}

/* --- descriptors of tensors --- */

/* Makes the descriptor of a tensor. dims: number of pictures, channels, height and width. */
static object tensor(struct graph *graph, int64_t id, cudnnDataType_t type, const int64_t dims[4]) {
  int64_t c = dims[1], h = dims[2], w = dims[3], strides[4] = {c * h * w, 1, c * w, c}, alignment = 16;
  bool is_virtual = id >= FIRST_INNER;
  object o = make(graph, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  set(graph, o, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set(graph, o, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4, dims);
  set(graph, o, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, 4, strides);
  set(graph, o, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &id);
  set(graph, o, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, &alignment);
  set(graph, o, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, &is_virtual);
  return finalize(graph, o);
}

/* Makes the tensor to which an operation writes its result. For the last operation this is y, in FP16; for any other it
 * is an FP32 tensor, which the next operation reads. */
static object result(struct graph *graph, bool last, const int64_t dims[4]) {
  return last ? tensor(graph, UID_Y, CUDNN_DATA_HALF, dims)
              : tensor(graph, FIRST_INNER + graph->next_id++, CUDNN_DATA_FLOAT, dims);
}

/* --- operations of a graph --- */

static object convolution(struct graph *graph, object x, object w, object y) {
  const struct shape *s = &graph->shape;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  int64_t spatial = 2, pad[2] = {s->pad, s->pad}, stride[2] = {s->stride, s->stride}, dilation[2] = {1, 1};
  float alpha = 1, beta = 0;
  object d = make(graph, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  set(graph, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &type);
  set(graph, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  set(graph, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, &spatial);
  set(graph, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
  set(graph, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, pad);
  set(graph, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, stride);
  set(graph, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, dilation);
  finalize(graph, d);
  object op = make(graph, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  set_object(graph, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, d);
  set_object(graph, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  set_object(graph, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
  set_object(graph, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  set(graph, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, &alpha);
  set(graph, op, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, &beta);
  return finalize(graph, op);
}

/* Makes the operation y = mode(x, b), element by element, and returns its descriptor. mode: one of cuDNN's functions of
 * one or two operands, such as addition or ReLU. b is NULL for functions of one operand. */
static object pointwise(struct graph *graph, cudnnPointwiseMode_t mode, object x, object b, object y) {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  object d = make(graph, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  set(graph, d, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, 1, &mode);
  set(graph, d, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, 1, &type);
  finalize(graph, d);
  object op = make(graph, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  set_object(graph, op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, d);
  set_object(graph, op, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b)
    set_object(graph, op, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
  set_object(graph, op, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  return finalize(graph, op);
}

/* Makes the operations of the graph: the convolution and what follows it. The last one writes y. Returns the number of
 * operations. */
static int build_operations(struct graph *graph, object ops[OPS_MAX]) {
  const struct shape *s = &graph->shape;
  int64_t x_dims[4] = {s->n, s->c, s->h, s->w}, w_dims[4] = {s->columns, s->c, s->kernel, s->kernel};
  int64_t y_dims[4] = {s->n, s->columns, s->out_h, s->out_w}, row[4] = {1, s->columns, 1, 1};
  const struct {
    bool wanted;
    cudnnPointwiseMode_t mode;
    enum uid operand; /* 0: none */
    const int64_t *dims;
  } tail[] = {
      {s->residual, CUDNN_POINTWISE_ADD, UID_RESIDUAL, y_dims},
      {s->vector, CUDNN_POINTWISE_ADD, UID_VECTOR, row},
      {s->act == ACT_RELU, CUDNN_POINTWISE_RELU_FWD, 0, NULL},
  };
  enum { TAILS = sizeof tail / sizeof tail[0] };
  int count = 0, left = 0;
  for (int i = 0; i < TAILS; i++)
    left += tail[i].wanted;
  object x = tensor(graph, UID_X, CUDNN_DATA_HALF, x_dims);
  object w = tensor(graph, UID_WEIGHT, CUDNN_DATA_HALF, w_dims), last = result(graph, !left, y_dims);
  ops[count++] = convolution(graph, x, w, last);
  for (int i = 0; i < TAILS; i++) {
    if (!tail[i].wanted)
      continue;
    left--;
    object b = tail[i].operand ? tensor(graph, tail[i].operand, CUDNN_DATA_HALF, tail[i].dims) : NULL;
    object y = result(graph, !left, y_dims);
    ops[count++] = pointwise(graph, tail[i].mode, last, b, y);
    last = y;
  }
  return count;
}

/* --- cuDNN's engines and execution plans --- */

/* Returns true if this engine of cuDNN may be used. It must add FP16 products in FP32, in a fixed order. It must not be
 * compiled at run time, which would take seconds for the shapes of a network. */
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

/* Returns an execution plan of this engine configuration; NULL: cuDNN refuses, or the plan needs more than
 * workspace_bytes. */
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

/* --- building and keeping graphs --- */

static void build(struct graph *graph) {
  struct dnn *dnn = graph->dnn;
  object ops[OPS_MAX];
  cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  int64_t count = build_operations(graph, ops);
  object operations = make(graph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  set(graph, operations, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, ops);
  set(graph, operations, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &dnn->handle);
  finalize(graph, operations);
  object heuristics = make(graph, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  set_object(graph, heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, operations);
  set(graph, heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  finalize(graph, heuristics);
  for (int i = 0; i < OFFERS_MAX; i++)
    graph->offers[i] = make(graph, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  if (graph->failed || dnn->object_get(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                       OFFERS_MAX, &graph->offer_count, graph->offers))
    graph->offer_count = 0;
  if (graph->offer_count > OFFERS_MAX)
    graph->offer_count = OFFERS_MAX;
}

static struct shape make_shape(const struct gemm_args *args, const half_t *vector, bool fused) {
  return (struct shape){.n = args->n,
                        .h = args->h,
                        .w = args->w,
                        .c = args->c,
                        .out_h = args->out_h,
                        .out_w = args->out_w,
                        .columns = args->columns,
                        .kernel = args->kernel,
                        .stride = args->stride,
                        .pad = args->pad,
                        .fused = fused,
                        .act = fused ? (int)args->act : ACT_NONE,
                        .residual = fused && args->residual,
                        .vector = fused && vector};
}

/* Returns the graph for convolutions of this shape, and builds it if there is none yet; NULL: out of memory. If cuDNN
 * refuses the shape, the graph has no configurations. */
static struct graph *find_graph(struct dnn *dnn, const struct shape *shape) {
  struct graph *graph = dnn->graphs;
  while (graph && memcmp(&graph->shape, shape, sizeof *shape) != 0)
    graph = graph->next;
  if (graph)
    return graph;
  graph = calloc(1, sizeof *graph);
  if (!graph)
    return NULL;
  graph->dnn = dnn;
  graph->shape = *shape;
  graph->next = dnn->graphs;
  dnn->graphs = graph;
  build(graph);
  return graph;
}

/* Returns execution plan number `index`, among those that could be made from the graph's configurations; NULL: there
 * are fewer. */
static object find_plan(struct graph *graph, int index, size_t workspace_bytes) {
  while (graph->plan_count <= index && graph->plan_count < PLANS_MAX && graph->next_offer < graph->offer_count) {
    object offer = graph->offers[graph->next_offer++];
    object plan = engine_allowed(graph->dnn, offer) ? plan_create(graph->dnn, offer, workspace_bytes) : NULL;
    if (plan)
      graph->plans[graph->plan_count++] = plan;
  }
  return index >= 0 && index < graph->plan_count ? graph->plans[index] : NULL;
}

/* --- preparing and running convolutions --- */

/* Returns cuDNN's descriptor of the addresses of the graph's operands (a variant pack); NULL if cuDNN refuses. */
static object pack_create(struct dnn *dnn, const struct gemm_args *args, const half_t *vector, bool fused,
                          void *workspace) {
  const struct {
    enum uid id;
    const void *pointer;
    bool there;
  } operands[] = {
      {UID_X, args->x, true},
      {UID_WEIGHT, args->weight, true},
      {UID_Y, args->y, true},
      {UID_RESIDUAL, args->residual, fused && args->residual},
      {UID_VECTOR, vector, fused && vector},
  };
  int64_t ids[FIRST_INNER], count = 0;
  const void *pointers[FIRST_INNER];
  for (size_t i = 0; i < sizeof operands / sizeof operands[0]; i++)
    if (operands[i].there) {
      ids[count] = operands[i].id;
      pointers[count++] = operands[i].pointer;
    }
  object pack = NULL;
  if (dnn->object_create(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack))
    return NULL;
  if (!dnn->object_set(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, count, ids) &&
      !dnn->object_set(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, count, pointers) &&
      !dnn->object_set(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace) &&
      !dnn->object_finalize(pack))
    return pack;
  dnn->object_destroy(pack);
  return NULL;
}

static struct dnn_conv *conv_create(struct dnn *dnn, const struct gemm_args *args, const half_t *bias, bool fused,
                                    int index, void *workspace, size_t workspace_bytes) {
  if (!dnn->handle && dnn->create(&dnn->handle)) {
    dnn->handle = NULL;
    return NULL;
  }
  struct shape shape = make_shape(args, bias, fused);
  struct graph *graph = find_graph(dnn, &shape);
  struct dnn_conv *conv = calloc(1, sizeof *conv);
  if (!graph || !conv) {
    free(conv);
    return NULL;
  }
  conv->dnn = dnn;
  conv->plan = find_plan(graph, index, workspace_bytes);
  if (conv->plan && (conv->pack = pack_create(dnn, args, bias, fused, workspace)))
    return conv;
  dnn_conv_destroy(conv);
  return NULL;
}

struct dnn_conv *dnn_conv_create(struct dnn *dnn, const struct gemm_args *args, const half_t *bias, bool fused,
                                 int index, void *workspace, size_t workspace_bytes) {
  if (fused && ((args->act != ACT_NONE && args->act != ACT_RELU) || (uintptr_t)bias % 16))
    return NULL;
  pthread_mutex_lock(&dnn->lock);
  struct dnn_conv *conv = conv_create(dnn, args, bias, fused, index, workspace, workspace_bytes);
  pthread_mutex_unlock(&dnn->lock);
  return conv;
}

void dnn_conv_destroy(struct dnn_conv *conv) {
  if (!conv)
    return;
  if (conv->pack)
    conv->dnn->object_destroy(conv->pack);
  free(conv);
}

cudaError_t dnn_conv_launch(const struct dnn_conv *conv, cudaStream_t stream) {
  struct dnn *dnn = conv->dnn;
  pthread_mutex_lock(&dnn->lock);
  bool failed = dnn->set_stream(dnn->handle, stream) || dnn->execute(dnn->handle, conv->plan, conv->pack);
  pthread_mutex_unlock(&dnn->lock);
  return failed ? cudaErrorUnknown : cudaSuccess;
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
