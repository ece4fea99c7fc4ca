/* Programs: a plan's launches captured once as a graph, and the frames' way in and out.
 *
 *   upload stream    copy parameters + planes -> buffer i % 2
 *   compute stream           begin (buffer -> block), launches ..., pixels out -> output i % 2
 *   download stream                                                  output i % 2 -> the run's picture
 *
 * Two runs are in flight at most, so a buffer and an output are free again when their turn comes.
 *
 * A loop's launches are captured once, as the body of a node that the GPU repeats: fifty iterations are prepared as
 * fast as one, and a run stays one launch. Regions are bodies of nodes that the GPU enters or not: what decides is read
 * on the device, too, by one small launch for all regions of a stretch. */
#include "cuda/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/capture.h"
#include "cuda/check.h"
#include "cuda/fuse.h"
#include "cuda/ops.h"
#include "cuda/timing.h"
#include "cuda/ways/tuner.h"
#include "unet/base/picture.h"

/* Before CUDA 13 the functions that take edges' data had other names. */
#if CUDART_VERSION < 13000
#undef cudaStreamGetCaptureInfo
#undef cudaStreamUpdateCaptureDependencies
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v3
#define cudaStreamUpdateCaptureDependencies cudaStreamUpdateCaptureDependencies_v2
#define cudaGraphAddNode cudaGraphAddNode_v2
#endif

/* Seconds that may go into timing candidates while frames run: somebody waits for another size or step count, though
 * the picture goes on. Candidates left over are timed when the shape is prepared again. */
static const double tune_running_s = 0.5;

static const double origin_seconds = 0.5;

enum { PLANES_OFFSET = (sizeof(struct run_block) + 255) / 256 * 256 };

/* --- capture --- */

/* Launches of one part of a run, with the weights of one set. */
struct recording {
  const struct cuda_program *program;
  const struct launches *launches;
  int part;
  const struct run_params *params; /* what regions go by without a graph */
};

/* Of a node of the graph that is being captured; each run begins with the value `first`. */
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

/* A node that goes by the handle, behind what is captured so far and behind `also`, unless that is NULL. */
static cudaError_t add_node(cudaStream_t stream, enum cudaGraphConditionalNodeType type,
                            cudaGraphConditionalHandle handle, cudaGraphNode_t also, cudaGraphNode_t *node,
                            cudaGraph_t *body) {
  enum cudaStreamCaptureStatus capturing;
  cudaGraph_t graph;
  const cudaGraphNode_t *before;
  const cudaGraphEdgeData *edges;
  cudaGraphNode_t after[AFTER_MAX];
  cudaGraphEdgeData data[AFTER_MAX] = {0};
  size_t count;
  struct cudaGraphNodeParams params = {.type = cudaGraphNodeTypeConditional,
                                       .conditional = {.handle = handle, .type = type, .size = 1}};
  cudaError_t status = cudaStreamGetCaptureInfo(stream, &capturing, NULL, &graph, &before, &edges, &count);
  if (status == cudaSuccess && count >= AFTER_MAX)
    status = cudaErrorNotSupported;
  for (size_t i = 0; status == cudaSuccess && i < count; i++) {
    after[i] = before[i];
    data[i] = edges ? edges[i] : data[i];
  }
  if (status == cudaSuccess && also)
    after[count++] = also;
  if (status == cudaSuccess)
    status = cudaGraphAddNode(node, graph, after, data, count, &params);
  if (status == cudaSuccess)
    *body = params.conditional.phGraph_out[0];
  return status;
}

/* The same, and what is captured from now on comes behind it. */
static cudaError_t append_node(cudaStream_t stream, enum cudaGraphConditionalNodeType type,
                               cudaGraphConditionalHandle handle, cudaGraph_t *body) {
  cudaGraphNode_t node;
  cudaError_t status = add_node(stream, type, handle, NULL, &node, body);
  return status == cudaSuccess
             ? cudaStreamUpdateCaptureDependencies(stream, &node, NULL, 1, cudaStreamSetCaptureDependencies)
             : status;
}

static cudaError_t begin_body(cudaStream_t stream, cudaGraph_t body) {
  return cudaStreamBeginCaptureToGraph(stream, body, NULL, NULL, 0, cudaStreamCaptureModeRelaxed);
}

static cudaError_t end_body(cudaStream_t stream, cudaError_t status) {
  cudaGraph_t body;
  cudaError_t ended = cudaStreamEndCapture(stream, &body);
  return status == cudaSuccess ? ended : status;
}

struct region_nodes {
  cudaGraphConditionalHandle handle[2]; /* of what runs beside others; of the rest */
  cudaGraphNode_t beside;
};

/* Launches with regions among them, on their way into a graph. */
struct stretch {
  const struct cuda_device *device;
  const struct launch_queue *queue;
  const struct recording *r;
  const struct plan_region *regions;
  int count;
  struct region_nodes *nodes;
  cudaGraphNode_t last; /* of those that run beside others: they come after each other; NULL: none yet */
};

/* Has the GPU decide on all nodes. */
static cudaError_t decide(const struct stretch *s) {
  struct decisions decisions = {0};
  cudaError_t status = cudaSuccess;
  for (int i = 0; status == cudaSuccess && i < 2 * s->count; i++) {
    const struct plan_region *region = &s->regions[i / 2];
    cudaGraphConditionalHandle *handle = &s->nodes[i / 2].handle[i % 2];
    if (i % 2 == 0 && !region->meet)
      continue;
    status = make_handle(s->queue->stream, 0, handle);
    decisions.when[decisions.count] = region->when;
    decisions.node[decisions.count++] = *handle;
    if (status == cudaSuccess && (decisions.count == DECISIONS_MAX || i == 2 * s->count - 1)) {
      status = launch_decide(s->queue, s->r->program->block, &decisions);
      decisions.count = 0;
    }
  }
  return status;
}

static cudaError_t capture_body(const struct stretch *s, cudaGraph_t body, int first, int end) {
  struct launch_queue inside = *s->queue;
  inside.stream = s->device->preparing.region_body;
  cudaError_t status = begin_body(inside.stream, body);
  return status == cudaSuccess
             ? end_body(inside.stream, launches_enqueue(s->device, &inside, s->r->launches, first, end))
             : status;
}

/* What a region runs beside what is captured next. */
static cudaError_t capture_beside(struct stretch *s, int i) {
  struct region_nodes *nodes = &s->nodes[i];
  cudaGraph_t body;
  cudaError_t status =
      add_node(s->queue->stream, cudaGraphCondTypeIf, nodes->handle[0], s->last, &nodes->beside, &body);
  s->last = nodes->beside;
  return status == cudaSuccess ? capture_body(s, body, s->regions[i].first, s->regions[i].meet) : status;
}

/* Launches [first, end), of which none is a region's. */
static cudaError_t capture_plain(struct stretch *s, int first, int end) {
  cudaError_t status = cudaSuccess;
  for (int at = first; status == cudaSuccess && at < end; at++) {
    for (int i = 0; status == cudaSuccess && i < s->count; i++)
      if (s->regions[i].meet && s->regions[i].beside == at)
        status = capture_beside(s, i);
    if (status == cudaSuccess)
      status = launch_enqueue(s->device, s->queue, &s->r->launches->list[at]);
  }
  return status;
}

/* The rest of a region. */
static cudaError_t capture_region(const struct stretch *s, int i) {
  const struct plan_region *region = &s->regions[i];
  struct region_nodes *nodes = &s->nodes[i];
  int first = region->meet ? region->meet : region->first;
  cudaGraph_t body;
  cudaError_t status = cudaSuccess;
  if (region->meet)
    status = cudaStreamUpdateCaptureDependencies(s->queue->stream, &nodes->beside, NULL, 1,
                                                 cudaStreamAddCaptureDependencies);
  if (status == cudaSuccess)
    status = append_node(s->queue->stream, cudaGraphCondTypeIf, nodes->handle[1], &body);
  return status == cudaSuccess ? capture_body(s, body, first, region->end) : status;
}

static cudaError_t capture_stretch(struct stretch *s, int first, int end) {
  s->nodes = calloc((size_t)s->count, sizeof *s->nodes);
  cudaError_t status = s->nodes ? decide(s) : cudaErrorMemoryAllocation;
  for (int i = 0; status == cudaSuccess && i < s->count; first = s->regions[i++].end) {
    status = capture_plain(s, first, s->regions[i].first);
    if (status == cudaSuccess)
      status = capture_region(s, i);
  }
  if (status == cudaSuccess)
    status = capture_plain(s, first, end);
  free(s->nodes);
  return status;
}

/* Without a graph: the host decides. */
static cudaError_t enqueue_stretch(const struct stretch *s, int first, int end, int iteration) {
  const struct recording *r = s->r;
  cudaError_t status = cudaSuccess;
  for (int i = 0; status == cudaSuccess && i < s->count; first = s->regions[i++].end) {
    status = launches_enqueue(s->device, s->queue, r->launches, first, s->regions[i].first);
    if (status == cudaSuccess && region_runs(&s->regions[i].when, r->params, iteration))
      status = launches_enqueue(s->device, s->queue, r->launches, s->regions[i].first, s->regions[i].end);
  }
  return status == cudaSuccess ? launches_enqueue(s->device, s->queue, r->launches, first, end) : status;
}

/* Launches [first, end), which no region goes beyond. */
static cudaError_t launch_stretch(const struct cuda_device *device, const struct launch_queue *queue,
                                  const struct recording *r, int first, int end, int iteration) {
  const struct plan_region *regions = r->program->regions;
  int all = r->program->base.plan->region_count, i = 0, count = 0;
  while (i < all && regions[i].first < first)
    i++;
  while (i + count < all && regions[i + count].first < end)
    count++;
  struct stretch s = {.device = device, .queue = queue, .r = r, .regions = regions + i, .count = count};
  return device->use_graph && count ? capture_stretch(&s, first, end) : enqueue_stretch(&s, first, end, iteration);
}

static cudaError_t launch_iteration(const struct cuda_device *device, const struct launch_queue *queue,
                                    const struct recording *r, int iteration, const cudaGraphConditionalHandle *again) {
  const struct cuda_program *program = r->program;
  const struct plan_loop *loop = &program->loop;
  cudaError_t status = launch_stretch(device, queue, r, loop->first, loop->end, iteration);
  return status == cudaSuccess ? launch_next_iteration(queue, program->block, loop->iterations, again) : status;
}

/* The body says by its handle whether to go on. */
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

/* Launches of a program without a loop or regions before those of a part. */
static int part_begin(const struct recording *r, int part) {
  return r->launches->count * part / r->program->base.parts;
}

static cudaError_t record_part(struct cuda_device *device, const struct launch_queue *queue, const void *opaque) {
  const struct recording *r = opaque;
  const struct cuda_program *program = r->program;
  cudaError_t status = r->part ? cudaSuccess : launch_begin(queue, program->ring, program->block);
  if (status != cudaSuccess)
    return status;
  if (program->base.parts > 1)
    return launches_enqueue(device, queue, r->launches, part_begin(r, r->part), part_begin(r, r->part + 1));
  status = launch_stretch(device, queue, r, 0, program->loop.first, 0);
  if (status == cudaSuccess)
    status = launch_loop(device, queue, r);
  return status == cudaSuccess ? launch_stretch(device, queue, r, program->loop.end, r->launches->count, 0) : status;
}

/* --- pictures and buffers --- */

static int aligned_pitch(enum pixel_format format, int plane, int width) {
  return (frame_row_bytes(format, plane, width) + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
}

/* ITU-R BT.601, BT.709 and BT.2020 (non-constant luminance). */
static struct coding make_coding(enum pixel_format format, enum color_matrix matrix, enum color_range range) {
  static const float red[] = {[MATRIX_BT601] = 0.299f, [MATRIX_BT709] = 0.2126f, [MATRIX_BT2020] = 0.2627f};
  static const float blue[] = {[MATRIX_BT601] = 0.114f, [MATRIX_BT709] = 0.0722f, [MATRIX_BT2020] = 0.0593f};
  if (format == PIXEL_BGRA || format == PIXEL_RGBA)
    return (struct coding){.scale = {1 / 255.0f, 1 / 255.0f, 1 / 255.0f}};
  int depth = format == PIXEL_P010 ? 10 : 8;
  float unit = (float)(1 << (depth - 8)), most = (float)((1 << depth) - 1);
  bool full = range == RANGE_FULL;
  float luma = full ? most : 219 * unit, chroma = full ? most : 224 * unit;
  float r = red[matrix], b = blue[matrix], g = 1 - r - b, r_cr = 2 * (1 - r), b_cb = 2 * (1 - b);
  return (struct coding){.zero = {full ? 0 : 16 * unit, 128 * unit, 128 * unit},
                         .scale = {1 / luma, 1 / chroma, 1 / chroma},
                         .r = r,
                         .g = g,
                         .b = b,
                         .r_cr = r_cr,
                         .b_cb = b_cb,
                         .g_cb = -b_cb * b / g,
                         .g_cr = -r_cr * r / g};
}

/* Sizes and pitches of a picture whose planes follow each other; bytes in all. */
static size_t picture_layout(struct planes *picture, enum pixel_format format, int width, int height, uint8_t *memory) {
  size_t used = 0;
  picture->format = format;
  picture->width = width;
  picture->height = height;
  for (int i = 0; i < 3; i++) {
    bool there = i < frame_planes(format);
    picture->plane[i] = there ? memory + used : NULL;
    picture->pitch[i] = there ? aligned_pitch(format, i, width) : 0;
    if (there)
      used += (size_t)picture->pitch[i] * (size_t)frame_rows(format, i, height);
  }
  return used;
}

static int output_create(struct cuda_device *device, struct cuda_program *program, enum pixel_format format, int width,
                         int height, struct error *err) {
  program->output_bytes = picture_layout(&program->output[0], format, width, height, NULL);
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    struct planes *picture = &program->output[i];
    void *memory;
    if (cuda_alloc(device, &memory, program->output_bytes, "the output pictures", err) < 0)
      return -1;
    picture->plane[0] = memory; /* from here on program_release frees it */
    if (cuda_check(cudaMemsetAsync(memory, 0, program->output_bytes, device->preparing.queue.stream),
                   "the output pictures", err) < 0) /* rows' padding */
      return -1;
    picture_layout(picture, format, width, height, memory);
    picture->matrix = MATRIX_BT709;
    picture->range = RANGE_LIMITED;
    picture->coding = make_coding(format, MATRIX_BT709, RANGE_LIMITED);
  }
  return 0;
}

static void buffers_free(struct cuda_device *device, struct cuda_program *program) {
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    struct run_buffer *buffer = &program->buffer[i];
    if (buffer->host)
      cudaFreeHost(buffer->host);
    cuda_free(device, buffer->device, program->buffer_bytes);
    buffer->host = buffer->device = NULL;
  }
  program->buffer_bytes = 0;
}

int program_set_turn(cudaStream_t stream, struct cuda_program *program, const char *doing, struct error *err) {
  struct run_ring ring = {.turn = program->base.submitted};
  for (int i = 0; i < RUNS_IN_FLIGHT; i++)
    ring.buffer[i] = program->buffer[i].device;
  return memory_copy(stream, program->ring, &ring, sizeof ring, doing, err);
}

/* Makes the buffers hold `bytes`, which only a larger frame than ever before needs, and tells the device where they
 * are. The stream is the one that the program is on: the preparation's, then that of runs. After a failure there are no
 * buffers, and the next frame tries again. */
static int buffers_grow(struct cuda_device *device, cudaStream_t stream, struct cuda_program *program, size_t bytes,
                        struct error *err) {
  if (bytes <= program->buffer_bytes)
    return 0;
  if (cuda_check(cudaStreamSynchronize(stream), "making room for larger frames", err) < 0)
    return -1;
  buffers_free(device, program);
  program->buffer_bytes = bytes;
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    struct run_buffer *buffer = &program->buffer[i];
    if (cuda_alloc(device, (void **)&buffer->device, bytes, "input frames", err) < 0 ||
        cuda_check(cudaHostAlloc((void **)&buffer->host, bytes, cudaHostAllocDefault), "pinned memory", err) < 0)
      goto fail;
  }
  if (program_set_turn(stream, program, "input frames", err) == 0)
    return 0;
fail:
  buffers_free(device, program);
  return -1;
}

static int buffers_create(struct cuda_device *device, struct cuda_program *program, struct error *err) {
  void *memory;
  if (cuda_alloc(device, &memory, PLANES_OFFSET + sizeof(struct run_ring), "run parameters", err) < 0)
    return -1;
  program->block = memory;
  program->ring = (struct run_ring *)((char *)memory + PLANES_OFFSET);
  if (cuda_check(cudaMemsetAsync(memory, 0, PLANES_OFFSET, device->preparing.queue.stream), "run parameters", err) < 0)
    return -1; /* trials read them before a run brings any */
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    struct run_buffer *buffer = &program->buffer[i];
    unsigned flags = device->stamps ? cudaEventDefault : cudaEventDisableTiming;
    if (cuda_check(cudaEventCreateWithFlags(&buffer->uploading, flags), "event", err) < 0 ||
        cuda_check(cudaEventCreateWithFlags(&buffer->uploaded, flags), "event", err) < 0 ||
        cuda_check(cudaEventCreate(&buffer->begun), "event", err) < 0 ||
        cuda_check(cudaEventCreate(&buffer->computed), "event", err) < 0 ||
        cuda_check(cudaEventCreateWithFlags(&buffer->downloaded, flags), "event", err) < 0)
      return -1;
  }
  return buffers_grow(device, device->preparing.queue.stream, program, PLANES_OFFSET, err);
}

/* --- prepare, release --- */

/* Whether a temporary is made by what runs beside other ops. */
static bool is_beside(const struct plan *plan, int temporary) {
  return plan_is_beside(plan, plan->temporaries[temporary].first);
}

/* Of what a region makes beside other ops and reads after them, whatever may run meanwhile leaves alone: the op up to
 * which that is. */
static int find_last(const struct plan *plan, const struct temporary *t) {
  const struct plan_region *own = plan_region_of(plan, t->first);
  int last = t->last;
  for (int i = 0; last >= own->meet && i < plan->region_count; i++)
    if (plan->regions[i].meet && plan->regions[i].beside < own->end && plan->regions[i].end > last)
      last = plan->regions[i].end - 1;
  return last;
}

/* Those of one lane, one beside the other as the launches need them; the bytes they take. */
static size_t lay_out_lane(const struct cuda_program *program, const struct plan *plan, int lane, size_t *offset) {
  struct plan seen = *plan;
  size_t bytes = (size_t)plan->temporary_count * sizeof *plan->temporaries;
  seen.temporaries = malloc(bytes + 1);
  if (!seen.temporaries)
    return SIZE_MAX;
  memcpy(seen.temporaries, plan->temporaries, bytes);
  fusions_lifetimes(program, seen.temporaries);
  for (int i = 0; i < plan->temporary_count; i++) {
    bool beside = is_beside(plan, i);
    if (beside != (lane == 1))
      seen.temporaries[i].n = 0;
    else if (beside)
      seen.temporaries[i].last = find_last(plan, &seen.temporaries[i]);
  }
  size_t total = plan_layout(&seen, program->element, 256, offset);
  free(seen.temporaries);
  return total;
}

static size_t lay_out(const struct cuda_program *program, const struct plan *plan) {
  size_t *beside = malloc(((size_t)plan->temporary_count + 1) * sizeof *beside);
  size_t first = lay_out_lane(program, plan, 0, program->offset);
  size_t second = beside && program->lanes > 1 ? lay_out_lane(program, plan, 1, beside) : 0;
  bool failed = !beside || first == SIZE_MAX || second == SIZE_MAX;
  for (int i = 0; !failed && program->lanes > 1 && i < plan->temporary_count; i++)
    if (is_beside(plan, i))
      program->offset[i] = first + beside[i];
  free(beside);
  return failed ? SIZE_MAX : first + second;
}

/* One more where ops may run beside others. */
static int lanes_open(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                      struct error *err) {
  program->lanes = 1;
  for (int i = 0; i < plan->region_count; i++)
    if (plan->regions[i].meet)
      program->lanes = 2;
  if (program->lanes == 1)
    return 0;
  pthread_mutex_lock(&device->base.weights);
  int status = cuda_open_lane(device, &device->lane[1], device->preparing.queue.stream, err);
  pthread_mutex_unlock(&device->base.weights);
  return status;
}

static int memory_create(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                         bool own_memory, struct error *err) {
  program->offset = malloc(((size_t)plan->temporary_count + 1) * sizeof *program->offset);
  if (!program->offset)
    return error_set(err, STATUS_FAILED, "out of memory");
  size_t most[SCRATCH_AREAS] = {0};
  if (lanes_open(device, program, plan, err) < 0)
    return -1;
  program->arena_bytes = lay_out(program, plan);
  if (program->arena_bytes == SIZE_MAX)
    return error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0; i < plan->op_count; i++) {
    size_t bytes[SCRATCH_AREAS];
    op_scratch(device, program, &plan->ops[i], bytes);
    for (int j = 0; j < SCRATCH_AREAS; j++)
      most[j] = bytes[j] > most[j] ? bytes[j] : most[j];
  }
  for (int j = 0; j < SCRATCH_AREAS; j++) {
    program->scratch_at[j] = program->scratch_bytes;
    program->scratch_bytes += (most[j] + 255) / 256 * 256;
  }
  program->arena_bytes += 256; /* never empty, and a multiple of that */
  program->scratch_bytes += 256;
  size_t bytes = program->arena_bytes + (size_t)program->lanes * program->scratch_bytes;
  if (arena_take(&device->arena, &program->working, bytes, own_memory, err) < 0)
    return -1;
  program->arena = program->working.data;
  program->scratch = (char *)program->arena + program->arena_bytes;
  return 0;
}

/* Candidates are timed for what runs every frame. */
static double choose_tune_until(const struct cuda_device *device, const struct cuda_program *program) {
  if (!program->has_output && !device->tune_always)
    return 0;
  return device->running ? clock_seconds() + tune_running_s : INFINITY;
}

static int outputs_create(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                          enum pixel_format output, struct error *err) {
  for (int i = 0; i < plan->op_count; i++) {
    const struct op *op = &plan->ops[i];
    if (op->type == OP_PIXELS_OUT) {
      program->has_output = true;
      if (output_create(device, program, output, op->pixels_out.x.w, op->pixels_out.x.h, err) < 0)
        return -1;
    }
  }
  return 0;
}

/* Where regions are among the launches: what is at op number `op`, which comes next; what ends before it. */
static void regions_begin(struct cuda_program *program, const struct plan *plan, int op) {
  for (int i = 0; i < plan->region_count; i++) {
    struct plan_region *region = &program->regions[i];
    int count = program->launches.count;
    region->when = plan->regions[i].when;
    if (plan->regions[i].beside == op)
      region->beside = count;
    if (plan->regions[i].first == op)
      region->first = count;
    if (plan->regions[i].meet && plan->regions[i].meet == op)
      region->meet = count;
  }
}

static void regions_end(struct cuda_program *program, const struct plan *plan, int op) {
  for (int i = 0; i < plan->region_count; i++)
    if (plan->regions[i].end == op)
      program->regions[i].end = program->launches.count;
}

static int launches_create(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                           struct error *err) {
  program->tune_until = choose_tune_until(device, program);
  program->loop.iterations = plan->loop.iterations;
  if (!program->regions)
    program->regions = calloc((size_t)plan->region_count + 1, sizeof *program->regions);
  if (!program->regions)
    return error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0, ops; i < plan->op_count; i += ops) {
    bool fused = program->fused[i].count > 0;
    ops = fused ? program->fused[i].count : 1;
    if (i == plan->loop.first)
      program->loop.first = program->launches.count;
    regions_begin(program, plan, i);
    program->lane = plan_is_beside(plan, i);
    pthread_mutex_lock(&device->base.weights);
    int status = fused ? fused_prepare(device, program, i, err) : op_prepare(device, program, plan, i, err);
    pthread_mutex_unlock(&device->base.weights);
    if (status < 0)
      return -1;
    if (i + ops == plan->loop.end)
      program->loop.end = program->launches.count;
    regions_end(program, plan, i + ops);
  }
  tuner_save(device->tuner, device->log);
  return 0;
}

/* Whether it reads a weight that is in two sets. */
static bool reads_adapted(const struct plan *plan) {
  for (int i = 0; i < plan->op_count; i++) {
    struct tensor list[OPERANDS_MAX];
    int count = op_tensors(&plan->ops[i], OPERAND_READ, list);
    for (int j = 0; j < count; j++)
      if (list[j].space == TENSOR_RESOURCE && plan->resources->list[list[j].index].adapted)
        return true;
  }
  return false;
}

/* The launches once more, by the same choices, with the other set's weights. */
static int other_create(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                        struct error *err) {
  if (!device->merge || !reads_adapted(plan))
    return 0;
  const struct launches first = program->launches;
  program->launches = (struct launches){0};
  program->set = 1;
  int status = launches_create(device, program, plan, err);
  program->set = 0;
  program->other_launches = program->launches;
  program->launches = first;
  program->doubled = true;
  return status;
}

static int graphs_create(struct cuda_device *device, struct cuda_program *program, const struct launches *launches,
                         cudaGraphExec_t graph[PARTS_MAX], struct error *err) {
  const struct launch_queue *queue = &device->preparing.queue;
  for (int part = 0; device->use_graph && part < program->base.parts; part++) {
    const struct recording recording = {program, launches, part, NULL};
    graph[part] = graph_capture(device, queue, record_part, &recording, err);
    if (!graph[part] || cuda_check(cudaGraphUpload(graph[part], queue->stream), "the graph", err) < 0)
      return -1;
  }
  return 0;
}

/* Waits for what the preparation has started: its program can run, or be freed, as its trials' memory is. */
static int preparing_settle(struct cuda_device *device, struct error *err) {
  struct preparing *p = &device->preparing;
  cudaError_t trials = cudaStreamSynchronize(p->queue.stream),
              loads = cudaStreamSynchronize(device->loads.queue.stream);
  cuda_free(device, p->memory, p->bytes);
  p->memory = NULL;
  p->cramped = false;
  return cuda_check(trials == cudaSuccess ? loads : trials, "preparing", err);
}

static int create(struct cuda_device *device, struct cuda_program *program, const struct program_options *options,
                  struct error *err) {
  const struct plan *plan = program->base.plan;
  const struct cuda_program *owner = options->owner ? cuda_program(options->owner) : NULL;
  if (elements_choose(program, owner, err) < 0 || fusions_find(device, program, err) < 0 ||
      states_create(device, program, owner, err) < 0 ||
      memory_create(device, program, plan, options->own_memory, err) < 0 || buffers_create(device, program, err) < 0 ||
      outputs_create(device, program, plan, options->output, err) < 0 ||
      launches_create(device, program, plan, err) < 0 || other_create(device, program, plan, err) < 0)
    return -1;
  program->base.parts = !plan_is_straight(plan) || options->parts < 1 ? 1
                        : options->parts < PARTS_MAX                  ? options->parts
                                                                      : PARTS_MAX;
  if (graphs_create(device, program, &program->launches, program->graph, err) < 0 ||
      (program->doubled && graphs_create(device, program, &program->other_launches, program->other_graph, err) < 0))
    return -1;
  return preparing_settle(device, err);
}

/* Nothing is at work on it. */
static void program_free(struct cuda_device *device, struct cuda_program *program) {
  for (int i = 0; i < PARTS_MAX; i++) {
    if (program->graph[i])
      cudaGraphExecDestroy(program->graph[i]);
    if (program->other_graph[i])
      cudaGraphExecDestroy(program->other_graph[i]);
  }
  launches_free(&program->launches);
  launches_free(&program->other_launches);
  free(program->chosen);
  free(program->regions);
  buffers_free(device, program);
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    const struct run_buffer *buffer = &program->buffer[i];
    cudaEvent_t events[] = {buffer->uploading, buffer->uploaded, buffer->begun, buffer->computed, buffer->downloaded};
    for (int j = 0; j < 5; j++)
      if (events[j])
        cudaEventDestroy(events[j]);
  }
  for (int i = 0; i < RUNS_IN_FLIGHT; i++)
    cuda_free(device, program->output[i].plane[0], program->output_bytes);
  cuda_free(device, program->block, PLANES_OFFSET + sizeof(struct run_ring));
  arena_give(&device->arena, &program->working);
  states_free(device, program);
  free(program->offset);
  free(program->fused);
  free(program);
}

int program_prepare(struct device *base, struct program **out, const struct plan *plan,
                    const struct program_options *options, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = calloc(1, sizeof *program);
  if (!program)
    return error_set(err, STATUS_FAILED, "out of memory");
  program->base.plan = plan;
  pthread_mutex_lock(&device->preparing.lock);
  int status = create(device, program, options, err);
  if (status < 0) {
    preparing_settle(device, NULL);
    program_free(device, program);
  }
  cuda_pool_trim(device);
  pthread_mutex_unlock(&device->preparing.lock);
  *out = status < 0 ? NULL : &program->base;
  return status;
}

void program_release(struct device *base, struct program *program) {
  struct cuda_device *device = cuda_enter(base);
  cudaStreamSynchronize(device->upload);
  cudaStreamSynchronize(device->queue.stream);
  cudaStreamSynchronize(device->download);
  if (cuda_program(program)->has_output)
    device->pictures_in_flight -= program_in_flight(program);
  pthread_mutex_lock(&device->preparing.lock);
  program_free(device, cuda_program(program));
  cuda_pool_trim(device);
  pthread_mutex_unlock(&device->preparing.lock);
}

/* --- runs --- */

static void copy_plane(uint8_t *to, int to_pitch, const uint8_t *from, int from_pitch, int bytes, int rows) {
  if (to_pitch == from_pitch) {
    memcpy(to, from, (size_t)to_pitch * (size_t)(rows - 1) + (size_t)bytes);
    return;
  }
  for (int y = 0; y < rows; y++)
    memcpy(to + (size_t)y * (size_t)to_pitch, from + (size_t)y * (size_t)from_pitch, (size_t)bytes);
}

/* Room for a run's frames. A later one may be small now and large as the others in the next run. */
static int grow_for(struct cuda_device *device, struct cuda_program *program, const struct frame *frames,
                    struct error *err) {
  size_t sum = 0, most = 0;
  for (int i = 0; i < program->base.sources; i++) {
    struct planes planes;
    size_t bytes = picture_layout(&planes, frames[i].format, frames[i].width, frames[i].height, NULL);
    sum += bytes;
    most = bytes > most ? bytes : most;
  }
  most *= (size_t)program->base.sources;
  return buffers_grow(device, device->queue.stream, program, PLANES_OFFSET + (most > sum ? most : sum), err);
}

/* Copies a frame's planes into the pinned buffer, `at` bytes from its beginning, and describes them as they will be on
 * the device. Returns where they end. */
static size_t fill_planes(const struct run_buffer *buffer, size_t at, const struct frame *frame, struct planes *input) {
  uint8_t *host = (uint8_t *)buffer->host, *to = (uint8_t *)buffer->device;
  size_t bytes = picture_layout(input, frame->format, frame->width, frame->height, to + at);
  input->matrix = frame->matrix;
  input->range = frame->range;
  input->coding = make_coding(frame->format, frame->matrix, frame->range);
  for (int i = 0; i < frame_planes(frame->format); i++)
    copy_plane(host + (input->plane[i] - to), input->pitch[i], frame->plane[i], frame->pitch[i],
               frame_row_bytes(frame->format, i, frame->width), frame_rows(frame->format, i, frame->height));
  return at + bytes;
}

/* Fills the pinned buffer: parameters, then the frames' planes. Returns the bytes to upload, 0 with err set on failure.
 */
static size_t fill_buffer(struct cuda_device *device, struct cuda_program *program, struct run_buffer *buffer,
                          const struct run_params *params, const struct frame *frames, struct error *err) {
  size_t bytes = PLANES_OFFSET;
  if (program->base.sources && grow_for(device, program, frames, err) < 0)
    return 0;
  for (int i = 0; i < program->base.sources; i++)
    if (frames[i].width > 0)
      bytes = fill_planes(buffer, bytes, &frames[i], &buffer->host->input[i]);
  buffer->host->iteration = 0;
  buffer->host->run = *params;
  buffer->host->output = program->output[program->base.submitted % RUNS_IN_FLIGHT];
  return bytes;
}

/* Of launches [first, end) those that a run has without a graph. */
static int count_stretch(const struct cuda_program *program, int first, int end, const struct run_params *params,
                         int iteration) {
  int count = end - first;
  for (int i = 0; i < program->base.plan->region_count; i++) {
    const struct plan_region *region = &program->regions[i];
    if (region->first >= first && region->end <= end && !region_runs(&region->when, params, iteration))
      count -= region->end - region->first;
  }
  return count;
}

/* Launches of a run without a graph: its beginning, the program's, and one at the end of each iteration. */
static int count_launches(const struct cuda_program *program, const struct run_params *params) {
  const struct plan_loop *loop = &program->loop;
  int count = 1 + count_stretch(program, 0, loop->first, params, 0) +
              count_stretch(program, loop->end, program->launches.count, params, 0);
  for (int i = 0; i < loop->iterations; i++)
    count += count_stretch(program, loop->first, loop->end, params, i) + 1;
  return count;
}

static cudaError_t run(struct cuda_device *device, struct cuda_program *program, int part, int set) {
  bool other = set && program->doubled;
  cudaGraphExec_t graph = other ? program->other_graph[part] : program->graph[part];
  const struct run_params *params = &program->buffer[program->base.submitted % RUNS_IN_FLIGHT].host->run;
  const struct recording recording = {program, other ? &program->other_launches : &program->launches, part, params};
  if (graph) {
    device->counters.launches++;
    return cudaGraphLaunch(graph, device->queue.stream);
  }
  if (part == 0)
    device->counters.launches += count_launches(program, params);
  return record_part(device, &device->queue, &recording);
}

/* Relates the GPU's clock to the host's; the error is at most half of what the two calls take. The clocks drift apart
 * by some microseconds a second, so this is done again now and then, when nothing is in flight. */
static int set_origin(struct cuda_device *device, const struct cuda_program *program, struct error *err) {
  static const char doing[] = "the trace's clock";
  double begin = clock_seconds();
  bool recent = begin - 1e-9 * (double)device->origin_ns < origin_seconds;
  if (device->origin && (recent || program->base.submitted != program->base.collected))
    return 0;
  if (!device->origin && cuda_check(cudaEventCreate(&device->origin), doing, err) < 0)
    return -1;
  begin = clock_seconds();
  if (cuda_check(cudaEventRecord(device->origin, device->queue.stream), doing, err) < 0 ||
      cuda_check(cudaEventSynchronize(device->origin), doing, err) < 0)
    return -1;
  device->origin_ns = (int64_t)((begin + clock_seconds()) / 2 * 1e9);
  return 0;
}

/* 0 for an event that was not recorded. */
static int64_t stamp(const struct cuda_device *device, cudaEvent_t event) {
  float milliseconds;
  if (cudaEventElapsedTime(&milliseconds, device->origin, event) == cudaSuccess)
    return device->origin_ns + (int64_t)((double)milliseconds * 1e6);
  cudaGetLastError();
  return 0;
}

static struct run_stamps take_stamps(const struct cuda_device *device, const struct cuda_program *program,
                                     const struct run_buffer *buffer) {
  return (struct run_stamps){.upload_ns = stamp(device, buffer->uploading),
                             .uploaded_ns = stamp(device, buffer->uploaded),
                             .begun_ns = stamp(device, buffer->begun),
                             .computed_ns = stamp(device, buffer->computed),
                             .downloaded_ns = program->has_output ? stamp(device, buffer->downloaded) : 0};
}

/* Parameters and frame on their way up. */
static int start_upload(struct cuda_device *device, struct cuda_program *program, const struct run_buffer *buffer,
                        size_t bytes, struct error *err) {
  cudaStream_t compute = device->queue.stream;
  if (device->stamps && (set_origin(device, program, err) < 0 ||
                         cuda_check(cudaEventRecord(buffer->uploading, device->upload), "upload", err) < 0))
    return -1;
  if (cuda_check(cudaMemcpyAsync(buffer->device, buffer->host, bytes, cudaMemcpyHostToDevice, device->upload), "upload",
                 err) < 0 ||
      cuda_check(cudaEventRecord(buffer->uploaded, device->upload), "upload", err) < 0 ||
      cuda_check(cudaStreamWaitEvent(compute, buffer->uploaded, 0), "upload", err) < 0)
    return -1;
  return cuda_check(cudaEventRecord(buffer->begun, compute), "starting a frame", err);
}

/* That, and the launches behind it. */
static int start_launches(struct cuda_device *device, struct cuda_program *program, const struct run_buffer *buffer,
                          size_t bytes, struct error *err) {
  if (start_upload(device, program, buffer, bytes, err) < 0)
    return -1;
  for (int part = 0; part < program->base.parts; part++)
    if (cuda_check(run(device, program, part, device->set), "starting a frame", err) < 0)
      return -1;
  return cuda_check(cudaEventRecord(buffer->computed, device->queue.stream), "starting a frame", err);
}

/* The picture has the output's layout: one copy does it. */
static int start_download(const struct cuda_device *device, struct cuda_program *program,
                          const struct run_buffer *buffer, const struct frame *picture, struct error *err) {
  const struct planes *output = &program->output[program->base.submitted % RUNS_IN_FLIGHT];
  if (!program->has_output)
    return 0;
  if (cuda_check(cudaStreamWaitEvent(device->download, buffer->computed, 0), "download", err) < 0 ||
      cuda_check(cudaMemcpyAsync(frame_plane(picture, 0), output->plane[0], program->output_bytes,
                                 cudaMemcpyDeviceToHost, device->download),
                 "download", err) < 0)
    return -1;
  return cuda_check(cudaEventRecord(buffer->downloaded, device->download), "download", err);
}

int program_submit(struct device *base, struct program *program_base, const struct run_params *params,
                   const struct frame *frames, const struct frame *picture, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  struct run_buffer *buffer = &program->buffer[program->base.submitted % RUNS_IN_FLIGHT];
  device->runs++;
  if (program->has_output)
    device->running = true;
  size_t bytes = fill_buffer(device, program, buffer, params, frames, err);
  if (!bytes)
    return -1;
  if (start_launches(device, program, buffer, bytes, err) == 0 &&
      start_download(device, program, buffer, picture, err) == 0) {
    device->pictures_in_flight += program->has_output;
    return 0;
  }
  /* If the launches were started, they have passed the turn on. It becomes this run's again. */
  program_set_turn(device->queue.stream, program, "after a failure", NULL);
  return -1;
}

/* The buffer stays the run's until its last part was started. */
int program_start_part(struct device *base, struct program *program_base, const struct run_params *params, int part,
                       bool merged, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  struct run_buffer *buffer = &program->buffer[program_base->submitted % RUNS_IN_FLIGHT];
  int set = merged ? !device->set : device->set;
  size_t bytes = part ? 0 : fill_buffer(device, program, buffer, params, NULL, err);
  if ((part == 0 && (!bytes || start_upload(device, program, buffer, bytes, err) < 0)) ||
      cuda_check(run(device, program, part, set), "starting a part", err) < 0)
    return -1;
  if (part < program_base->parts - 1)
    return 0;
  return cuda_check(cudaEventRecord(buffer->computed, device->queue.stream), "starting a part", err);
}

int program_collect(struct device *base, struct program *program_base, struct error *err) {
  static const char stopped[] = "the GPU stopped in the middle of a frame";
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  const struct run_buffer *buffer = &program->buffer[program_base->collected % RUNS_IN_FLIGHT];
  float milliseconds;
  device->counters.waits++;
  device->pictures_in_flight -= program->has_output;
  if (cuda_check(cudaEventSynchronize(program->has_output ? buffer->downloaded : buffer->computed), stopped, err) < 0 ||
      cuda_check(cudaEventElapsedTime(&milliseconds, buffer->begun, buffer->computed), stopped, err) < 0)
    return -1;
  device->counters.run_ms = (double)milliseconds;
  if (device->stamps)
    device->counters.stamps = take_stamps(device, program, buffer);
  return 0;
}

int program_poison(struct device *base, struct program *program_base, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  /* All bits set is a quiet NaN in FP16 and in FP32. */
  cudaStream_t stream = device->queue.stream;
  if (cuda_check(cudaMemsetAsync(program->arena, 0xff, program->arena_bytes, stream), "poisoning", err) < 0)
    return -1;
  return cuda_check(cudaMemsetAsync(program->scratch, 0xff, (size_t)program->lanes * program->scratch_bytes, stream),
                    "poisoning", err);
}
