/* Enqueues or captures a run's launches. A loop's launches are captured once, as the body of a node that the GPU
 * repeats. So fifty iterations are prepared as fast as one, and a run is still one launch of a graph. Regions (ops that
 * a run may skip) are bodies of conditional nodes. The GPU itself evaluates their conditions: one small kernel does so
 * for all regions in a range of launches. Graphs for exact runs have no such nodes: there the launches of regions are
 * nodes like all others. */
#include "cuda/recording.h"

#include <stdlib.h>

/* CUDA 12 has other names for the functions that take edge data (the kinds of dependencies between nodes). */
#if CUDART_VERSION < 13000
#undef cudaStreamGetCaptureInfo
#undef cudaStreamUpdateCaptureDependencies
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#define cudaGraphAddNode cudaGraphAddNode_v2
#endif

/* Creates the handle of a conditional node in the graph that is being captured. first: the handle's value at the
 * beginning of each launch of the graph. */
static cudaError_t make_handle(cudaStream_t stream, unsigned first, cudaGraphConditionalHandle *handle) {
  enum cudaStreamCaptureStatus capturing;
  cudaGraph_t graph;
  const cudaGraphNode_t *before;
  const cudaGraphEdgeData *edges;
  size_t count;
  cudaError_t status = cudaStreamGetCaptureInfo(stream, &capturing, NULL, &graph, &before, &edges, &count);
  return status == cudaSuccess ? cudaGraphConditionalHandleCreate(handle, graph, first, cudaGraphCondAssignDefault)
                               : status;
}

enum { AFTER_MAX = 8 };

/* Adds a node that depends on everything captured so far, and on the node `also` unless that is NULL. What is captured
 * next does not depend on the new node. params NULL: the node is empty. */
static cudaError_t add_node(cudaStream_t stream, struct cudaGraphNodeParams *params, cudaGraphNode_t also,
                            cudaGraphNode_t *node) {
  enum cudaStreamCaptureStatus capturing;
  cudaGraph_t graph;
  const cudaGraphNode_t *before;
  const cudaGraphEdgeData *edges;
  cudaGraphNode_t after[AFTER_MAX];
  cudaGraphEdgeData data[AFTER_MAX] = {0};
  size_t count;
  cudaError_t status = cudaStreamGetCaptureInfo(stream, &capturing, NULL, &graph, &before, &edges, &count);
  if (status == cudaSuccess && count >= AFTER_MAX)
    status = cudaErrorNotSupported;
  for (size_t i = 0; status == cudaSuccess && i < count; i++) {
    after[i] = before[i];
    data[i] = edges ? edges[i] : data[i];
  }
  if (status == cudaSuccess && also)
    after[count++] = also;
  if (status != cudaSuccess)
    return status;
  return params ? cudaGraphAddNode(node, graph, after, data, count, params)
                : cudaGraphAddEmptyNode(node, graph, after, count);
}

static cudaError_t add_conditional(cudaStream_t stream, enum cudaGraphConditionalNodeType type,
                                   cudaGraphConditionalHandle handle, cudaGraphNode_t also, cudaGraphNode_t *node,
                                   cudaGraph_t *body) {
  struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional,
                                       .conditional = {.handle = handle, .type = type, .size = 1}};
  cudaError_t status = add_node(stream, &params, also, node);
  if (status == cudaSuccess)
    *body = params.conditional.phGraph_out[0];
  return status;
}

/* Makes all that is captured next depend on this node alone. */
static cudaError_t go_on_behind(cudaStream_t stream, cudaGraphNode_t node) {
  return cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, cudaStreamSetCaptureDependencies);
}

/* Adds a conditional node on which all that is captured next depends. */
static cudaError_t append_node(cudaStream_t stream, enum cudaGraphConditionalNodeType type,
                               cudaGraphConditionalHandle handle, cudaGraph_t *body) {
  cudaGraphNode_t node;
  cudaError_t status = add_conditional(stream, type, handle, NULL, &node, body);
  return status == cudaSuccess ? go_on_behind(stream, node) : status;
}

/* Adds an empty node on which all that is captured next depends, so that a kernel behind it begins when all before it
 * is over. Programmatic launch, by which a kernel may begin earlier, orders it behind one other kernel only. */
static cudaError_t append_empty(cudaStream_t stream) {
  cudaGraphNode_t node;
  cudaError_t status = add_node(stream, NULL, NULL, &node);
  return status == cudaSuccess ? go_on_behind(stream, node) : status;
}

static cudaError_t begin_body(cudaStream_t stream, cudaGraph_t body) {
  return cudaStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed);
}

static cudaError_t end_body(cudaStream_t stream, cudaError_t status) {
  cudaGraph_t body;
  cudaError_t ended = cudaStreamEndCapture(stream, &body);
  return status == cudaSuccess ? ended : status;
}

/* --- launches that a graph leaves out --- */

static bool is_left_out(const struct recording *r, int launch) {
  const struct plan_region *regions = r->program->regions;
  if (r->without & IDLE_STYLES && r->launches->list[launch].kind == LAUNCH_STYLE)
    return true;
  for (int i = 0; r->without && i < r->program->base.plan->region_count; i++)
    if (launch >= regions[i].first && launch < regions[i].end && r->without & region_idle(&regions[i].when))
      return true;
  return false;
}

/* Enqueues a launch. If the run does not use the bank (keys and values of earlier frames), an attention gets only its
 * own frame's keys. */
static cudaError_t enqueue_one(const struct cuda_device *device, const struct launch_queue *queue,
                               const struct recording *r, const struct launch *launch) {
  bool off = r->without & IDLE_BANK || (r->params && !r->params->bank.frames);
  bool attends = launch->kind == LAUNCH_ATTENTION || launch->kind == LAUNCH_PLAIN_ATTENTION;
  if (!off || !attends)
    return launch_enqueue(device, queue, launch);
  struct launch alone = *launch;
  alone.attention.args.k2 = alone.attention.args.v2 = NULL;
  return launch_enqueue(device, queue, &alone);
}

/* Enqueues the launches with numbers `first` to `end - 1`, except those that the run leaves out. */
static cudaError_t enqueue(const struct cuda_device *device, const struct launch_queue *queue,
                           const struct recording *r, int first, int end) {
  cudaError_t status = cudaSuccess;
  for (int i = first; status == cudaSuccess && i < end; i++)
    if (!is_left_out(r, i))
      status = enqueue_one(device, queue, r, &r->launches->list[i]);
  return status;
}

/* --- regions: groups of launches that a run may skip, as conditional nodes of the CUDA graph --- */

struct region_nodes {
  /* A region (ops that a run may skip) has two conditional nodes; these are the handles of their conditions. handle[0]:
   * node with the launches that run at the same time as launches outside the region; handle[1]: node with all others */
  cudaGraphConditionalHandle handle[2];
  cudaGraphNode_t parallel; /* the first of the two nodes */
  /* for exact runs: event after the launches that run at the same time as launches outside the region; NULL: none */
  cudaEvent_t done;
};

/* A range of launches that contains regions (ops that a run may skip), and what is known of it while it is recorded. */
struct stretch {
  const struct cuda_device *device;
  const struct launch_queue *queue;
  const struct recording *r;
  const struct plan_region *regions;
  int count;
  struct region_nodes *nodes;
  /* Regions (ops that a run may skip) may have graph nodes that run in parallel to the launches outside of them. Such
   * nodes run one after the other: this is the newest one, on which the next one will depend. NULL: none was captured
   * yet. */
  cudaGraphNode_t last;
};

/* Captures kernels that decide in each run for all regions in `s` whether their conditional nodes run or are
 * skipped. */
static cudaError_t decide(const struct stretch *s) {
  struct decisions decisions = {0};
  cudaError_t status = cudaSuccess;
  for (int i = 0; status == cudaSuccess && i < 2 * s->count; i++) {
    const struct plan_region *region = &s->regions[i / 2];
    cudaGraphConditionalHandle *handle = &s->nodes[i / 2].handle[i % 2];
    bool none = i % 2 ? region->parallel_end == region->end : !region->parallel_end;
    if (none)
      continue;
    status = make_handle(s->queue->stream, 0, handle);
    decisions.when[decisions.count] = region->when;
    decisions.node[decisions.count++] = *handle;
    if (status == cudaSuccess && decisions.count == DECISIONS_MAX) {
      status = launch_decide(s->queue, s->r->program->block, &decisions);
      decisions.count = 0;
    }
  }
  return status == cudaSuccess && decisions.count ? launch_decide(s->queue, s->r->program->block, &decisions) : status;
}

static cudaError_t capture_body(const struct stretch *s, cudaGraph_t body, int first, int end) {
  struct launch_queue inside = *s->queue;
  inside.stream = s->device->preparing.region_body;
  cudaError_t status = begin_body(inside.stream, body);
  return status == cudaSuccess ? end_body(inside.stream, enqueue(s->device, &inside, s->r, first, end)) : status;
}

/* Captures those launches of region number i (ops that a run may skip) that run at the same time as the launches
 * captured next, as a conditional node. */
static cudaError_t capture_parallel(struct stretch *s, int i) {
  struct region_nodes *nodes = &s->nodes[i];
  cudaGraph_t body;
  cudaError_t status =
      add_conditional(s->queue->stream, cudaGraphCondTypeIf, nodes->handle[0], s->last, &nodes->parallel, &body);
  s->last = nodes->parallel;
  return status == cudaSuccess ? capture_body(s, body, s->regions[i].first, s->regions[i].parallel_end) : status;
}

/* Does the same for exact runs: the launches are nodes of the graph itself, captured on a stream of their own. This
 * stream takes part in one capture only, which is why the loop's body has another one. */
static cudaError_t capture_beside(const struct stretch *s, int i) {
  const struct preparing *p = &s->device->preparing;
  cudaEvent_t *done = &s->nodes[i].done;
  struct launch_queue beside = *s->queue;
  beside.stream = s->queue->stream == p->loop_body ? p->loop_beside : p->beside;
  cudaError_t status = cudaEventCreateWithFlags(done, cudaEventDisableTiming);
  if (status == cudaSuccess)
    status = cudaEventRecord(*done, s->queue->stream);
  if (status == cudaSuccess)
    status = cudaStreamWaitEvent(beside.stream, *done, 0);
  if (status == cudaSuccess)
    status = append_empty(beside.stream);
  if (status == cudaSuccess)
    status = enqueue(s->device, &beside, s->r, s->regions[i].first, s->regions[i].parallel_end);
  return status == cudaSuccess ? cudaEventRecord(*done, beside.stream) : status;
}

/* Captures launches `first` to `end - 1`, none of which is in a region (ops that a run may skip). Regions may have ops
 * that run in parallel to these launches, from launch number n on; such ops are captured before launch n. */
static cudaError_t capture_plain(struct stretch *s, int first, int end) {
  cudaError_t status = cudaSuccess;
  for (int at = first; status == cudaSuccess && at < end; at++) {
    for (int i = 0; status == cudaSuccess && i < s->count; i++)
      if (s->regions[i].parallel_end && s->regions[i].parallel_with == at)
        status = s->r->exact ? capture_beside(s, i) : capture_parallel(s, i);
    if (status == cudaSuccess)
      status = enqueue(s->device, s->queue, s->r, at, at + 1);
  }
  return status;
}

/* Captures those launches of region number i (ops that exact runs do not skip) that do not run at the same time as
 * others. They wait for those that do, and so does what is captured behind the region, even if no launch of the region
 * is left, as for a map. */
static cudaError_t capture_behind(const struct stretch *s, int i) {
  cudaError_t status = cudaStreamWaitEvent(s->queue->stream, s->nodes[i].done, 0);
  if (status == cudaSuccess)
    status = append_empty(s->queue->stream);
  return status == cudaSuccess ? enqueue(s->device, s->queue, s->r, s->regions[i].parallel_end, s->regions[i].end)
                               : status;
}

/* Captures those launches of region number i (ops that a run may skip) that do not run at the same time as others. */
static cudaError_t capture_region(const struct stretch *s, int i) {
  const struct plan_region *region = &s->regions[i];
  struct region_nodes *nodes = &s->nodes[i];
  int first = region->parallel_end ? region->parallel_end : region->first;
  cudaGraph_t body;
  cudaError_t status = cudaSuccess;
  if (region->parallel_end)
    status = cudaStreamUpdateCaptureDependencies(s->queue->stream, &nodes->parallel, NULL, 1,
                                                 cudaStreamAddCaptureDependencies);
  if (status != cudaSuccess)
    return status;
  if (first == region->end)
    return append_empty(s->queue->stream);
  status = append_node(s->queue->stream, cudaGraphCondTypeIf, nodes->handle[1], &body);
  return status == cudaSuccess ? capture_body(s, body, first, region->end) : status;
}

static cudaError_t capture_stretch(struct stretch *s, int first, int end) {
  s->nodes = calloc((size_t)s->count, sizeof *s->nodes);
  cudaError_t status = !s->nodes ? cudaErrorMemoryAllocation : s->r->exact ? cudaSuccess : decide(s);
  for (int i = 0; status == cudaSuccess && i < s->count; first = s->regions[i++].end) {
    status = capture_plain(s, first, s->regions[i].first);
    if (status == cudaSuccess)
      status = s->r->exact ? capture_behind(s, i) : capture_region(s, i);
  }
  if (status == cudaSuccess)
    status = capture_plain(s, first, end);
  for (int i = 0; s->nodes && i < s->count; i++)
    if (s->nodes[i].done)
      cudaEventDestroy(s->nodes[i].done);
  free(s->nodes);
  return status;
}

/* Enqueues launches `first` to `end - 1` one by one. The host decides which regions (ops that a run may skip) run, from
 * the run's parameters. */
static cudaError_t enqueue_stretch(const struct stretch *s, int first, int end, int iteration) {
  const struct recording *r = s->r;
  cudaError_t status = cudaSuccess;
  for (int i = 0; status == cudaSuccess && i < s->count; first = s->regions[i++].end) {
    status = enqueue(s->device, s->queue, r, first, s->regions[i].first);
    if (status == cudaSuccess && region_runs(&s->regions[i].when, r->params, iteration))
      status = enqueue(s->device, s->queue, r, s->regions[i].first, s->regions[i].end);
  }
  return status == cudaSuccess ? enqueue(s->device, s->queue, r, first, end) : status;
}

/* Returns true if the GPU decides whether a run executes this region (ops that a run may skip). Regions of motion and
 * of the bank (earlier frames' keys and values) need no such decision, unless they run in parallel to other launches:
 * there are graphs with and without them (deserves_graph), and the host chooses the graph. */
static bool is_decided(const struct recording *r, const struct plan_region *region) {
  bool memory = region->when.kind == REGION_MOTION || region->when.kind == REGION_BANK;
  return !(r->without & region_idle(&region->when)) && (!memory || region->parallel_end);
}

bool recording_decides(const struct recording *r) {
  bool decides = false;
  for (int i = 0; i < r->program->base.plan->region_count; i++)
    decides |= is_decided(r, &r->program->regions[i]);
  return decides;
}

/* Returns true if the launches of a region (ops that a run may skip) are not enqueued like all others: a run may skip
 * them, or they run in parallel to others. */
static bool is_apart(const struct cuda_device *device, const struct recording *r, const struct plan_region *region) {
  return !device->use_graph || (is_decided(r, region) && (!r->exact || region->parallel_end));
}

/* Captures launches `first` to `end - 1` in a graph, or enqueues them. This range never contains only a part of a
 * region (ops that a run may skip together). */
static cudaError_t launch_stretch(const struct cuda_device *device, const struct launch_queue *queue,
                                  const struct recording *r, int first, int end, int iteration) {
  const struct plan_region *all = r->program->regions;
  int total = r->program->base.plan->region_count;
  struct plan_region *regions = malloc((size_t)(total + 1) * sizeof *regions);
  struct stretch s = {.device = device, .queue = queue, .r = r, .regions = regions};
  for (int i = 0; regions && i < total; i++)
    if (all[i].first >= first && all[i].first < end && is_apart(device, r, &all[i]))
      regions[s.count++] = all[i];
  cudaError_t status = !regions                       ? cudaErrorMemoryAllocation
                       : device->use_graph && s.count ? capture_stretch(&s, first, end)
                                                      : enqueue_stretch(&s, first, end, iteration);
  free(regions);
  return status;
}

static cudaError_t launch_iteration(const struct cuda_device *device, const struct launch_queue *queue,
                                    const struct recording *r, int iteration, const cudaGraphConditionalHandle *again) {
  const struct cuda_program *program = r->program;
  const struct plan_loop *loop = &program->loop;
  cudaError_t status = launch_stretch(device, queue, r, loop->first, loop->end, iteration);
  return status == cudaSuccess ? launch_next_iteration(queue, program->block, loop->iterations, again) : status;
}

/* Captures the plan's loop as one node. The last kernel of its body sets the node's handle so that the loop is repeated
 * or ends. */
static cudaError_t capture_loop(const struct cuda_device *device, const struct launch_queue *queue,
                                const struct recording *r) {
  cudaGraphConditionalHandle again;
  struct launch_queue inside = *queue;
  cudaGraph_t body;
  inside.stream = device->preparing.loop_body;
  cudaError_t status = make_handle(queue->stream, 1, &again);
  if (status == cudaSuccess)
    status = append_node(queue->stream, cudaGraphCondTypeWhile, again, &body);
  if (status == cudaSuccess)
    status = begin_body(inside.stream, body);
  if (status != cudaSuccess)
    return status;
  return end_body(inside.stream, launch_iteration(device, &inside, r, 0, &again));
}

static cudaError_t launch_loop(const struct cuda_device *device, const struct launch_queue *queue,
                               const struct recording *r) {
  cudaError_t status = cudaSuccess;
  int iterations = r->program->loop.iterations;
  if (device->use_graph && iterations)
    return capture_loop(device, queue, r);
  for (int i = 0; status == cudaSuccess && i < iterations; i++)
    status = launch_iteration(device, queue, r, i, NULL);
  return status;
}

/* Returns the number of a part's first launch. The parts divide the launches of a run evenly; the program has neither a
 * loop nor regions (ops that a run may skip). */
static int part_begin(const struct recording *r, int part) {
  return r->launches->count * part / r->program->base.parts;
}

static cudaError_t launch_whole(const struct cuda_device *device, const struct launch_queue *queue,
                                const struct recording *r) {
  const struct plan_loop *loop = &r->program->loop;
  cudaError_t status = launch_stretch(device, queue, r, 0, loop->first, 0);
  if (status == cudaSuccess)
    status = launch_loop(device, queue, r);
  return status == cudaSuccess ? launch_stretch(device, queue, r, loop->end, r->launches->count, 0) : status;
}

cudaError_t record_part(struct cuda_device *device, const struct launch_queue *queue, const void *opaque) {
  const struct recording *r = opaque;
  const struct cuda_program *program = r->program;
  int part = r->part, parts = program->base.parts;
  cudaError_t status = part ? cudaSuccess : launch_begin(queue, program->ring, program->order);
  if (status == cudaSuccess)
    status = parts > 1 ? enqueue(device, queue, r, part_begin(r, part), part_begin(r, part + 1))
                       : launch_whole(device, queue, r);
  return status == cudaSuccess && part == parts - 1 ? launch_end(queue, program->ring, program->order) : status;
}
