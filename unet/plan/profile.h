/* The profile of a frame: how long each op takes as measured on a device, and how fast it could be by its shapes.
 * `reverie bench --profile` prints it. */
#ifndef UNET_PLAN_PROFILE_H
#define UNET_PLAN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct element;
struct frame;
struct plan;

enum { PROFILE_LAUNCHES_MAX = 8 };

/* The highest rates that were measured on a device of this kind. No op can be faster than they allow. 0: unknown. */
struct profile_roof {
  double flops;  /* floating-point operations a second in a large matrix product */
  double memory; /* bytes a second, read and written together, in a long copy in device memory */
  double cache;  /* bytes a second that the GPU's multiprocessors read from its last-level cache */
  int element;   /* size in bytes of a weight's element, usually also of an activation's */
};

/* One kernel or library call of an op, and the time that it takes, in microseconds. */
struct profile_launch {
  const char *kind; /* the kind of kernel or call, such as "norm"; static text */
  double us;
};

/* What the profile says about one op. Times are in microseconds and for one execution of the op. */
struct profile_row {
  /* The following fields are computed from the plan, by profile_describe. */
  char name[128];   /* name of the op: "unet.down_blocks.0.resnets.1.conv1" */
  char part[24];    /* name of the network that the op belongs to, such as "unet"; "frame" outside the networks */
  const char *kind; /* the kind of op, such as "conv3x3"; static text */
  char shape[96];
  /* number of pixels (h * w) or tokens of the op's result, by which people see at which level of the U-Net the op
   * works */
  int level;
  /* how often the op is executed in one frame; 0: it is in a region (ops that a run may skip) that this frame skips */
  int runs;
  double flops, weight_bytes, activation_bytes;
  /* shortest possible time: the longest of the times that `flops`, `weight_bytes` and `activation_bytes` take at the
   * highest rates (profile_roof); 0: unknown */
  double floor_us;

  /* The following fields are measured on the device. */
  char way[96]; /* the kernels or library calls with which the device computes the op: "norm + cudnn 2" */
  /* time of the op within the frame, and the standard error of that number */
  double us, spread_us;
  /* time of the op when only it is repeated: warm_us with its data in the cache, flushed_us with the cache emptied
   * before each repetition; 0: not measured */
  double warm_us, flushed_us;
  struct profile_launch launches[PROFILE_LAUNCHES_MAX];
  int launch_count;
};

struct profile {
  struct profile_row *rows; /* a row for each op, in the plan's order; owned */
  int count;
  /* time of the whole frame in microseconds, measured together with the ops, and the standard error of that number */
  double frame_us, frame_spread_us;
  int repeats; /* how often each op was measured within the frame */
  struct profile_roof roof;
};

/* How long a measurement may take. */
struct profile_request {
  int repeats;        /* how often each op is measured; 0: as often as fits into `seconds` */
  double seconds;     /* approximate time in seconds that the measurement may take */
  bool (*stop)(void); /* called from time to time; if it returns true the measurement ends; NULL: not called */
};

/* Times at which a run's stages (copies to the device, computing, copies to the host) began and ended, in ns of the
 * clock platform_now_ns. 0: unknown. */
struct run_stamps {
  int64_t upload_ns, uploaded_ns; /* when the copy of planes and parameters to the device began, and when it ended */
  int64_t begun_ns, computed_ns;
  int64_t downloaded_ns; /* time at which the picture was in the host's memory */
};

int profile_init(struct profile *profile, int count); /* allocates `count` rows; returns -1 if memory runs out */
void profile_free(struct profile *profile);           /* frees the rows; accepts a zeroed profile */

/* Computes the fewest bytes that op number `op` must move. *weights: bytes of the weights that it reads;
 * *activations: bytes of the temporaries, states and pictures that it reads and writes. elements: types of temporaries
 * and states, indexed by plan_place; element: bytes of a weight's element. */
void profile_bytes(const struct plan *plan, const struct element *elements, int op, int element, double *weights,
                   double *activations);
/* Fills in the fields of the rows that follow from the plan. elements: types of its temporaries and states, indexed by
 * plan_place. profile->roof must be set: the shortest possible times are computed from it. */
void profile_describe(struct profile *profile, const struct plan *plan, const struct element *elements);
/* Corrects the profile's row of op number `op`, an OP_PIXELS_IN. Its times and bytes depend on the frame that it reads,
 * and on `part`: the fraction of the frame, 0 to 1, that is left after it was cropped to the picture's aspect ratio. */
void profile_describe_source(struct profile *profile, const struct plan *plan, int op, const struct frame *frame,
                             double part);

/* Sorts the values, and returns the mean of their middle half. *spread (may be NULL) becomes an estimate of the mean's
 * standard error: the width of the middle half divided by the root of the count. For normally distributed values this
 * is 1.23 times the standard error. */
double profile_middle(double *values, int count, double *spread);

#endif
