/* The device interface: the functions that the engine calls to run plans on the CPU or a GPU, and those that each
 * device implements (struct device_impl). All work on devices goes through here. Arguments are checked once, in
 * device.c; implementations check none.
 *
 * Threads: one thread at a time uses a device. Meanwhile one other thread may prepare and release programs; no run
 * waits for that. Only the first thread starts runs, and uses programs and their arguments. Weights and counters are
 * shared under the locks of struct device. No lock is held for longer than it takes to load one weight. */
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
struct device;  /* a device that runs plans: a GPU, or the CPU */
struct program; /* a program: a plan that is prepared for a device */

/* New values for rows `first` to `first + rows - 1` of a weight (resource_rows in resources.h says what a row is).
 * Either `values` has them, in FP32, in the order of the weight's shape on the device. Or `blend` is set, and the
 * device computes them in FP32: the checkpoint's values plus the adapters' terms. */
struct weight_change {
  int resource;
  size_t first, rows;
  const float *values;
  const struct blend *blend; /* the adapters' terms that are added in rows `first` to `first + rows - 1` (blend.h);
                              * NULL: `values` has the new values */
};

struct device_info {
  char name[128]; /* name of the device for people: "NVIDIA H200", "AMD EPYC, 2 threads" */
  /* text for people: driver, versions of libraries, and the type of numbers in which the device computes */
  char detail[256];
  /* how many runs should be in flight: 2 if the device computes while the host prepares the next run, else 1 */
  int depth;
  /* longest side, in pixels, of pictures that this device makes fast enough for live use; 0: no limit of its own */
  int longest_side;
  /* largest number of pictures, 1 to BATCH_MAX, for which one run of all is faster than a run for each */
  int batch;
  /* true: the device has two sets of the weights that adapters change, so that it can change them during runs
   * (device_merge_begin) */
  bool two_sets;
  struct gpu_id gpu; /* the GPU that computes; zeroed: the device is no GPU */
  /* true: if this device has too little memory and the user has not named a device, another one (the CPU) may be used
   * instead */
  bool replaceable;
  /* the type of numbers in which the device stores the tensors between layers */
  enum dtype element;
  size_t memory_total, memory_free; /* bytes of the device's memory in all, and of those that are free; 0: unknown */
  double energy_j;                  /* energy in joules that the device has used since a fixed moment; 0: unknown */
};

/* Options with which a program is prepared. */
struct program_options {
  enum pixel_format output; /* format of the pictures that OP_PIXELS_OUT writes; ignored if the plan has no such op */
  /* largest number of parts into which a run may be divided (device_start_part); if it is above 1, own_memory counts as
   * true */
  int parts;
  /* true: temporaries have memory of their own, so that other programs' runs do not overwrite them; false: they are in
   * the arena, which all programs share */
  bool own_memory;
  /* number of bytes that device_prepare allocates for the pool of pictures after the device's own `prepare`, which
   * counts them when it checks whether its memory is enough */
  size_t picture_bytes;
  /* another program, which must outlive this one; this program uses the other's memory for states (tensors that outlive
   * a run) of the same name. NULL: all its states have memory of their own */
  struct program *owner;
};

/* The numbers that the device has counted since it was opened; `reverie bench` prints them. */
struct device_counters {
  size_t bytes, peak_bytes; /* bytes of device memory that this process has allocated: now, and the most so far */
  long allocations, launches, waits, captures;
  /* duration in milliseconds of the run that was collected last, by the device's own clock: from its input planes to
   * its picture in the device's memory; 0: the device has no clock */
  double run_ms;
  /* times of the stages (copies to the device, computing, copies to the host) of the run that was collected last; only
   * if device_options.stamps is set */
  struct run_stamps stamps;
  /* Bytes of pixels that were copied. copied_up: to the device; copied_down: from it; staged: into or out of
   * page-locked memory, by the host's processor. Pixels that a run reads in its own device's memory are not counted. */
  size_t copied_up, copied_down, staged;
};

enum { RUNS_IN_FLIGHT = 2 };

/* The pool of pictures, into which runs write their output: one for all programs of a device. device_prepare makes it
 * large enough for the largest program. */
struct device_pictures {
  struct device *device;
  size_t bytes; /* size of a picture in bytes */
  /* count: number of pictures in the pool; batch: largest number of pictures that one run of any program makes */
  int count, batch;
  /* lock that protects the following fields, because programs may be prepared on another thread during runs */
  pthread_mutex_t lock;
  struct picture_pool *pool;
};

/* The functions that a device implements. All are required unless stated otherwise; none is called with NULL
 * pointers. */
struct device_impl {
  const char *name; /* name of the kind of device: "cpu", "cuda" */
  /* functions that make and free the pictures of the pool (picture.h). The opaque pointer of `make` is a struct
   * device_pictures. `make` stores the address of the picture's memory in plane 0. Pictures may outlive the device. */
  const struct picture_owner *pictures;
  /* Opens *device. On failure err says in one line why this machine cannot use the device. */
  int (*create)(struct device **device, const struct device_options *options, struct error *err);
  /* Waits for runs in flight and frees the device. All programs have been released before this is called. */
  void (*destroy)(struct device *device);
  void (*info)(struct device *device, struct device_info *info);
  void (*counters)(struct device *device, struct device_counters *counters);
  /* Returns the device's measured choices of kernels as text, for device_get_choices. NULL: the device makes no such
   * choices. */
  int (*choices)(struct device *device, char **choices, struct error *err);
  /* Returns what the device has timed to make these choices, for device_get_timings. NULL: the device times nothing. */
  int (*timings)(struct device *device, char **timings, struct error *err);
  /* Prepares everything for running a finished plan: uploads resources (weights and other tensors that plans share)
   * that were not used before, chooses algorithms, allocates memory, captures graphs. Afterwards submit and collect
   * allocate nothing. The plan must outlive the program. States of options->owner are used for states of the same
   * names; the program's other states are its own and zeroed. */
  int (*prepare)(struct device *device, struct program **program, const struct plan *plan,
                 const struct program_options *options, struct error *err);
  void (*release)(struct device *device, struct program *program);
  /* Starts one run with program->frames frames. Until the run is collected, it writes to program->pictures pictures of
   * the pool. At most RUNS_IN_FLIGHT runs are in flight.
   *
   * After the call the caller may reuse the frames' memory. Exception: a frame for which device_reads_later is true
   * must not change until the run is collected or released (or if the call fails). A frame for which
   * device_reads_in_place is true has its pixels in device memory, and none in its planes in host memory. */
  int (*submit)(struct device *device, struct program *program, const struct run_params *params,
                const struct frame *frames, const struct frame *pictures, struct error *err);
  /* Starts part number `part` (from 0) of a run of a plan that has no frames or pictures. merged: true: the part reads
   * the set of weights in which adapters' changes are being made (device_merge_begin); false: the set that runs of
   * frames read. If part 0 fails, the run has not begun. */
  int (*start_part)(struct device *device, struct program *program, const struct run_params *params, int part,
                    bool merged, struct error *err);
  /* Waits for the program's oldest run in flight. */
  int (*collect)(struct device *device, struct program *program, struct error *err);
  /* Implements device_update: changes the weights that `changes` lists. The caller holds the lock `weights`, and
   * afterwards gives the changed weights the version `version`. Their copies in other layouts (derived.h) are made
   * before this returns, or before the next run reads them. */
  int (*update)(struct device *device, const struct weight_change *changes, int count, uint64_t version,
                struct error *err);
  /* Implement device_merge_begin, _go_on and _show: add adapters' changes in the set of weights that runs do not read,
   * slice by slice, and exchange the two sets. The caller holds the lock `weights`. NULL: the device has one set of
   * weights. */
  int (*merge_begin)(struct device *device, const struct weight_change *changes, int count, struct error *err);
  int (*merge_go_on)(struct device *device, bool all, struct error *err);
  void (*merge_show)(struct device *device);
  /* write and read copy FP32 values between the host and a tensor, in NHWC order, beginning with element `first`. The
   * tensor belongs to the program; or it is a resource (a weight or another tensor that plans share), and program is
   * NULL. A resource that was not loaded yet is loaded first. A read waits for runs in flight. A write copies `data`,
   * may return before the device has it, and takes effect for later runs only. */
  int (*write)(struct device *device, struct program *program, struct tensor tensor, size_t first, const float *data,
               size_t count, struct error *err);
  int (*read)(struct device *device, struct program *program, struct tensor tensor, size_t first, float *data,
              size_t count, struct error *err);
  /* Waits until the device has done all work that was started. */
  int (*settle)(struct device *device, struct error *err);
  /* Measures the time of each op of a plan that makes pictures. Each op is timed within runs with these arguments,
   * after the ops before it, so that the caches have the same content as in a frame. Fills the measured fields of
   * profile->rows, which the caller has allocated and zeroed, and profile->roof. No run may be in flight. */
  int (*profile)(struct device *device, struct program *program, const struct run_params *params,
                 const struct frame *frames, const struct frame *pictures, const struct profile_request *request,
                 struct profile *profile, struct error *err);
  /* Fills the program's temporaries with quiet NaNs, so that tests notice values that are read before they are
   * written. */
  int (*poison)(struct device *device, struct program *program, struct error *err);
};

/* The beginning of every device's own struct; device.c finds the device's functions in it. */
struct device {
  /* The following fields are set when the device is made, and constant afterwards. */
  const struct device_impl *impl;
  struct resources *resources;
  struct gpu_id gpu; /* the GPU; set by the implementation's create; zeroed: no GPU */

  /* the pool of pictures, which its own lock protects */
  struct device_pictures pictures;

  /* Lock that is held while a weight is loaded, copied or changed. It protects the device's weights, their versions,
   * and their copies in other layouts. A thread that needs both locks takes this one before `memory`. */
  pthread_mutex_t weights;
  /* lock that protects memory_limit, brought_down, changes, and the implementation's counters of memory */
  pthread_mutex_t memory;
  size_t memory_limit; /* largest number of bytes of device memory that may be allocated; 0: no limit */
  /* sizes_only, gives_up and gives_up_opaque are copies of the fields of device_options */
  bool sizes_only;
  bool (*gives_up)(void *opaque);
  void *gives_up_opaque;
  /* bytes of frames that were copied to the host because they were in the memory of another device */
  size_t brought_down;
  unsigned changes; /* what device_changes returns */
};

/* device_reads_in_place returns true if runs read this frame's planes where they are, in the device's memory.
 * device_reads_later returns true if a run may still read the frame after submit has returned, in the device's memory
 * or in the host's; the frame must then not change until the run is collected. */
bool device_reads_in_place(const struct device *device, const struct frame *frame);
bool device_reads_later(const struct device *device, const struct frame *frame);

/* device_begin creates the locks, and device_end destroys them. An implementation's create and destroy call them. */
void device_begin(struct device *device);
void device_end(struct device *device);

/* Fails with STATUS_INTERRUPTED once the device's caller wants to stop (device_options.gives_up returns true).
 * Implementations call it again and again during work that may take long. */
int device_check_wanted(const struct device *device, struct error *err);
/* Fails if the device was opened with sizes_only: then it has no weights, and no memory that could be written or read.
 * doing: the action that the message names. */
int device_check_weights(const struct device *device, const char *doing, struct error *err);

/* device_count_bytes adds bytes that are about to be allocated to the implementation's counters, or fails if
 * memory_limit does not allow them; `what` names their use in the error. device_uncount_bytes subtracts bytes that were
 * freed. */
int device_count_bytes(struct device *device, struct device_counters *counters, size_t bytes, const char *what,
                       struct error *err);
void device_uncount_bytes(struct device *device, struct device_counters *counters, size_t bytes);

/* device_changes returns a number that goes up whenever a tensor that programs share may have been written, such as the
 * slots of encoded prompts: with each run, part of a run and profile of a program that writes such a tensor, with every
 * call of device_write, device_poison, device_update and device_merge_show. Two runs that are submitted at the same
 * number read the same slots. device_count_change makes it go up; it is called when the write was submitted. Any thread
 * may call them. */
unsigned device_changes(struct device *device);
void device_count_change(struct device *device);

/* The beginning of every device's own struct of a program (a plan that the device has prepared). device_prepare first
 * calls the device's function `prepare`, which sets `parts` and `element`. After that device.c sets the other
 * fields. */
struct program {
  /* The following fields are set by device_prepare, and constant afterwards. */
  const struct plan *plan;
  int frames; /* number of frames that each run of the program reads by OP_PIXELS_IN */
  /* format and size of the pictures that OP_PIXELS_OUT writes, without addresses of planes; size 0: the plan has no
   * such op */
  struct frame output;
  int pictures;          /* number of pictures that each run of the program makes */
  bool writes_resources; /* true: an op of the program writes a resource, such as the slots of encoded prompts */

  /* The fields made, read, submitted and collected are changed by the thread that starts and collects runs. */
  /* pictures of the runs in flight: those of run number i are at index i modulo RUNS_IN_FLIGHT until it is collected */
  struct frame made[RUNS_IN_FLIGHT][BATCH_MAX];
  /* input frames that the device still reads after submit (device_reads_later): those of run number i are at index i
   * modulo RUNS_IN_FLIGHT. Each keeps its picture's memory (frame_hold) until the run is collected. Other entries are
   * zeroed */
  struct frame read[RUNS_IN_FLIGHT][FRAMES_MAX];
  /* number of runs of this program that were submitted since it was prepared, and number of those that were
   * collected */
  unsigned submitted, collected;

  /* The fields `parts` and `started` are for runs that are started in parts (device_start_part). */
  int parts;   /* number of parts into which the device has divided a run of the program */
  int started; /* number of parts of the present run that were started so far */
  /* element type of each temporary and state (a tensor that outlives a run), indexed by plan_place; set by the
   * device */
  const struct element *element;
};

static inline int program_in_flight(const struct program *program) {
  return (int)(program->submitted - program->collected);
}

void device_close(struct device **device); /* Closes the device. *device becomes NULL; does nothing if it is NULL. */
void device_get_info(struct device *device, struct device_info *info);
void device_get_counters(struct device *device, struct device_counters *counters);
/* Writes to a text the choices of kernels and algorithms that the device has made by measurements so far;
 * device_options.choices takes such a text. The caller frees *choices; NULL: the device chooses nothing. No program may
 * be prepared meanwhile. */
int device_get_choices(struct device *device, char **choices, struct error *err);
/* Writes a text for people, of several lines: what the device is, its clocks of this moment, and how long each
 * candidate for a product took that it has timed to make its choices. The caller frees *timings; NULL: the device times
 * nothing. No program may be prepared meanwhile. */
int device_get_timings(struct device *device, char **timings, struct error *err);
/* Changes the limit of memory for later allocations; 0: no limit. Any thread may call this. */
void device_limit_memory(struct device *device, size_t bytes);

int device_prepare(struct device *device, struct program **program, const struct plan *plan,
                   const struct program_options *options, struct error *err);
/* Releases a program. *program becomes NULL; does nothing if it is NULL. */
void device_release(struct device *device, struct program **program);
/* A device that was opened with sizes_only prepares programs and executes none: device_run, device_start and
 * device_start_part only check their arguments. Any other call that needs weights or memory fails. */

/* Starts a run. frames has program->frames entries: entry s * pictures + i is the frame from which picture i is made,
 * of source s (OP_PIXELS_IN). Entries that no op reads are zeroed. frames is NULL if the program reads none. The run
 * writes pictures of the device's pool. If none is free, because callers hold more than device_options.pictures,
 * nothing is started and the status is STATUS_HELD. */
int device_submit(struct device *device, struct program *program, const struct run_params *params,
                  const struct frame *frames, struct error *err);
/* Waits for the end of the program's oldest run in flight. pictures[] gets program->pictures frames, each with a
 * reference to its picture's memory, which the caller gives back by frame_release. If `pictures` is NULL, or if the run
 * has failed, the pictures are released here. */
int device_collect(struct device *device, struct program *program, struct frame *pictures, struct error *err);
/* Runs a plan that has no frames or pictures, and waits for its end. */
int device_run(struct device *device, struct program *program, const struct run_params *params, struct error *err);
/* Starts a run of a plan that has no frames or pictures, and does not wait for its end. First waits for the program's
 * previous run, and fails if that one failed. The device executes runs in the order in which they were started. */
int device_start(struct device *device, struct program *program, const struct run_params *params, struct error *err);
/* Starts the next one of the program->parts parts of a run. Between two parts, runs of other programs may be started;
 * the device executes everything in the order in which it was started. All calls for one run have the same arguments.
 * All parts must be started before another run of this program starts. The first part waits for the program's previous
 * run, as device_start does. merged: true: the part reads the set of weights to which adapters' changes were added
 * (device_merge_made). Returns 1 if parts are left, 0 after the last one. After a failure (-1) the next call begins a
 * new run. */
int device_start_part(struct device *device, struct program *program, const struct run_params *params, bool merged,
                      struct error *err);
/* Waits until the device has done all work that was started. */
int device_settle(struct device *device, struct error *err);
/* Changes weights, all of them at once: runs submitted before see none of the changes, runs submitted after see all.
 * The values are copied, and the work may still be under way when this returns. If it fails nothing has changed. The
 * changes must not overlap.
 *
 * Copies of the weights in other layouts are updated at their addresses, so programs stay valid. States that plans have
 * written from these weights (encoded prompts, time projections) are not updated: see plan_weights_version. Adapters'
 * terms (weight_change.blend) are added to the checkpoint's values, even if the weight was changed before. From the
 * first such change on, a CUDA device therefore keeps these values as well, in FP16 if the file has FP16, else in
 * FP32. */
int device_update(struct device *device, const struct weight_change *changes, int count, struct error *err);
/* Change weights while runs go on, on devices that have two sets of the weights that adapters change
 * (device_info.two_sets, resource.adapted). Runs read one set while the adapters' terms (blend.h) are added in the
 * other set, in slices of at most 0.3 ms between runs.
 *   begin  takes the changes, which must stay valid until show, or until go_on has returned -1. A change that was begun
 *          before and is not complete is given up
 *   go_on  starts the next slice; with `all` it starts all slices and waits for them. Returns 1 while the device is
 *          still adding, 0 when all terms are added, or -1 after an error: then the other set's changed rows are
 *          undefined
 *   made   gives the changed weights new versions; from then on parts of a run that are started with `merged`
 *          (device_start_part) read the other set
 *   show   exchanges the sets: runs that are submitted from then on read the new weights */
int device_merge_begin(struct device *device, const struct weight_change *changes, int count, struct error *err);
int device_merge_go_on(struct device *device, bool all, struct error *err);
void device_merge_made(struct device *device, const struct weight_change *changes, int count);
void device_merge_show(struct device *device);
/* device_write and device_read copy FP32 values in NHWC order, from element `first` of a tensor on: a temporary, a
 * state or a resource (a tensor that plans share). Weights cannot be written; device_update changes them. A temporary
 * keeps its values until another program runs, unless one of the two programs has own_memory. */
int device_write(struct device *device, struct program *program, struct tensor tensor, size_t first, const float *data,
                 size_t count, struct error *err);
int device_read(struct device *device, struct program *program, struct tensor tensor, size_t first, float *data,
                size_t count, struct error *err);
/* Measures the time of each op of a program, within runs with these arguments. The caller frees *profile, which is
 * empty after a failure. */
int device_profile(struct device *device, struct program *program, const struct run_params *params,
                   const struct frame *frames, const struct profile_request *request, struct profile *profile,
                   struct error *err);
int device_poison(struct device *device, struct program *program, struct error *err);

#endif
