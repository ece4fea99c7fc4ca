/* The inside of the CPU device: the structs that the functions of ops read, and the interface of these functions
 * (struct cpu_impl). There are three layers of functions: the plain definitions (cpu_definition.h), vectorised kernels
 * (cpu_fast.c), and convolutions and linear layers by oneDNN and Winograd's algorithm (cpu_dnnl.c, cpu_conv.c). Each
 * layer replaces some functions of the layers before it by faster ones. "cpu:plain" uses the definitions alone. */
#ifndef UNET_CPU_CPU_DEVICE_H
#define UNET_CPU_CPU_DEVICE_H

#include "unet/plan/arena.h"
#include "unet/plan/derived.h"
#include "unet/plan/device.h"

struct cpu_program;
struct cpu_kernels;
struct cpu_dnnl;
struct cpu_tiles;

struct cpu_resource {
  float *data; /* the values, as FP32 in the layout of the device; NULL: they were not needed so far */
  size_t bytes;
};

/* Memory for one state (a tensor that keeps its values between runs) of a program's plan. */
struct cpu_state {
  unsigned char *data;
  size_t bytes; /* size of the memory in bytes; 0: the memory belongs to another program, the owner
                 * (program_options.owner) */
};

struct cpu_device {
  struct device base;

  /* The following field is constant once the device is open. */
  const struct cpu_impl *impl[OP_TYPES]; /* the functions that run ops of each type, as this device has chosen them */

  /* The entries of `resource` are filled while the lock base.weights is held. Afterwards only device_update changes
   * them. */
  /* memory of each resource (a weight or another tensor that plans share), at its index in resources.list;
   * RESOURCES_MAX entries */
  struct cpu_resource *resource;

  /* The fields `arena` and `scratch` are changed by the thread that prepares and releases programs. */
  /* arena: memory of the temporaries of all programs (prepared plans); scratch: working memory of the op that is
   * running; see plan/arena.h */
  struct arena arena, scratch;

  /* The following two fields are constant once the device is open. */
  int threads;
  bool bf16; /* true: the results of convolutions and linear layers are stored as bfloat16; false: as FP32 */

  /* The number of bytes and of allocations are protected by the lock base.memory; the thread that runs programs changes
   * the other counters. */
  struct device_counters counters;

  /* The following field is changed by the thread that prepares programs. */
  size_t picture_bytes; /* bytes in counters.bytes that belong to the pool of pictures (cpu_count_pictures) */

  /* The following four fields are constant once the device is open. */
  /* true: the device is "cpu:plain", which runs the definitions alone; false: faster functions replace some of them */
  bool plain;
  const struct cpu_kernels *kernels; /* vectorised kernels for this processor; NULL on "cpu:plain" */
  const struct cpu_tiles *tiles; /* kernels for matrix units; NULL: there are none, or the device computes in FP32 */
  /* data for calls of oneDNN; NULL: the device is "cpu:plain", or the program was built without oneDNN */
  struct cpu_dnnl *dnnl;

  /* copies of weights in the layouts that oneDNN and cpu_winograd.c need; read and changed while the lock base.weights
   * is held */
  struct derived_table derived;
  /* value of resources.version for which the copies in `derived` are up to date; only the thread that runs programs
   * reads and changes it, without a lock */
  uint64_t derived_version;

  /* The following field is constant once the device is open. */
  char detail[192]; /* the libraries and instruction sets in use, as text */
  const struct log *log;
};

/* An op of a program, with all that was prepared for running it. */
struct cpu_node {
  const struct op *op;
  const struct cpu_impl *impl;
  void *state; /* data that impl->prepare makes for this op, impl->run reads, and impl->free frees */
};

struct cpu_program {
  struct program base;

  /* The following fields are set while the program is prepared, and constant afterwards. */
  struct cpu_device *device;
  const struct plan *plan;
  /* copy of program_options.own_memory: true: temporaries have memory of their own, false: they are in the arena */
  bool own_memory;
  /* copy of program_options.picture_bytes: bytes that device.c will allocate for the pool of pictures */
  size_t picture_bytes;
  /* memory of the temporaries: what the program uses of the arena, the memory that all programs share */
  unsigned char *arena;
  size_t arena_bytes;
  struct arena_share arena_share, scratch_share;
  /* true: the results of convolutions and linear layers are stored as bfloat16; false: as FP32. It is false if the plan
   * writes states that other programs read as FP32 */
  bool bf16;
  size_t *offset; /* offset of each temporary in `arena`, in bytes */
  /* type, FP32 or bfloat16, of each temporary and state (a tensor that outlives a run), indexed by plan_place */
  struct element *element;
  struct cpu_state *state; /* memory of each of the plan's states (tensors that outlive a run) */
  struct cpu_node *nodes;
  void *scratch; /* memory that the op which is running may use for intermediate results; it belongs to scratch_share */
  size_t scratch_bytes;

  /* The following fields are changed by the thread that runs the program. */
  const struct op *failed; /* the first op that failed in the present run; NULL: none did */
  /* Memory for OP_PIXELS_IN: cpu_pixels_row floats for each thread. It grows when wider frames come; no other
   * allocation is made in a run. */
  float *rows;
  size_t rows_bytes;
};

/* The arguments of one run, which exist only while the run lasts. */
struct cpu_run {
  struct cpu_program *program;
  const struct run_params *params;
  const struct frame *frames;   /* the frames that OP_PIXELS_IN reads */
  const struct frame *pictures; /* the pictures whose planes OP_PIXELS_OUT writes */
  int iteration;                /* number of the present iteration of the plan's loop, from 0; 0 outside the loop */
  double *seconds; /* times in seconds: the time of op i is added to seconds[i]; NULL: times are not measured */
};

/* The functions that run the ops of one type. */
struct cpu_impl {
  /* Prepares an op when its program is prepared: reserves scratch with cpu_reserve and fills node->state. The weights
   * that the op reads are loaded already. NULL: there is nothing to prepare. */
  int (*prepare)(struct cpu_program *program, struct cpu_node *node, struct error *err);
  void (*run)(const struct cpu_run *run, const struct cpu_node *node); /* runs the op; must not allocate memory */
  void (*free)(struct cpu_program *program, struct cpu_node *node);    /* frees node->state; NULL: there is nothing to
                                                                        * free */
  bool takes_bf16; /* true: the operands x, x2, q, k, v, residual and y may be bfloat16; false: they must all be FP32 */
  /* true: `prepare` copies the weight to another layout, so the weight's FP32 data need not be loaded */
  bool packs_weight;
};

#endif
