/* A prepared plan: its memory, its launches, and the runs' ways in and out. ops.c fills the launches,
 * buffers.c has the memory of runs, recording.c puts launches on streams, graph.c prepares it all, runs.c runs. */
#ifndef CUDA_PROGRAM_H
#define CUDA_PROGRAM_H

#include "cuda/kernels/carry.h"
#include "cuda/launches.h"

enum { SCRATCH_AREAS = 3, PARTS_MAX = 16 }; /* ways/way.h says what for */

/* A program's launches as graphs, of each part: by what of them is left out, a set of idle bits (device.h). NULL: there
 * is none without all that; without nothing: one launch after the other. */
struct graphs {
  cudaGraphExec_t without[IDLE_SETS][PARTS_MAX];
};

/* A run's way to the device and back. */
struct run_buffer {
  struct run_order *order; /* pinned, as end is */
  struct run_end *end;     /* which the device writes */
  uint8_t *host, *device;  /* pinned, for planes that are staged; in the device's part other planes follow */
  cudaEvent_t uploading, uploaded, begun, computed, downloaded;
  bool pixels; /* came to the device for the run that has it */
  int64_t submitted_ns;
  struct picture *pictures[BATCH_MAX]; /* what the run writes */
  bool on_device;                      /* they stay there */
  bool downloads;                      /* they come to the host beside other runs: the last event is downloaded */
};

struct buffer_room {
  size_t host, device; /* bytes */
};

/* Ops that one launch does (fuse.h). */
struct fused {
  int count, pattern; /* count 0: the op is none or not the first of them */
};

struct cuda_program {
  struct program base;
  struct fused *fused;     /* of each op */
  size_t *offset;          /* of each temporary in the arena */
  struct element *element; /* of each temporary and state (plan_place) */
  void **state;            /* of each of the plan's states: where it is */
  void *states;            /* those that are the program's own */
  size_t states_bytes;
  struct arena_share working; /* arena, then scratch */
  void *arena, *scratch;
  size_t arena_bytes, scratch_bytes;
  size_t scratch_at[SCRATCH_AREAS]; /* in a lane's part of it */
  int lanes;                        /* with scratch of their own */
  struct run_order *order;          /* the device's copy, of the run that is at work */
  struct run_block *block;          /* of it: what the launches read */
  struct run_ring *ring;
  struct run_pins *pins; /* the buffers' orders and ends */
  struct run_buffer buffer[RUNS_IN_FLIGHT];
  struct buffer_room room; /* each of them */
  bool has_output;
  double tune_until;    /* seconds of CLOCK_MONOTONIC until which candidates are timed; 0: none are */
  struct planes output; /* as runs write it, each into its own picture */
  size_t output_bytes;
  struct durations durations; /* of its runs until what collect waits for */
  struct launches launches;
  struct plan_loop loop;       /* the plan's, as launches */
  struct plan_region *regions; /* likewise; as many as the plan has */
  struct graphs graphs;
  /* The same for the other set of weights; none where the plan reads no weight that is in two. */
  bool doubled;
  struct launches other_launches;
  struct graphs other_graphs;
  int set, lane;         /* of weights and kernels whose launches are being made */
  struct choice *chosen; /* of each op, for the other set; NULL: none yet */
};

static inline struct cuda_program *cuda_program(struct program *program) {
  return (struct cuda_program *)program;
}

/* Of the run that comes next. */
cudaGraphExec_t program_graph(const struct cuda_program *program, int part, bool other);

/* Scratch for the launches that are being made. */
static inline void *program_scratch(const struct cuda_program *program, int area) {
  return (char *)program->scratch + (size_t)program->lane * program->scratch_bytes + program->scratch_at[area];
}

/* Chooses the element types of all temporaries and states; those states that are owner's keep theirs. */
int elements_choose(struct cuda_program *program, const struct cuda_program *owner, struct error *err);
/* Memory of the states, zero once the queue of struct preparing has come so far; owner may be NULL. */
int states_create(struct cuda_device *device, struct cuda_program *program, const struct cuda_program *owner,
                  struct error *err);
void states_free(struct cuda_device *device, struct cuda_program *program);
/* The element type of any tensor of a program; a resource's follows from its shape. */
struct element tensor_element(const struct cuda_program *program, struct tensor tensor);

/* Device address of a tensor's first element; NULL with err set when a resource cannot be loaded. */
void *tensor_data(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                  struct element *element, enum role role, struct error *err);
/* The same for a kernel that takes this type alone; another type is an error. */
void *tensor_data_as(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                     enum dtype type, enum role role, struct error *err);
/* The same for a kernel that takes FP32 as well as FP16; *type gets which it is. */
void *tensor_data_either(struct cuda_device *device, const struct cuda_program *program, struct tensor tensor,
                         enum dtype *type, struct error *err);

#endif
