/* The device interface: the functions that the engine calls, and those that a device implements (struct device_impl).
 * All device work of the program goes through here. Arguments are checked once, in device.c; implementations check
 * none.
 *
 * Threads: one thread at a time uses a device. One other thread may prepare and release programs meanwhile, and no run
 * waits for that. The first thread alone uses programs and their arguments and starts runs. Weights and counters are
 * shared under the locks of struct device, and no lock is held for longer than it takes to load one weight. */
#ifndef UNET_PLAN_DEVICE_H
#define UNET_PLAN_DEVICE_H

#include <pthread.h>

#include "unet/base/device_options.h"
#include "unet/base/frame.h"
#include "unet/base/gpu.h"
#include "unet/base/log.h"
#include "unet/plan/blend.h"
#include "unet/plan/profile.h"
#include "unet/plan/run.h"

struct picture_owner;
struct picture_pool;
struct device;  /* a GPU, or the CPU */
struct program; /* a plan that is prepared for a device */

/* New values of some rows of a weight (resource_rows), each row in device order. They are either given in FP32, or a
 * sum of the checkpoint's values and those of adapters, which the device computes in FP32. */
struct weight_change {
  int resource;
  size_t first, rows;
  const float *values;
  const struct blend *blend; /* the sum for these rows; NULL: `values` is used */
};

struct device_info {
  char name[128];   /* "NVIDIA H200", "AMD EPYC, 2 threads" */
  char detail[256]; /* driver, library versions and element type */
  /* useful number of runs in flight: 2 if the device computes while the host prepares the next run, else 1 */
  int depth;
  /* longest side of the largest live picture for which it is fast enough; 0: the same limit as on any device */
  int longest_side;
  int batch; /* number of pictures in one run that are faster than as many runs bytes of a picture, 1 to BATCH_MAX */
  bool two_sets;     /* the device keeps two sets of the weights that adapters change: see device_merge_begin */
  struct gpu_id gpu; /* zeroed: it is no GPU */
  bool replaceable;  /* another device may be used if this one has too little memory and the user named none */
  /* type of the tensors between layers */
  enum dtype element;
  size_t memory_total, memory_free; /* bytes; 0: unknown */
  double energy_j;                  /* energy used since a fixed moment; 0: unknown */
};

/* The properties of a program that is to be prepared. */
struct program_options {
  enum pixel_format output; /* format that OP_PIXELS_OUT writes (ignored without one) */
  int parts; /* more than 1: a run may be started in up to this many parts (device_start_part); implies own_memory */
  bool own_memory;      /* temporaries have their own memory, which other programs' runs do not overwrite */
  size_t picture_bytes; /* bytes that device_prepare will then allocate for pictures; device_prepare fills this field */
  struct program *owner; /* a program that outlives this one; states of the same name are shared; NULL: none */
};

/* Counted since the device was made; printed by bench. */
struct device_counters {
  size_t bytes, peak_bytes; /* device memory that this program has allocated */
  long allocations, launches, waits, captures;
  /* time of the run that was collected last, from its input planes to its picture in the device's memory, by the
   * device's own clock and as precise as that clock; 0: the device has no clock */
  double run_ms;
  struct run_stamps stamps; /* of the same run */
  /* Bytes of pixels that were copied between host and device, and those that the host's processor copied on the way.
   * Pixels that a run reads in its own device's memory are not counted. */
  size_t copied_up, copied_down, staged;
};

enum { RUNS_IN_FLIGHT = 2 };

/* The memory into which runs write their pictures: one pool for all programs of a device. device_prepare makes it large
 * enough for the largest program. */
struct device_pictures {
  struct device *device;
  size_t bytes; /* bytes of a picture */
  /* number of pictures in the pool, and the most pictures of one run */
  int count, batch;
  pthread_mutex_t lock; /* guards the fields below, because programs may be prepared during runs */
  struct picture_pool *pool;
};

/* The functions of a device. All are required unless stated otherwise; none is called with NULL. */
struct device_impl {
  const char *name; /* "cpu", "cuda" */
  /* The functions of the pool of pictures: make gets struct device_pictures, and returns the memory's address in plane
   * 0. Pictures outlive the device. */
  const struct picture_owner *pictures;
  /* Makes *device, or explains in one line why this machine cannot. */
  int (*create)(struct device **device, const struct device_options *options, struct error *err);
  /* Waits for runs in flight and frees the device. All programs have been released before. */
  void (*destroy)(struct device *device);
  void (*info)(struct device *device, struct device_info *info);
  void (*counters)(struct device *device, struct device_counters *counters);
  /* Prepares everything for a finished plan: uploads resources that were not used before, chooses algorithms, allocates
   * the arena, captures graphs. After it, submit and collect allocate nothing. The plan must outlive the program. A
   * state that options->owner has under the same name uses the owner's memory; other states are the program's own and
   * zero. */
  int (*prepare)(struct device *device, struct program **program, const struct plan *plan,
                 const struct program_options *options, struct error *err);
  void (*release)(struct device *device, struct program *program);
  /* Starts one run. There are program->frames frames. The caller may reuse them as soon as this returns, except frames
   * for which device_reads_later holds: they must not change until the run is collected or released, or until this has
   * failed. For a frame for which device_reads_in_place holds, the planes in the host's memory are not filled. There
   * are program->pictures pictures; they are the device's and are written until the run is collected. At most
   * RUNS_IN_FLIGHT runs are in flight. */
  int (*submit)(struct device *device, struct program *program, const struct run_params *params,
                const struct frame *frames, const struct frame *pictures, struct error *err);
  /* Starts one part of a run without pixels; the first part starts like submit. merged: the part reads the set of
   * weights that other runs do not read. If it fails the run has not begun. */
  int (*start_part)(struct device *device, struct program *program, const struct run_params *params, int part,
                    bool merged, struct error *err);
  /* Waits for the oldest run in flight. */
  int (*collect)(struct device *device, struct program *program, struct error *err);
  /* Implements device_update. The lock `weights` is held. If it succeeds, device.c gives the changed resources this
   * version. Copies of the weights in other forms are made before this returns or before the next run reads them. */
  int (*update)(struct device *device, const struct weight_change *changes, int count, uint64_t version,
                struct error *err);
  /* Implement device_merge_begin, device_merge_go_on and device_merge_show. The lock `weights` is held. NULL: the
   * device has one set of weights. */
  int (*merge_begin)(struct device *device, const struct weight_change *changes, int count, struct error *err);
  int (*merge_go_on)(struct device *device, bool all, struct error *err);
  void (*merge_show)(struct device *device);
  /* Copies FP32 values of the host to or from a resource or a tensor of a program (program may be NULL for a resource),
   * in NHWC order from element `first` on. The copy is in order with runs. A read waits for runs in flight; a write
   * copies the data and may return before it is done. A resource that was not loaded yet is loaded first. */
  int (*write)(struct device *device, struct program *program, struct tensor tensor, size_t first, const float *data,
               size_t count, struct error *err);
  int (*read)(struct device *device, struct program *program, struct tensor tensor, size_t first, float *data,
              size_t count, struct error *err);
  /* Waits for all work that was started. */
  int (*settle)(struct device *device, struct error *err);
  /* Measures each op of a plan that makes pictures, at its place within a run with these arguments. Fills the measured
   * fields of profile's rows, which exist and are zeroed, and profile's roof. No run is in flight. */
  int (*profile)(struct device *device, struct program *program, const struct run_params *params,
                 const struct frame *frames, const struct frame *pictures, const struct profile_request *request,
                 struct profile *profile, struct error *err);
  /* Fills the program's arena with quiet NaNs, so that tests see values that were never written. */
  int (*poison)(struct device *device, struct program *program, struct error *err);
};

/* The beginning of every device's struct, through which device.c finds the functions. */
struct device {
  /* Set when the device is made, and constant afterwards. */
  const struct device_impl *impl;
  struct resources *resources;
  struct gpu_id gpu; /* set by the implementation's create; zeroed: no GPU */

  /* Has a lock of its own. */
  struct device_pictures pictures;

  /* Held while a weight is loaded, made or changed: guards the device's weights, their versions, and their copies in
   * other forms. It is locked before `memory`, never after. */
  pthread_mutex_t weights;
  pthread_mutex_t memory; /* guards memory_limit, brought_down, and the implementation's counters of memory */
  size_t memory_limit;    /* bytes; 0: none */
  bool sizes_only;        /* device_options.sizes_only; the next two fields are those of device_options, too */
  bool (*gives_up)(void *opaque);
  void *gives_up_opaque;
  size_t brought_down; /* bytes of frames that were copied from another device's memory */
};

/* device_reads_in_place is true if runs read this frame's planes in the device's own memory. device_reads_later is true
 * if a run still reads the frame, in the device's or in the host's memory, after submit has returned. */
bool device_reads_in_place(const struct device *device, const struct frame *frame);
bool device_reads_later(const struct device *device, const struct frame *frame);

/* Create and destroy the locks. An implementation's create and destroy call them. */
void device_begin(struct device *device);
void device_end(struct device *device);

/* Fails with STATUS_INTERRUPTED once the caller has given up the device's work (device_options.gives_up).
 * Implementations call it between the parts of work that may take long. */
int device_check_wanted(const struct device *device, struct error *err);

/* device_count_bytes adds bytes that are about to be allocated to the implementation's counters, or fails if the limit
 * does not allow them; `what` names their use in the error. device_uncount_bytes takes freed bytes off. */
int device_count_bytes(struct device *device, struct device_counters *counters, size_t bytes, const char *what,
                       struct error *err);
void device_uncount_bytes(struct device *device, struct device_counters *counters, size_t bytes);

/* The beginning of every program's struct. device.c fills it after prepare and maintains it, except two fields of the
 * device's. */
struct program {
  /* Set by device_prepare, and constant afterwards. */
  const struct plan *plan;
  int frames;          /* number of frames that a run reads (OP_PIXELS_IN) */
  struct frame output; /* layout that OP_PIXELS_OUT writes, without planes; size 0: the plan has none */
  int pictures;        /* number of pictures that a run makes */

  /* The following three fields are changed by the thread that uses the device. */
  /* pictures of the runs in flight: those of run number i are at i modulo RUNS_IN_FLIGHT until it is collected */
  struct frame made[RUNS_IN_FLIGHT][BATCH_MAX];
  /* frames that are held for the same runs, because the device reads them later */
  struct frame read[RUNS_IN_FLIGHT][FRAMES_MAX];
  /* number of runs submitted, and collected */
  unsigned submitted, collected;

  /* The state of a run that is started in parts, and the device's choice of types. */
  int parts;                     /* parts in which a run may be started; set by the device */
  int started;                   /* parts started so far of the run that is being started */
  const struct element *element; /* element type of each temporary and state (plan_place); set by the device */
};

static inline int program_in_flight(const struct program *program) {
  return (int)(program->submitted - program->collected);
}

void device_close(struct device **device); /* Stores NULL; takes NULL. */
void device_get_info(struct device *device, struct device_info *info);
void device_get_counters(struct device *device, struct device_counters *counters);
/* Changes the memory limit for later allocations; 0: none. Any thread may call this. */
void device_limit_memory(struct device *device, size_t bytes);

int device_prepare(struct device *device, struct program **program, const struct plan *plan,
                   const struct program_options *options, struct error *err);
void device_release(struct device *device, struct program **program); /* Stores NULL; takes NULL. */
/* A device that was opened with sizes_only prepares programs and runs none: device_run, device_start and
 * device_start_part check their arguments and do nothing more. Any other call that needs weights or memory fails. */

/* Starts a run. frames has program->frames entries, in the numbering of OP_PIXELS_IN; entries that no op reads are
 * zeroed. It is NULL if the program reads no frames. The run's pictures come from the device's pool. If the caller
 * holds more pictures than device_options.pictures, nothing is started and the status is STATUS_HELD. */
int device_submit(struct device *device, struct program *program, const struct run_params *params,
                  const struct frame *frames, struct error *err);
/* Waits for the oldest run in flight. pictures (may be NULL) gets its program->pictures pictures, held for the
 * caller. */
int device_collect(struct device *device, struct program *program, struct frame *pictures, struct error *err);
/* Submits and collects a run of a plan without pixels. */
int device_run(struct device *device, struct program *program, const struct run_params *params, struct error *err);
/* Starts a run without waiting for it. It first waits for the run that the previous call started, and fails if that run
 * failed. Runs stay in the order in which they were started. */
int device_start(struct device *device, struct program *program, const struct run_params *params, struct error *err);
/* Starts the next of a run's program->parts parts, so that other runs may be started between two parts; everything runs
 * in the order in which it was started. The arguments are those of the first part. A run that was begun must be
 * completed before anything else of its program starts. Before the first part it waits as device_start does. Returns 1
 * if parts are left, 0 after the last one. After a failure the next call begins a new run. */
int device_start_part(struct device *device, struct program *program, const struct run_params *params, bool merged,
                      struct error *err);
/* Waits for all work that was started. */
int device_settle(struct device *device, struct error *err);
/* Changes weights, all of them at once: runs submitted before see none of the changes, runs submitted after see all.
 * Copies that the device keeps in other forms are updated at their addresses, so programs stay valid. values are
 * copied; the work may still be under way when this returns. If it fails nothing has changed. Changes must not overlap.
 * States that plans have written (prompt slots, time projections) are not updated: see plan_weights_version. A blend
 * adds to the checkpoint's values even if the weight was changed before; a CUDA device keeps these values from the
 * first blend on, in FP16 if the file has FP16, else in FP32. */
int device_update(struct device *device, const struct weight_change *changes, int count, struct error *err);
/* Change weights while runs go on, for weights that are in two sets (device_info.two_sets, resource.adapted). Runs read
 * one set while the blends are computed into the other, in slices of at most 0.3 ms between runs.
 *   begin    takes the blends, which stay the caller's and must exist until the end; earlier blends are dropped
 *   go_on    starts the next slice; with `all` it starts all slices and waits for them. Returns 1 while the result is
 *            not known yet and 0 when all blends are done. Returns -1 after an error; these rows of the other set are
 *            then undefined
 *   made     gives the resources new versions; parts that are started as merged (device_start_part) read the other set
 *   show     exchanges the sets: runs that are submitted from now on read the new weights */
int device_merge_begin(struct device *device, const struct weight_change *changes, int count, struct error *err);
int device_merge_go_on(struct device *device, bool all, struct error *err);
void device_merge_made(struct device *device, const struct weight_change *changes, int count);
void device_merge_show(struct device *device);
/* Writes a temporary or a state; weights are changed by device_update alone. A temporary keeps its values until another
 * program runs, unless one of the two has own_memory. */
int device_write(struct device *device, struct program *program, struct tensor tensor, size_t first, const float *data,
                 size_t count, struct error *err);
int device_read(struct device *device, struct program *program, struct tensor tensor, size_t first, float *data,
                size_t count, struct error *err);
/* The caller frees *profile, which is empty after a failure. */
int device_profile(struct device *device, struct program *program, const struct run_params *params,
                   const struct frame *frames, const struct profile_request *request, struct profile *profile,
                   struct error *err);
int device_poison(struct device *device, struct program *program, struct error *err);

#endif
