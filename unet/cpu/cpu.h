/* The CPU device from the inside: what cpu.c offers the functions that run ops, and what it expects of them.
 *
 * Three layers, each overriding the one before where it has something better:
 *   cpu_ops.c, cpu_ops_aux.c, cpu_pixels.c   the definition: every op as the plainest loop nest ("cpu:plain")
 *   cpu_fast.c and what it names             threaded, vectorised C
 *   cpu_dnnl.c                               convolutions and linear layers through oneDNN */
#ifndef UNET_CPU_CPU_H
#define UNET_CPU_CPU_H

#include "unet/plan/derived.h"
#include "unet/plan/device.h"

extern const struct device_impl cpu_device_impl;

struct cpu_program;
struct cpu_kernels;
struct cpu_dnnl;

struct cpu_resource {
  float *data; /* FP32 in device order; NULL until something asks for it */
  size_t bytes;
};

struct cpu_device {
  struct device base;
  const struct cpu_impl *impl[OP_TYPES]; /* what runs an op here */
  struct cpu_resource *resource;         /* by index in resources.list */
  int resource_count;
  int threads;
  bool bf16; /* activations between convolutions and linear layers are bfloat16 */
  size_t memory_limit;
  struct device_counters counters;
  bool plain;                        /* "cpu:plain" */
  const struct cpu_kernels *kernels; /* vectorised C; NULL on "cpu:plain" */
  struct cpu_dnnl *dnnl;             /* NULL on "cpu:plain" and without oneDNN */
  struct derived_table derived;      /* weights as oneDNN and cpu_winograd.c want them */
  uint64_t derived_version;          /* the resources' that it is up to date with */
  char detail[192];                  /* libraries and instruction sets in use */
  const struct log *log;
};

/* One op of a program. */
struct cpu_step {
  const struct op *op;
  const struct cpu_impl *impl;
  void *state; /* the implementation's own, made by its prepare */
};

struct cpu_program {
  struct program base;
  struct cpu_device *device;
  const struct plan *plan;
  unsigned char *arena;
  size_t arena_bytes;
  bool bf16;         /* as the device's, but not for plans that write state, which every later frame would read */
  size_t *offset;    /* of each temp, in bytes */
  enum dtype *dtype; /* of each temp: DTYPE_F32 or DTYPE_BF16 */
  struct cpu_step *steps;
  void *scratch; /* for the op that runs: its own for the time of its run only */
  size_t scratch_bytes;
  struct frame picture[3]; /* what OP_PIXELS_OUT writes, in turn */
  unsigned char *picture_data;
  size_t picture_bytes;
  unsigned submitted, collected;
  const struct op *failed; /* an op that could not be run */
  float *rows; /* of OP_PIXELS_IN: cpu_pixels_row floats a thread; grows with the width of the source, which is
                  the one allocation that a run may make */
  size_t rows_bytes;
};

/* One run, while it lasts. */
struct cpu_run {
  struct cpu_program *program;
  const struct run_params *params;
  const struct frame *frame;   /* NULL without OP_PIXELS_IN */
  const struct frame *picture; /* OP_PIXELS_OUT writes its planes */
  int round;                   /* of the plan's loop; 0 outside it */
  double *seconds;             /* each op's, added to what is there; NULL: not asked for */
};

/* How one kind of op is run. */
struct cpu_impl {
  /* Settles what run needs: scratch with cpu_reserve, step->state. Resources are loaded already. NULL: nothing. */
  int (*prepare)(struct cpu_program *program, struct cpu_step *step, struct error *err);
  void (*run)(const struct cpu_run *run, const struct cpu_step *step); /* allocates nothing */
  void (*finish)(struct cpu_program *program, struct cpu_step *step);  /* frees state; NULL: there is none */
  bool takes_bf16;   /* x, x2, q, k, v, residual and y may be bfloat16 */
  bool packs_weight; /* keeps the weight in a form of its own: its FP32 data is not loaded */
};

/* The definition of every op: cpu_define_conv, cpu_define_linear, ... */
#define CPU_DEFINITION(TYPE, field, ...) extern const struct cpu_impl cpu_define_##field;
OP_TABLE(CPU_DEFINITION)
#undef CPU_DEFINITION

/* Each puts in the place of the definition what it has. cpu_dnnl_open may fail (memory). */
void cpu_fast(struct cpu_device *device);
/* Convolutions that cpu_fast runs by Winograd's algorithm, whatever else there is for the others. */
bool cpu_winograd_takes(const struct op *op);
extern const struct cpu_impl cpu_winograd_conv;
int cpu_dnnl_open(struct cpu_device *device, struct error *err);
void cpu_dnnl_close(struct cpu_device *device);
/* Whether oneDNN multiplies bfloat16 here, and whether with matrix units (AMX): then nothing in FP32 comes near it. */
bool cpu_dnnl_has_bf16(void);
bool cpu_dnnl_has_amx(void);

/* Memory, counted and held against the limit. Zeroed; aligned to 64 bytes. NULL with err set when there is none left.
 */
void *cpu_alloc(struct cpu_device *device, size_t bytes, const char *what, struct error *err);
void cpu_free(struct cpu_device *device, void *data, size_t bytes); /* takes NULL */

/* Type and place of every temporary, and the arena. Where an op adds a residual that nothing reads later, y takes the
 * residual's place, so that the sum happens there (not on "cpu:plain"). */
int cpu_layout(struct cpu_program *program, struct error *err);

/* Makes a resource's FP32 data (a state's are zero). */
int cpu_load(struct cpu_device *device, struct tensor resource, struct error *err);
/* A weight's FP32 data for the moment: those that are kept, or *temporary, which the caller frees. NULL with err set
 * when there is no memory. */
const float *cpu_peek(struct cpu_device *device, int resource, float **temporary, struct error *err);
/* cpu_weights.c: a weight in another form, bytes long, made on first use; NULL with err set on failure. */
void *cpu_derive(struct cpu_device *device, int resource, const struct form *form, const void *detail, size_t bytes,
                 struct error *err);
/* Before a run: copies of weights that have changed are made anew. */
int cpu_refresh(struct cpu_device *device, struct error *err);
void cpu_derived_finish(struct cpu_device *device);
int cpu_update(struct device *device, const struct weight_change *changes, int count, uint64_t version,
               struct error *err);
/* The program's scratch gets at least this size. */
void cpu_reserve(struct cpu_program *program, size_t bytes);
/* Plans scratch: returns the aligned place of the next so many bytes. */
size_t cpu_bump(size_t *total, size_t bytes);

/* First element of a tensor; NULL for one left out. cpu_f32 where it is known to be FP32. */
void *cpu_data(const struct cpu_program *program, struct tensor t);
float *cpu_f32(const struct cpu_program *program, struct tensor t);
enum dtype cpu_dtype(const struct cpu_program *program, struct tensor t);

/* --- parts of the definition, in double --- */

double cpu_activate(enum activation act, double x);
/* out [rows of x, c + c2] = prologue(x ++ x2). Operands FP32. */
void cpu_prologue(const struct cpu_program *program, const struct prologue *prologue, struct tensor x, struct tensor x2,
                  float *out);

#endif
