/* A program is a prepared plan: its memory, its launches, and the buffers of its runs. ops.c creates the launches,
 * buffers.c allocates the memory of runs, recording.c enqueues or captures the launches, graph.c prepares a program,
 * and runs.c runs it. */
#ifndef CUDA_PROGRAM_H
#define CUDA_PROGRAM_H

#include "cuda/kernels/transfer.h"
#include "cuda/launches.h"

/* SCRATCH_AREAS: number of areas of scratch memory that an op may use (ways/way.h). PARTS_MAX: largest number of parts
 * in which a run can be started. */
enum { SCRATCH_AREAS = 3, PARTS_MAX = 16 };

/* A program's launches as CUDA graphs. A run may be started in several parts, one after the other; without[i][part] is
 * the graph of part number `part`, for runs that leave out the groups of ops whose bits are set in i (IDLE_CONTROL and
 * others in unet/plan/run.h). NULL: there is no such graph; one that leaves out less is used instead or, if without[0]
 * is NULL as well, launches are enqueued one by one. exact[i][part] is the same, but only for runs that execute all
 * other ops of the plan in every iteration (run_is_exact), so that it has no conditional nodes. NULL: without[i][part]
 * has none either, or there is no such graph. */
struct graphs {
  cudaGraphExec_t without[IDLE_SETS][PARTS_MAX], exact[IDLE_SETS][PARTS_MAX];
};

/* The buffers and events of a run. A program has two, because two of its runs may be in flight. */
struct run_buffer {
  /* page-locked memory with all that tells the GPU what to do in the run: parameters, addresses, and copies to make */
  struct run_order *order;
  struct run_end *end; /* page-locked memory to which the GPU writes that the run has ended */
  /* host: page-locked memory for input planes that come from ordinary memory. device: device memory for copies of all
   * input planes that are not in the GPU's memory yet, those of `host` first. */
  uint8_t *host, *device;
  cudaEvent_t uploading, uploaded, begun, computed, downloaded;
  /* true: input planes were copied to the device for this run; false: the run reads none, or the device had them */
  bool pixels;
  int64_t submitted_ns;
  struct picture *pictures[BATCH_MAX]; /* the pictures that the run writes */
  bool on_device;                      /* true: the pictures stay in device memory and are not copied to the host */
  /* true: the download stream copies the pictures to the host, so the run has ended when the event `downloaded` is
   * reached; false: the run's last kernel copies them, or they are not copied */
  bool downloads;
};

struct buffer_room {
  size_t host, device; /* sizes in bytes of the two buffers that a run has for input planes: run_buffer.host and
                        * run_buffer.device */
};

/* A sequence of ops that one launch does together (fuse.h). There is an array with an entry for each op of the plan;
 * the sequence is described by the entry of its first op. */
struct fused {
  /* count: number of ops in the sequence that begins with this op; 0: no sequence begins with it; pattern: index in the
   * list of patterns in fuse.c */
  int count, pattern;
  /* What is prepared as a product, like an op alone: FUSED_LAYERS: two linear layers (product_fold); FUSED_SHORTCUT: a
   * linear layer and the convolution whose residual it is (product_add). FUSED_PAIR: two linear layers with a layer
   * norm between them, in one launch or as if no sequence were there, whichever is faster (ways/pair.h).
   * FUSED_FEED: a linear layer with GEGLU and two layers of which a library's product may make one (ways/feed.h).
   * FUSED_QUERY: a linear layer and the attention to a text whose queries it makes, by one launch or by one for each,
   * whichever is faster (query_prepare). FUSED_NOTHING: the launch is no product. */
  enum { FUSED_NOTHING, FUSED_LAYERS, FUSED_SHORTCUT, FUSED_PAIR, FUSED_FEED, FUSED_QUERY } product;
};

struct cuda_program {
  struct program base;
  struct fused *fused;     /* for each op of the plan: the sequence of ops, done by one launch, that begins with it */
  size_t *offset;          /* for each temporary: its offset in bytes in the arena (working memory) */
  struct element *element; /* element types of the temporaries and states; plan_place gives the index */
  void **state;            /* for each state of the plan: its device address */
  /* device memory of the states that this program (prepared plan) owns; it reads other states in memory that belongs to
   * another program */
  void *states;
  size_t states_bytes;
  /* the program's part of the arena (working memory of all programs): temporaries, then scratch memory for each lane (a
   * sequence of launches, which may run in parallel to the other lane) */
  struct arena_share working;
  void *arena, *scratch;
  size_t arena_bytes, scratch_bytes;
  /* for each scratch area (working memory of one op): its offset in bytes from the beginning of a lane's scratch
   * memory */
  size_t scratch_at[SCRATCH_AREAS];
  /* number of lanes (working memory of kernels that run one after the other): 1, or 2 if some ops run in parallel to
   * others */
  int lanes;
  /* device memory to which the order of a run (parameters, addresses, copies) is copied when the run begins */
  struct run_order *order;
  struct run_block *block; /* parameters and addresses of the present run, which the launches read; part of *order */
  struct run_ring *ring;
  /* page-locked memory: for each run, what the GPU must do (struct run_order), and what it writes when the run has
   * ended */
  struct run_pins *pins;
  struct run_buffer buffer[RUNS_IN_FLIGHT];
  struct buffer_room room; /* sizes of the buffers for input planes; the same for each run */
  bool has_output;
  /* Time, in seconds of CLOCK_MONOTONIC, until which implementations of products may be timed for this program. 0:
   * nothing is timed, and earlier measurements are not used either. */
  double tune_until;
  struct planes output; /* layout of the pictures that runs write, without addresses */
  size_t output_bytes;
  struct durations durations; /* durations of the last runs, from which a waiting thread plans its sleep */
  struct launches launches;
  struct plan_loop loop; /* the plan's loop, with numbers of launches instead of ops in `first` and `end` */
  /* the plan's regions (ops that a run may skip), with numbers of launches instead of ops in `first` and `end` */
  struct plan_region *regions;
  struct graphs graphs;
  /* true: other_launches and other_graphs are copies of launches and graphs for the second set of weights, which
   * adapters change (weight_merges.h); false: the plan reads no weights that are in two sets */
  bool doubled;
  struct launches other_launches;
  struct graphs other_graphs;
  /* used while launches are created: the set of weights that they read, and the lane (working memory) that they use */
  int set, lane;
  /* for each op: the implementation that was chosen for `launches`. `other_launches`, the copy for the second set of
   * weights, must use the same. NULL: no op has one yet */
  struct choice *chosen;
};

static inline struct cuda_program *cuda_program(struct program *program) {
  return (struct cuda_program *)program;
}

/* Returns the parameters of the run that is started next, in the run's buffer. */
const struct run_params *program_next_params(const struct cuda_program *program);
/* Returns the graph for one part of the next run. Of all graphs for it, this one leaves out most of what the run does
 * not need, and has no conditional nodes if the run needs none. NULL: launches are enqueued one by one. other: true if
 * the graph must read the second set of weights. */
cudaGraphExec_t program_graph(const struct cuda_program *program, int part, bool other);

/* Returns the address of a scratch area (working memory of one op) for the launch that is being created. Launches that
 * may run in parallel are in different lanes, each of which has scratch areas of its own. */
static inline void *program_scratch(const struct cuda_program *program, int area) {
  return (char *)program->scratch + (size_t)program->lane * program->scratch_bytes + program->scratch_at[area];
}

/* Chooses the element types of all temporaries and states. owner: a program with which this one shares states of the
 * same names, which keep their types; NULL: there is none. Returns 0, or -1 with err if memory is short. */
int elements_choose(struct cuda_program *program, const struct cuda_program *owner, struct error *err);
/* Allocates the plan's states, and zeroes them on the stream of struct preparing. owner: a program whose states of the
 * same names are used instead; NULL: there is none. */
int states_create(struct cuda_device *device, struct cuda_program *program, const struct cuda_program *owner,
                  struct error *err);
/* Frees the states that the program owns, and the lists of addresses and element types. */
void states_free(struct cuda_device *device, struct cuda_program *program);
/* Returns the element type of any tensor of the program. The type of a resource (a weight or another tensor that plans
 * share) follows from its shape. */
struct element tensor_element(const struct cuda_program *program, struct tensor tensor);

/* Returns the device address of a tensor's first element, and stores its type in *element. If the tensor is a resource
 * (a weight or another tensor that plans share), it is loaded first. Returns NULL with err set on failure. */
void *tensor_data(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                  struct element *element, enum role role, struct error *err);
/* Returns a tensor's device address as tensor_data does, for a kernel that takes only elements of this type. Fails for
 * a tensor of another type. */
void *tensor_data_as(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                     enum dtype type, enum role role, struct error *err);
/* Returns a tensor's device address as tensor_data does, for a kernel that can read the tensor in FP32 or in FP16.
 * Stores in *type which of the two types it has. */
void *tensor_data_either(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                         enum dtype *type, struct error *err);

#endif
