/* A prepared plan: its memory, its launches, and the buffers of its runs. ops.c creates the launches, buffers.c has the
 * memory of runs, recording.c enqueues or captures launches, graph.c prepares a program, runs.c runs it. */
#ifndef CUDA_PROGRAM_H
#define CUDA_PROGRAM_H

#include "cuda/kernels/carry.h"
#include "cuda/launches.h"

/* SCRATCH_AREAS: number of areas of an op's scratch memory, which ways/way.h lists. PARTS_MAX: largest number of parts
 * of a run. */
enum { SCRATCH_AREAS = 3, PARTS_MAX = 16 };

/* A program's launches as graphs: without[i][part] is the graph of one part of a run, for runs that leave out the
 * controls and styles of set i. Sets are the idle bits of unet/plan/device.h. NULL: there is no graph for this set, and
 * a graph of a set that leaves out less is used. If without[0] is NULL as well, launches are enqueued one by one. */
struct graphs {
  cudaGraphExec_t without[IDLE_SETS][PARTS_MAX];
};

/* The buffers and events of one run. */
struct run_buffer {
  struct run_order *order; /* page-locked memory: what the GPU must do in this run */
  struct run_end *end;     /* page-locked memory: the GPU writes here when the run has ended */
  /* host: page-locked memory for input planes that come from ordinary memory. device: memory for the copies of these
   * planes, followed by copies of other planes. */
  uint8_t *host, *device;
  cudaEvent_t uploading, uploaded, begun, computed, downloaded;
  bool pixels; /* true: planes were copied to the device for this run */
  int64_t submitted_ns;
  struct picture *pictures[BATCH_MAX]; /* pictures that the run writes */
  bool on_device;                      /* true: the pictures stay in device memory and are not copied to the host */
  /* True: the download stream copies the pictures to the host, so the run has ended when the event `downloaded` has.
   * False: the run's last kernel copies them, or nothing does. */
  bool downloads;
};

struct buffer_room {
  size_t host, device; /* bytes of run_buffer's host and device */
};

/* A sequence of ops that one launch does together (fuse.h), at the index of its first op. */
struct fused {
  int count, pattern; /* number of ops, 0 if no sequence begins with this op; index in fuse.c's list of patterns */
};

struct cuda_program {
  struct program base;
  struct fused *fused;     /* for each op */
  size_t *offset;          /* offset of each temporary in the arena */
  struct element *element; /* element type of each temporary and state (index: plan_place) */
  void **state;            /* address of each of the plan's states */
  void *states;            /* memory of the states that the program owns */
  size_t states_bytes;
  struct arena_share working; /* the arena's memory for temporaries, followed by each lane's scratch */
  void *arena, *scratch;
  size_t arena_bytes, scratch_bytes;
  size_t scratch_at[SCRATCH_AREAS]; /* offset of each scratch area from the beginning of a lane's scratch */
  int lanes;               /* 1, or 2 if some regions run in parallel to other ops; each lane has scratch of its own */
  struct run_order *order; /* the copy, in device memory, of what the GPU must do in the present run */
  struct run_block *block; /* parameters of the present run, in `order`, which the launches read */
  struct run_ring *ring;
  /* page-locked memory with the orders of all runs, and where the GPU writes that a run has ended */
  struct run_pins *pins;
  struct run_buffer buffer[RUNS_IN_FLIGHT];
  struct buffer_room room; /* bytes of the buffers, the same for all runs */
  bool has_output;
  /* Implementations of products are timed until this time, in seconds of CLOCK_MONOTONIC. 0: none is timed. */
  double tune_until;
  struct planes output; /* layout of the pictures that runs write */
  size_t output_bytes;
  struct durations durations; /* times that the last runs took, by which collect plans its wait */
  struct launches launches;
  struct plan_loop loop;       /* the plan's loop, where first and end count launches instead of ops */
  struct plan_region *regions; /* the plan's regions, where first and end count launches instead of ops */
  struct graphs graphs;
  /* True: other_launches and other_graphs are those for the second set of weights, which adapters change
   * (weight_merges.h). False: the plan reads no weight that is in two sets, so that the first launches are right for
   * both. */
  bool doubled;
  struct launches other_launches;
  struct graphs other_graphs;
  int set, lane; /* the launches that are created at present are for this set of weights and this lane */
  /* For each op: the implementation that was chosen, to be used again for the launches with the other set of weights;
   * NULL: none yet. */
  struct choice *chosen;
};

static inline struct cuda_program *cuda_program(struct program *program) {
  return (struct cuda_program *)program;
}

/* Returns the graph for the next run's part, which leaves out as much of its idle controls and styles as possible;
 * NULL: launches are enqueued one by one. other: the graph for the second set of weights. */
cudaGraphExec_t program_graph(const struct cuda_program *program, int part, bool other);

/* Returns the address of a scratch area, for the lane whose launches are being created. */
static inline void *program_scratch(const struct cuda_program *program, int area) {
  return (char *)program->scratch + (size_t)program->lane * program->scratch_bytes + program->scratch_at[area];
}

/* Chooses the element types of all temporaries and states. States that `owner` (a program whose states this one shares,
 * or NULL) has as well keep their types. */
int elements_choose(struct cuda_program *program, const struct cuda_program *owner, struct error *err);
/* Creates the memory of those states that owner does not have, and takes the addresses of the others from it. The
 * memory is zeroed on the stream of struct preparing. owner may be NULL. */
int states_create(struct cuda_device *device, struct cuda_program *program, const struct cuda_program *owner,
                  struct error *err);
void states_free(struct cuda_device *device, struct cuda_program *program);
/* Returns the element type of any tensor of a program. The type of a resource follows from its shape. */
struct element tensor_element(const struct cuda_program *program, struct tensor tensor);

/* Returns the device address of a tensor's first element; NULL with err set if a resource cannot be loaded. */
void *tensor_data(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                  struct element *element, enum role role, struct error *err);
/* Returns the address, as tensor_data does, for a kernel that takes this type alone. Any other type is an error. */
void *tensor_data_as(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                     enum dtype type, enum role role, struct error *err);
/* Returns the address, as tensor_data does, for a kernel that takes FP32 and FP16. Stores the tensor's type in
 * *type. */
void *tensor_data_either(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                         enum dtype *type, struct error *err);

#endif
