/* The CPU device from the inside: what the functions that run ops have at hand, and what is expected of them.
 *
 * Three layers, each overriding the one before where it has something better:
 *   cpu_ops.c, cpu_ops_aux.c, cpu_pixels.c   the definition: every op as the plainest loop nest ("cpu:plain")
 *   cpu_fast.c, cpu_conv.c                   threaded, vectorised C, whose kernels know nothing of devices
 *   cpu_dnnl.c                               convolutions and linear layers through oneDNN
 *
 * Below them are cpu_memory.c and cpu_weights.c, above them cpu_layout.c and cpu.c, the device itself. */
#ifndef UNET_CPU_CPU_DEVICE_H
#define UNET_CPU_CPU_DEVICE_H

#include "unet/plan/arena.h"
#include "unet/plan/derived.h"
#include "unet/plan/device.h"

struct cpu_program;
struct cpu_kernels;
struct cpu_dnnl;

struct cpu_resource {
  float *data; /* FP32 in device order; NULL until something asks for it */
  size_t bytes;
};

/* A state of a program, or one that it shares with the program that owns it. */
struct cpu_state {
  unsigned char *data;
  size_t bytes; /* 0: the owner's */
};

struct cpu_device {
  struct device base;
  const struct cpu_impl *impl[OP_TYPES]; /* what runs an op here */
  struct cpu_resource *resource;         /* RESOURCES_MAX, by index in resources.list */
  struct arena arena, scratch;           /* what programs work in by turns */
  int threads;
  bool bf16; /* activations between convolutions and linear layers are bfloat16 */
  struct device_counters counters;
  size_t picture_bytes;              /* cpu_count_pictures: of the counted ones, those of pictures */
  bool plain;                        /* "cpu:plain" */
  const struct cpu_kernels *kernels; /* vectorised C; NULL on "cpu:plain" */
  struct cpu_dnnl *dnnl;             /* NULL on "cpu:plain" and without oneDNN */
  struct derived_table derived;      /* weights as oneDNN and cpu_winograd.c want them */
  uint64_t derived_version;          /* the resources' that it is up to date with */
  char detail[192];                  /* libraries and instruction sets in use */
  const struct log *log;
};

/* One op of a program. */
struct cpu_node {
  const struct op *op;
  const struct cpu_impl *impl;
  void *state; /* the implementation's own, made by its prepare */
};

struct cpu_program {
  struct program base;
  struct cpu_device *device;
  const struct plan *plan;
  bool own_memory;      /* as wished */
  size_t picture_bytes; /* likewise */
  unsigned char *arena; /* arena_share's */
  size_t arena_bytes;
  struct arena_share arena_share, scratch_share;
  bool bf16;               /* as the device's, but not for plans that write what other programs read */
  size_t *offset;          /* of each temporary, in bytes */
  struct element *element; /* of each temporary and state (plan_place): FP32 or bfloat16 */
  struct cpu_state *state; /* of each of the plan's states */
  struct cpu_node *nodes;
  void *scratch; /* scratch_share's, belongs to the op that runs, until it is done */
  size_t scratch_bytes;
  const struct op *failed; /* an op that could not be run */
  float *rows; /* of OP_PIXELS_IN: cpu_pixels_row floats a thread; grows with the width of the sources, which is
                  the one allocation that a run may make */
  size_t rows_bytes;
};

/* One run, while it lasts. */
struct cpu_run {
  struct cpu_program *program;
  const struct run_params *params;
  const struct frame *frames;   /* of OP_PIXELS_IN, by source */
  const struct frame *pictures; /* OP_PIXELS_OUT writes their planes */
  int iteration;                /* of the plan's loop; 0 outside it */
  double *seconds;              /* each op's, added to what is there; NULL: not asked for */
};

/* How one kind of op is run. */
struct cpu_impl {
  /* Settles what run needs: scratch with cpu_reserve, node->state. Resources are loaded already. NULL: nothing. */
  int (*prepare)(struct cpu_program *program, struct cpu_node *node, struct error *err);
  void (*run)(const struct cpu_run *run, const struct cpu_node *node); /* allocates nothing */
  void (*free)(struct cpu_program *program, struct cpu_node *node);    /* frees state; NULL: there is none */
  bool takes_bf16;   /* x, x2, q, k, v, residual and y may be bfloat16 */
  bool packs_weight; /* keeps the weight in a form of its own: its FP32 data is not loaded */
};

#endif
