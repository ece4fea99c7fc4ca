/* A prepared plan: its memory, its launches, and the buffers of its runs. ops.c creates the launches, buffers.c has the
 * memory of runs, recording.c enqueues or captures launches, graph.c prepares a program, runs.c runs it. */
#ifndef CUDA_PROGRAM_H
#define CUDA_PROGRAM_H

#include "cuda/kernels/carry.h"
#include "cuda/launches.h"

enum { SCRATCH_AREAS = 3, PARTS_MAX = 16 }; /* ways/way.h names the areas */

/* A program's launches as graphs, for each part of a run. The index is a set of idle bits (device.h): the controls and
 * styles that a graph leaves out. NULL: there is no graph for this set. If index 0 has none either, launches are
 * enqueued one by one. */
struct graphs {
  cudaGraphExec_t without[IDLE_SETS][PARTS_MAX];
};

/* The buffers and events of one run. */
struct run_buffer {
  struct run_order *order; /* pinned, like end */
  struct run_end *end;     /* written by the device */
  /* host is pinned and holds staged planes. device holds these, followed by other planes. */
  uint8_t *host, *device;
  cudaEvent_t uploading, uploaded, begun, computed, downloaded;
  bool pixels; /* true: planes were copied to the device for this run */
  int64_t submitted_ns;
  struct picture *pictures[BATCH_MAX]; /* pictures that the run writes */
  bool on_device;                      /* true: the pictures are not copied to the host */
  /* The pictures are copied to the host by the download stream, so that the run's last event is downloaded. */
  bool downloads;
};

struct buffer_room {
  size_t host, device; /* bytes of each buffer */
};

/* Ops that one launch does (fuse.h). */
struct fused {
  int count, pattern; /* count 0: the op is not fused, or not the first one */
};

struct cuda_program {
  struct program base;
  struct fused *fused;     /* for each op */
  size_t *offset;          /* offset of each temporary in the arena */
  struct element *element; /* element type of each temporary and state (index: plan_place) */
  void **state;            /* address of each of the plan's states */
  void *states;            /* memory of the states that the program owns */
  size_t states_bytes;
  struct arena_share working; /* the arena, then scratch */
  void *arena, *scratch;
  size_t arena_bytes, scratch_bytes;
  size_t scratch_at[SCRATCH_AREAS]; /* offset of each area in a lane's scratch */
  int lanes;                        /* number of lanes, each with its own scratch */
  struct run_order *order;          /* the device's copy of the present run's order */
  struct run_block *block;          /* block in that copy, which the launches read */
  struct run_ring *ring;
  struct run_pins *pins; /* orders and ends of all buffers */
  struct run_buffer buffer[RUNS_IN_FLIGHT];
  struct buffer_room room; /* size of each buffer */
  bool has_output;
  /* Candidates are timed until this time, in seconds of CLOCK_MONOTONIC. 0: none are timed. */
  double tune_until;
  struct planes output; /* layout of the pictures that runs write */
  size_t output_bytes;
  struct durations durations; /* times that its runs took, for the wait in collect */
  struct launches launches;
  struct plan_loop loop;       /* the plan's loop, in numbers of launches */
  struct plan_region *regions; /* the plan's regions, in numbers of launches */
  struct graphs graphs;
  /* The same for the other set of weights. Not used if the plan reads no weight that is in two sets. */
  bool doubled;
  struct launches other_launches;
  struct graphs other_graphs;
  int set, lane;         /* set of weights, and lane, of the launches that are being created */
  struct choice *chosen; /* choice of each op, for the other set's launches; NULL: none yet */
};

static inline struct cuda_program *cuda_program(struct program *program) {
  return (struct cuda_program *)program;
}

/* Returns the graph for the next run. */
cudaGraphExec_t program_graph(const struct cuda_program *program, int part, bool other);

/* Returns a scratch area for the launches that are being created. */
static inline void *program_scratch(const struct cuda_program *program, int area) {
  return (char *)program->scratch + (size_t)program->lane * program->scratch_bytes + program->scratch_at[area];
}

/* Chooses the element types of all temporaries and states. States that `owner` also has keep their types. */
int elements_choose(struct cuda_program *program, const struct cuda_program *owner, struct error *err);
/* Creates the memory of the states. It is zeroed on the stream of struct preparing. owner may be NULL. */
int states_create(struct cuda_device *device, struct cuda_program *program, const struct cuda_program *owner,
                  struct error *err);
void states_free(struct cuda_device *device, struct cuda_program *program);
/* Returns the element type of any tensor of a program. The type of a resource follows from its shape. */
struct element tensor_element(const struct cuda_program *program, struct tensor tensor);

/* Returns the device address of a tensor's first element; NULL with err set if a resource cannot be loaded. */
void *tensor_data(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                  struct element *element, enum role role, struct error *err);
/* Returns the address for a kernel that takes only this type; any other type is an error. */
void *tensor_data_as(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                     enum dtype type, enum role role, struct error *err);
/* Returns the address for a kernel that takes FP32 and FP16. Stores the type in *type. */
void *tensor_data_either(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                         enum dtype *type, struct error *err);

#endif
