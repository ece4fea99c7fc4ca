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

/* New values for rows [first, first + rows) of a weight, counted as resource_rows does; within a row, values are in the
 * order of the device's shape. Either `values` has them in FP32, or `blend` is a sum of the checkpoint's values and
 * those of adapters, which the device computes in FP32. */
struct weight_change {
  int resource;
  size_t first, rows;
  const float *values;
  const struct blend *blend; /* the sum that gives these rows their values; NULL: `values` is used */
};

struct device_info {
  char name[128];   /* "NVIDIA H200", "AMD EPYC, 2 threads" */
  char detail[256]; /* driver, library versions and element type */
  /* useful number of runs in flight: 2 if the device computes while the host prepares the next run, else 1 */
  int depth;
  /* longest side in pixels up to which live pictures are fast enough on this device; 0: no limit of its own */
  int longest_side;
  int batch; /* pictures in one run, 1 to BATCH_MAX, up to which one run is faster than as many runs of one picture */
  bool two_sets;     /* the device keeps two sets of the weights that adapters change: see device_merge_begin */
  struct gpu_id gpu; /* zeroed: it is no GPU */
  bool replaceable;  /* if this device has too little memory and the user named none, another one may be used instead */
  /* type in which the tensors between layers are stored */
  enum dtype element;
  size_t memory_total, memory_free; /* bytes; 0: unknown */
  double energy_j;                  /* energy used since a fixed moment; 0: unknown */
};

/* The properties of a program that is to be prepared. */
struct program_options {
  enum pixel_format output; /* format of the pictures that OP_PIXELS_OUT writes; ignored if the plan has no such op */
  /* more than 1: a run may be started in up to this many parts (device_start_part), and own_memory is set too */
  int parts;
  bool own_memory; /* temporaries have their own memory, which other programs' runs do not overwrite */
  /* filled by device_prepare: bytes that it will allocate for the pool of pictures after `prepare` */
  size_t picture_bytes;
  /* program whose states this one uses under the same names; it must outlive this one. NULL: none */
  struct program *owner;
};

/* Amounts since the device was opened; `reverie bench` prints them. */
struct device_counters {
  size_t bytes, peak_bytes; /* bytes of device memory that this process has allocated: now, and at most so far */
  long allocations, launches, waits, captures;
  /* time of the run that was collected last, from its input planes to its picture in the device's memory, by the
   * device's own clock and as precise as that clock; 0: the device has no clock */
  double run_ms;
  /* moments of the stages of the run that was collected last, if device_options.stamps is set */
  struct run_stamps stamps;
  /* Bytes of pixels that were copied to the device and from it, and those that the host's processor copied on the way
   * (into or out of page-locked memory). Pixels that a run reads in its own device's memory are not counted. */
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
  /* Makes and frees the pictures of the pool (picture.h): `make` gets struct device_pictures as its opaque pointer, and
   * stores the address of the picture's memory in plane 0. Pictures may outlive the device. */
  const struct picture_owner *pictures;
  /* Makes *device. On failure err says in one line why this machine cannot. */
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
  /* Starts one run with program->frames frames. After this returns the caller may reuse the frames' memory, except
   * frames for which device_reads_later is true: they must not change until the run is collected or released, or until
   * this has failed. If device_reads_in_place is true for a frame, its planes in the host's memory have no pixels. The
   * run writes program->pictures pictures of the device's pool until it is collected. At most RUNS_IN_FLIGHT runs are
   * in flight. */
  int (*submit)(struct device *device, struct program *program, const struct run_params *params,
                const struct frame *frames, const struct frame *pictures, struct error *err);
  /* Starts part number `part` (from 0) of a run without pixels. merged: the part reads the new weights of a merge
   * (device_merge_begin), which runs of frames do not read yet. If part 0 fails the run has not begun. */
  int (*start_part)(struct device *device, struct program *program, const struct run_params *params, int part,
                    bool merged, struct error *err);
  /* Waits for the oldest run in flight. */
  int (*collect)(struct device *device, struct program *program, struct error *err);
  /* Implements device_update; the caller holds the lock `weights`. If it succeeds, device.c gives the changed resources
   * the version `version`. Copies of the weights in other forms (derived.h) are made before this returns or before the
   * next run reads them. */
  int (*update)(struct device *device, const struct weight_change *changes, int count, uint64_t version,
                struct error *err);
  /* Implement device_merge_begin, device_merge_go_on and device_merge_show; the caller holds the lock `weights`. NULL:
   * the device has one set of weights. */
  int (*merge_begin)(struct device *device, const struct weight_change *changes, int count, struct error *err);
  int (*merge_go_on)(struct device *device, bool all, struct error *err);
  void (*merge_show)(struct device *device);
  /* Copy FP32 values between the host and a resource, or a tensor of a program (NULL for a resource), in NHWC order
   * from element `first` on. Both are in order with runs: a read waits for runs in flight; a write copies `data` and
   * may return before the device has it. A resource that was not loaded yet is loaded first. */
  int (*write)(struct device *device, struct program *program, struct tensor tensor, size_t first, const float *data,
               size_t count, struct error *err);
  int (*read)(struct device *device, struct program *program, struct tensor tensor, size_t first, float *data,
              size_t count, struct error *err);
  /* Waits for all work that was started. */
  int (*settle)(struct device *device, struct error *err);
  /* Measures each op of a plan that makes pictures, within runs with these arguments and with the ops before it. Fills
   * the measured fields of profile->rows, which the caller has allocated and zeroed, and profile->roof. No run is in
   * flight. */
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

  /* The pool of pictures, which has a lock of its own. */
  struct device_pictures pictures;

  /* Held while a weight is loaded, made or changed: guards the device's weights, their versions, and their copies in
   * other forms. It is locked before `memory`, never after. */
  pthread_mutex_t weights;
  pthread_mutex_t memory; /* guards memory_limit, brought_down, and the implementation's counters of memory */
  size_t memory_limit;    /* bytes; 0: none */
  /* device_options.sizes_only; the next two fields are copies of gives_up and its opaque pointer there */
  bool sizes_only;
  bool (*gives_up)(void *opaque);
  void *gives_up_opaque;
  size_t brought_down; /* bytes of frames that were copied from another device's memory */
};

/* device_reads_in_place is true if runs read this frame's planes in the device's own memory. device_reads_later is true
 * if a run still reads the frame, in the device's or in the host's memory, after submit has returned. */
bool device_reads_in_place(const struct device *device, const struct frame *frame);
bool device_reads_later(const struct device *device, const struct frame *frame);

/* device_begin creates the locks, and device_end destroys them. An implementation's create and destroy call them. */
void device_begin(struct device *device);
void device_end(struct device *device);

/* Fails with STATUS_INTERRUPTED once the caller has given up (device_options.gives_up returns true). Implementations
 * call it between parts of work that may take long. */
int device_check_wanted(const struct device *device, struct error *err);

/* device_count_bytes adds bytes that are about to be allocated to the implementation's counters, or fails if the limit
 * does not allow them; `what` names their use in the error. device_uncount_bytes takes freed bytes off. */
int device_count_bytes(struct device *device, struct device_counters *counters, size_t bytes, const char *what,
                       struct error *err);
void device_uncount_bytes(struct device *device, struct device_counters *counters, size_t bytes);

/* The beginning of every program's struct. device.c fills it after prepare and maintains it; the device itself fills
 * `parts` and `element`. */
struct program {
  /* Set by device_prepare, and constant afterwards. */
  const struct plan *plan;
  int frames;          /* number of frames that a run reads (OP_PIXELS_IN) */
  struct frame output; /* layout that OP_PIXELS_OUT writes, without planes; size 0: the plan has none */
  int pictures;        /* number of pictures that a run makes */

  /* The following three fields are changed by the thread that starts and collects runs. */
  /* pictures of the runs in flight: run number i has those at i modulo RUNS_IN_FLIGHT until it is collected */
  struct frame made[RUNS_IN_FLIGHT][BATCH_MAX];
  /* frames of the same runs on which a hold is kept until the run is collected, because the device reads them later */
  struct frame read[RUNS_IN_FLIGHT][FRAMES_MAX];
  /* number of runs of this program that were submitted, and that were collected, since it was prepared */
  unsigned submitted, collected;

  /* A run that is started in parts (device_start_part); and the device's choice of types. */
  int parts;   /* number of parts into which the device has divided a run; set by the device */
  int started; /* parts started so far of the run that is being started */
  /* element type of each temporary and state, indexed by plan_place; set by the device */
  const struct element *element;
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

/* Starts a run. frames has program->frames entries, where frame i of source s (OP_PIXELS_IN) is entry s * pictures + i;
 * entries that no op reads are zeroed. frames is NULL if the program reads none. The run's pictures come from the
 * device's pool. If the caller holds more pictures than device_options.pictures, nothing is started and the status is
 * STATUS_HELD. */
int device_submit(struct device *device, struct program *program, const struct run_params *params,
                  const struct frame *frames, struct error *err);
/* Waits for the program's oldest run in flight. pictures (NULL: they are released) gets program->pictures frames, each
 * with a hold that the caller ends by frame_release. */
int device_collect(struct device *device, struct program *program, struct frame *pictures, struct error *err);
/* Runs a plan without pixels and waits for its end. */
int device_run(struct device *device, struct program *program, const struct run_params *params, struct error *err);
/* Starts a run of a plan without pixels and does not wait for it. It first waits for the run that the previous call
 * started, and fails if that run failed. The device executes runs in the order in which they were started. */
int device_start(struct device *device, struct program *program, const struct run_params *params, struct error *err);
/* Starts the next of the program->parts parts of a run, so that runs of other programs may be started between two
 * parts; the device executes everything in the order in which it was started. Every call of one run gets the same
 * arguments as its first. A run that was begun must be completed before another run of this program starts. The first
 * part waits for the program's previous run, as device_start does. merged: see device_merge_made. Returns 1 if parts
 * are left, 0 after the last one. After a failure (-1) the next call begins a new run. */
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
/* device_write and device_read copy FP32 values in NHWC order, from element `first` of a temporary, state or resource
 * on. Weights cannot be written: device_update changes them. A temporary keeps its values until another program runs,
 * unless one of the two programs has own_memory. */
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
