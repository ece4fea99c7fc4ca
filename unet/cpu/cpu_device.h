/* The inside of the CPU device: the structs that functions which run ops read, and what such a function must provide.
 *
 * There are three layers, and each replaces some functions of the one before by faster ones:
 *   cpu_ops.c, cpu_ops_aux.c, cpu_pixels.c, cpu_depth.c, cpu_maps.c   the definition: plain loops ("cpu:plain")
 *   cpu_fast.c, cpu_conv.c   threaded, vectorised C, whose kernels know neither plans nor devices
 *   cpu_dnnl.c               convolutions and linear layers through oneDNN
 *
 * cpu_memory.c and cpu_weights.c are below these layers; cpu_layout.c and cpu.c, the device itself, are above them. */
#ifndef UNET_CPU_CPU_DEVICE_H
#define UNET_CPU_CPU_DEVICE_H

#include "unet/plan/arena.h"
#include "unet/plan/derived.h"
#include "unet/plan/device.h"

struct cpu_program;
struct cpu_kernels;
struct cpu_dnnl;

struct cpu_resource {
  float *data; /* FP32 in device order; NULL until it is needed */
  size_t bytes;
};

/* The memory of one of a program's states. */
struct cpu_state {
  unsigned char *data;
  size_t bytes; /* 0: another program, the owner, has allocated the data */
};

struct cpu_device {
  struct device base;

  /* Constant once the device is open. */
  const struct cpu_impl *impl[OP_TYPES]; /* the implementation of each op */

  /* Entries are filled under the lock base.weights. Afterwards only device_update changes them. */
  struct cpu_resource *resource; /* RESOURCES_MAX entries, with the indices of resources.list */

  /* Changed by the thread that prepares and releases programs. */
  struct arena arena, scratch; /* memory of temporaries, and of ops while they run: see plan/arena.h */

  /* Constant once the device is open. */
  int threads;
  bool bf16; /* tensors between convolutions and linear layers are bfloat16 */

  /* Bytes and allocations are under the lock base.memory; the thread that runs programs changes the other counters. */
  struct device_counters counters;

  /* Changed by the thread that prepares programs. */
  size_t picture_bytes; /* bytes of pictures that are included in counters.bytes: see cpu_count_pictures */

  /* Constant once the device is open. */
  bool plain;                        /* the device is "cpu:plain" */
  const struct cpu_kernels *kernels; /* vectorised C; NULL on "cpu:plain" */
  struct cpu_dnnl *dnnl;             /* NULL on "cpu:plain" and without oneDNN */

  /* Read and changed under the lock base.weights; derived_version only by the thread that runs programs. */
  struct derived_table derived; /* weights in the forms that oneDNN and cpu_winograd.c need */
  uint64_t derived_version;     /* version of the resources for which `derived` is up to date */

  /* Constant once the device is open. */
  char detail[192]; /* libraries and instruction sets in use */
  const struct log *log;
};

/* An op of a program. */
struct cpu_node {
  const struct op *op;
  const struct cpu_impl *impl;
  void *state; /* made by impl->prepare, read by impl->run, freed by impl->free */
};

struct cpu_program {
  struct program base;

  /* Filled while the program is prepared, and constant afterwards. */
  struct cpu_device *device;
  const struct plan *plan;
  bool own_memory;      /* program_options.own_memory */
  size_t picture_bytes; /* program_options.picture_bytes */
  unsigned char *arena; /* memory of arena_share */
  size_t arena_bytes;
  struct arena_share arena_share, scratch_share;
  bool bf16;      /* the device's bf16; false if the plan writes states that other programs read, which expect FP32 */
  size_t *offset; /* offset of each temporary, in bytes */
  struct element *element; /* type of each temporary and state (plan_place): FP32 or bfloat16 */
  struct cpu_state *state; /* the plan's states */
  struct cpu_node *nodes;
  void *scratch; /* memory of scratch_share, which the op that is running may use */
  size_t scratch_bytes;

  /* Changed by the thread that runs the program. */
  const struct op *failed; /* an op that could not be run */
  /* for OP_PIXELS_IN: cpu_pixels_row floats for each thread. It grows when wider frames come, which is the only
   * allocation that a run may make. */
  float *rows;
  size_t rows_bytes;
};

/* The arguments of one run, while it lasts. */
struct cpu_run {
  struct cpu_program *program;
  const struct run_params *params;
  const struct frame *frames;   /* the frames of OP_PIXELS_IN */
  const struct frame *pictures; /* the pictures whose planes OP_PIXELS_OUT writes */
  int iteration;                /* iteration of the plan's loop; 0 outside it */
  double *seconds;              /* the time of op i, in seconds, is added to seconds[i]; NULL: times are not measured */
};

/* The functions that run the ops of one type. */
struct cpu_impl {
  /* Prepares an op when its program is prepared: reserves scratch with cpu_reserve and fills node->state. Resources are
   * loaded already. NULL: nothing to prepare. */
  int (*prepare)(struct cpu_program *program, struct cpu_node *node, struct error *err);
  void (*run)(const struct cpu_run *run, const struct cpu_node *node); /* allocates nothing */
  void (*free)(struct cpu_program *program, struct cpu_node *node);    /* frees node->state; NULL: there is none */
  bool takes_bf16;   /* operands x, x2, q, k, v, residual and y may be bfloat16; otherwise all are FP32 */
  bool packs_weight; /* prepare keeps the weight in a layout of its own, so the weight's FP32 data is not loaded */
};

#endif
