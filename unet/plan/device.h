/* The device interface: what the engine calls, and the duties of a device (struct device_impl). All device work of the
 * program goes through here. Arguments are checked once, in device.c; implementations contain no argument checks.
 *
 * Threads: one thread at a time uses a device, and one other may prepare and release programs meanwhile, for which no
 * run waits. Programs, their arguments and the order of runs belong to the first; weights, and what is counted, are
 * shared under the locks of struct device, none of which is held for longer than it takes to load a weight. */
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
struct device;  /* one GPU, or the CPU */
struct program; /* one prepared plan on one device */

/* New values of some rows of a weight (resource_rows), FP32, each row in device order: those that are given, or the
 * checkpoint's with what adapters add to them, which the device computes in FP32. */
struct weight_change {
  int resource;
  size_t first, rows;
  const float *values;
  const struct blend *blend; /* of these rows; NULL: values */
};

struct device_info {
  char name[128];    /* "NVIDIA H200", "AMD EPYC, 2 threads" */
  char detail[256];  /* driver, library versions, element type */
  int depth;         /* runs worth having in flight: 2 where it works by itself while the next is handed over, else 1 */
  int longest_side;  /* of the largest live picture it has time for; 0: the same as on any device */
  int batch;         /* pictures of one run that are faster than as many runs, 1 to BATCH_MAX */
  bool two_sets;     /* weights that adapters add to: see device_merge_begin */
  struct gpu_id gpu; /* zeroed: none */
  bool replaceable;  /* another device may take over where this one has no room and the user named none */
  enum dtype element;               /* of what passes between layers */
  size_t memory_total, memory_free; /* bytes; 0 unknown */
  double energy_j;                  /* energy used since a fixed moment; 0 unknown */
};

/* What a program is to be. */
struct program_options {
  enum pixel_format output; /* that OP_PIXELS_OUT writes (ignored without one) */
  int parts;                /* more than 1: runs may be started in up to so many (device_start_part), in own memory */
  bool own_memory;          /* its temporaries lie in memory of its own: other programs' runs leave them alone */
  size_t picture_bytes;     /* that device_prepare takes for pictures afterwards; it fills this itself */
  struct program *owner;    /* a program that outlives this one; states of the same name are shared; NULL: none */
};

/* Counted since the device was made; printed by bench. */
struct device_counters {
  size_t bytes, peak_bytes; /* device memory allocated by this program */
  long allocations, launches, waits, captures;
  double run_ms; /* of the run collected last, by the device's own clock: from input planes in its memory to the picture
                  * in its memory, as fine as that clock is; 0: it has none of its own */
  struct run_stamps stamps; /* of the same run */
  /* Bytes of pixels: between host and device, and by the host's processor on their way there. What a run reads in
   * memory of its own device is none. */
  size_t copied_up, copied_down, staged;
};

enum { RUNS_IN_FLIGHT = 2 };

/* The memory that runs leave their pictures in: one pool for all programs of a device, made when a program is prepared,
 * with room for the largest. */
struct device_pictures {
  struct device *device;
  size_t bytes;         /* of one picture */
  int count, batch;     /* of them; the most that a run makes */
  pthread_mutex_t lock; /* programs may be prepared beside runs */
  struct picture_pool *pool;
};

/* Duties of a device. All functions are required; none is called with NULL. */
struct device_impl {
  const char *name; /* "cpu", "cuda" */
  /* Of the pictures that runs make: make gets struct device_pictures and leaves the memory's beginning in plane 0.
   * Pictures outlive the device. */
  const struct picture_owner *pictures;
  /* Makes *device, or explains in one line why this machine cannot. */
  int (*create)(struct device **device, const struct device_options *options, struct error *err);
  /* Waits for what is in flight. Programs are destroyed before. */
  void (*destroy)(struct device *device);
  void (*info)(struct device *device, struct device_info *info);
  void (*counters)(struct device *device, struct device_counters *counters);
  /* Settles everything for a finished plan: uploads resources not seen yet, chooses algorithms, allocates the arena,
   * captures. After this, submit and collect allocate nothing. The plan must outlive the program.
   * States that options->owner has under the same name are its memory; others are the program's own, zero. */
  int (*prepare)(struct device *device, struct program **program, const struct plan *plan,
                 const struct program_options *options, struct error *err);
  void (*release)(struct device *device, struct program *program);
  /* Starts one run. frames, program->frames of them, may be reused by the caller as soon as this returns, but for
   * those that device_reads_later says: these stay as they are until the run is collected, or released, or this has
   * failed. Of a frame that device_reads_in_place says, the planes in the host's memory are not filled. pictures,
   * program->pictures of them, are the device's and are written until the run is collected. At most
   * RUNS_IN_FLIGHT are in flight. */
  int (*submit)(struct device *device, struct program *program, const struct run_params *params,
                const struct frame *frames, const struct frame *pictures, struct error *err);
  /* Starts one part of a run without pixels, as submit the first time. merged: with the weights of the set that runs do
   * not read. After a failure the run has not begun. */
  int (*start_part)(struct device *device, struct program *program, const struct run_params *params, int part,
                    bool merged, struct error *err);
  /* Waits for the oldest run in flight. */
  int (*collect)(struct device *device, struct program *program, struct error *err);
  /* device_update, with weights held; when it succeeds, the changed resources get this version. Copies in other forms
   * are made before it returns or before the next run reads them. */
  int (*update)(struct device *device, const struct weight_change *changes, int count, uint64_t version,
                struct error *err);
  /* device_merge_*, with weights held; NULL: the device has one set. */
  int (*merge_begin)(struct device *device, const struct weight_change *changes, int count, struct error *err);
  int (*merge_go_on)(struct device *device, bool all, struct error *err);
  void (*merge_show)(struct device *device);
  /* Host FP32 to or from a resource or a temporary of a program (program may be NULL for a resource), elements in NHWC
   * order, starting at element first. In order with runs; a read waits for what is in flight, a write copies data and
   * need not be done. A resource is loaded first if it was not yet. */
  int (*write)(struct device *device, struct program *program, struct tensor tensor, size_t first, const float *data,
               size_t count, struct error *err);
  int (*read)(struct device *device, struct program *program, struct tensor tensor, size_t first, float *data,
              size_t count, struct error *err);
  /* Waits for all that was started. */
  int (*settle)(struct device *device, struct error *err);
  /* Measures each op of a plan that makes pictures, in its place in a run with these arguments: fills what is measured
   * in profile's rows, which are there and zeroed, and its roof. No run is in flight. */
  int (*profile)(struct device *device, struct program *program, const struct run_params *params,
                 const struct frame *frames, const struct frame *pictures, const struct profile_request *request,
                 struct profile *profile, struct error *err);
  /* Fills the program's arena with quiet NaNs: tests then see what was never written. */
  int (*poison)(struct device *device, struct program *program, struct error *err);
};

/* Every device begins with this, so that device.c finds the functions. device.c fills it after create. */
struct device {
  const struct device_impl *impl;
  struct resources *resources;
  struct gpu_id gpu; /* the implementation's; zeroed: none */
  struct device_pictures pictures;
  /* Weights as the device has them, their versions, and their copies in other forms: held while one is loaded, made or
   * changed. It is taken before memory. */
  pthread_mutex_t weights;
  pthread_mutex_t memory; /* what is allocated: counters, limit */
  size_t memory_limit;    /* 0: none */
  bool sizes_only;        /* as device_options has it, and so are the next two */
  bool (*gives_up)(void *opaque);
  void *gives_up_opaque;
  size_t brought_down;    /* bytes of frames that came from another device's memory; under memory, too */
};

/* Whether runs read a frame's planes where they lie in the device's own memory; and whether they do so, or copy them
 * from the host's, when submit has returned. */
bool device_reads_in_place(const struct device *device, const struct frame *frame);
bool device_reads_later(const struct device *device, const struct frame *frame);

/* What an implementation's create and destroy do with the part that is device.c's. */
void device_begin(struct device *device);
void device_end(struct device *device);

/* Fails with STATUS_INTERRUPTED once the caller has given up what the device does. An implementation asks between the
 * parts of whatever may take long. */
int device_check_wanted(const struct device *device, struct error *err);

/* Counts bytes that are to be allocated for `what` in the implementation's counters, where the limit allows them, and
 * bytes that are not allocated any more. */
int device_count_bytes(struct device *device, struct device_counters *counters, size_t bytes, const char *what,
                       struct error *err);
void device_uncount_bytes(struct device *device, struct device_counters *counters, size_t bytes);

/* Every program begins with this; device.c fills it after prepare and keeps it. */
struct program {
  const struct plan *plan;
  int frames;                                    /* that a run reads: OP_PIXELS_IN's */
  struct frame output;                           /* what OP_PIXELS_OUT writes, without planes; no size: there is none */
  int pictures;                                  /* that a run makes */
  struct frame made[RUNS_IN_FLIGHT][BATCH_MAX];  /* of run number i those at i modulo RUNS_IN_FLIGHT, until it is
                                                    collected */
  struct frame read[RUNS_IN_FLIGHT][FRAMES_MAX]; /* likewise, held: those that are read later */
  unsigned submitted, collected;                 /* runs */
  int parts;                                     /* in which a run may be started; the device's */
  int started;                                   /* of the run that is being started */
  const struct element *element;                 /* of each temporary and state (plan_place); the device's */
};

static inline int program_in_flight(const struct program *program) {
  return (int)(program->submitted - program->collected);
}

void device_close(struct device **device); /* stores NULL; takes NULL */
void device_get_info(struct device *device, struct device_info *info);
void device_get_counters(struct device *device, struct device_counters *counters);
/* Another limit than the one it was opened with, for what is allocated from now on; 0: none. Any thread may. */
void device_limit_memory(struct device *device, size_t bytes);

int device_prepare(struct device *device, struct program **program, const struct plan *plan,
                   const struct program_options *options, struct error *err);
void device_release(struct device *device, struct program **program); /* stores NULL; takes NULL */
/* A device that was opened for sizes only prepares programs and runs none: device_run, device_start and
 * device_start_part check their arguments and do nothing more, and whatever else would use weights or memory fails. */

/* Starts a run. frames: program->frames of them, by the numbers that OP_PIXELS_IN gives them, of zeros where no op
 * reads them; NULL where there are none. The pictures come from the device's pool. Where the caller holds more pictures
 * than device_options.pictures, nothing is started and the status is STATUS_HELD. */
int device_submit(struct device *device, struct program *program, const struct run_params *params,
                  const struct frame *frames, struct error *err);
/* pictures (may be NULL), program->pictures of them, hold what the run made. */
int device_collect(struct device *device, struct program *program, struct frame *pictures, struct error *err);
/* submit and collect in one, for plans without pixels. */
int device_run(struct device *device, struct program *program, const struct run_params *params, struct error *err);
/* Starts a run without waiting for it. Waits for the run that the last call started, and fails where that failed. In
 * order with all other runs. */
int device_start(struct device *device, struct program *program, const struct run_params *params, struct error *err);
/* Starts the next part of a run, program->parts in all, so that other runs may come between two: whatever is started
 * stays in order. The arguments are the first part's; a run that was begun is gone on with before anything else of its
 * program. Waits as device_start does before the first part. 1: parts are left; 0: it was the last. After a failure the
 * next call begins a run. */
int device_start_part(struct device *device, struct program *program, const struct run_params *params, bool merged,
                      struct error *err);
/* Waits for all that was started. */
int device_settle(struct device *device, struct error *err);
/* Changes weights, all of them at once: runs submitted before see none of the changes, runs submitted after see all.
 * Every copy that the device keeps in another form follows, at its address: programs stay valid. values are copied; the
 * device need not be done when this returns. On failure nothing has changed. Changes must not overlap. What plans have
 * left in states (prompt slots, time projections) stays as it is: see plan_weights_version. Blends are of the
 * checkpoint's values, whatever the weight was changed to; a CUDA device keeps these beside the weight from the first
 * blend on, in FP16 where the file has FP16, else in FP32. */
int device_update(struct device *device, const struct weight_change *changes, int count, struct error *err);
/* The same beside runs, of weights that are in two sets (device_info.two_sets, resource.adapted): runs read one while
 * blends are made in the other, in order with runs, in slices of at most 0.3 ms.
 *   begin    takes the blends, which stay the caller's and are there until the end; those before are dropped
 *   go_on    starts a slice, or with all every one, and waits for them. 1: it is not known yet whether all is well; 0:
 *            it is; -1: it is not, and what the other set holds of these rows is anything
 *   made     these resources have new versions, and parts that are started as merged (device_start_part) read them
 *   show     runs submitted from now on read the other set, and what they have read so far is the other one */
int device_merge_begin(struct device *device, const struct weight_change *changes, int count, struct error *err);
int device_merge_go_on(struct device *device, bool all, struct error *err);
void device_merge_made(struct device *device, const struct weight_change *changes, int count);
void device_merge_show(struct device *device);
/* To a temporary or a state; weights change by device_update alone. What a temporary holds lasts until another program
 * runs, unless one of the two has own_memory. */
int device_write(struct device *device, struct program *program, struct tensor tensor, size_t first, const float *data,
                 size_t count, struct error *err);
int device_read(struct device *device, struct program *program, struct tensor tensor, size_t first, float *data,
                size_t count, struct error *err);
/* The caller frees *profile, which is empty after a
 * failure. */
int device_profile(struct device *device, struct program *program, const struct run_params *params,
                   const struct frame *frames, const struct profile_request *request, struct profile *profile,
                   struct error *err);
int device_poison(struct device *device, struct program *program, struct error *err);

#endif
