/* The profile of a frame: how long each op takes as a device measures it, and how fast it could be by its shapes. */
#ifndef UNET_PLAN_PROFILE_H
#define UNET_PLAN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct element;
struct frame;
struct plan;

enum { PROFILE_LAUNCHES_MAX = 8 };

/* The highest rates that were measured on this device; 0: unknown. No op can be faster than they allow. */
struct profile_roof {
  double flops;  /* FLOP a second in a large matrix product */
  double memory; /* bytes a second, read plus written, in a long copy in device memory */
  double cache;  /* bytes a second between the multiprocessors and the last-level cache */
  int element;   /* bytes of a weight's element, and as a rule of an activation's */
};

/* A kernel or library call of an op, and its time in us. */
struct profile_launch {
  const char *kind; /* kind of launch ("norm"); static text */
  double us;
};

/* The row of one op. Times are in us and for one execution of the op. */
struct profile_row {
  /* The following fields come from the plan: profile_describe fills them. */
  char name[128];   /* "unet.down_blocks.0.resnets.1.conv1" */
  char part[24];    /* "unet"; "frame" outside the networks */
  const char *kind; /* "conv3x3"; static */
  char shape[96];
  int level; /* pixels (h * w) of the op's result, or its rows of tokens: the resolution level of a U-Net */
  int runs;  /* executions of the op in one frame; 0: it is in a region that this frame skips */
  double flops, weight_bytes, activation_bytes;
  /* the longest of the times that flops, weight_bytes and activation_bytes take at the roof's rates; 0: unknown */
  double floor_us;

  /* The following fields are measured. */
  char way[96]; /* the device's implementation of the op: "norm + cudnn 2" */
  /* time that the op takes within the frame, and the standard error of this estimate */
  double us, spread_us;
  /* time when the op is repeated alone; and the same when its data is first driven out of the cache; 0: not measured */
  double warm_us, flushed_us;
  struct profile_launch launches[PROFILE_LAUNCHES_MAX];
  int launch_count;
};

struct profile {
  struct profile_row *rows; /* owned; in the plan's order */
  int count;
  /* time of the whole frame, measured between the ops */
  double frame_us, frame_spread_us;
  int repeats; /* number of times that each op was measured within the frame */
  struct profile_roof roof;
};

/* The limits of a measurement. */
struct profile_request {
  int repeats;        /* 0: as many as fit into `seconds` */
  double seconds;     /* approximate duration */
  bool (*stop)(void); /* called from time to time; true ends the measurement; NULL: not called */
};

/* Moments of a run's stages, in ns of platform_now_ns. 0: unknown. */
struct run_stamps {
  int64_t upload_ns, uploaded_ns; /* begin and end of the copy of planes and parameters to the device */
  int64_t begun_ns, computed_ns;
  int64_t downloaded_ns; /* time at which the picture was in the host's memory */
};

int profile_init(struct profile *profile, int count); /* Returns -1 if memory runs out. */
void profile_free(struct profile *profile);           /* Takes a zeroed profile too. */

/* Computes the fewest bytes that an op must move: resources that it reads (*weights), and temporaries, states and
 * pictures that it reads and writes. `element` is the bytes of a weight's element. */
void profile_bytes(const struct plan *plan, const struct element *elements, int op, int element, double *weights,
                   double *activations);
/* Fills the fields that follow from the plan and from the elements of its temporaries and states (plan_place). Sizes of
 * weights and the floors use profile->roof. */
void profile_describe(struct profile *profile, const struct plan *plan, const struct element *elements);
/* Corrects the fields of an OP_PIXELS_IN for the frame that it reads. part is the fraction of the frame inside the
 * crop. */
void profile_describe_source(struct profile *profile, const struct plan *plan, int op, const struct frame *frame,
                             double part);

/* Returns the mean of the middle half of the values, and sorts them. *spread (may be NULL) gets its standard error: the
 * width of that half divided by the root of the count, which for normally distributed values is 1.08 times the standard
 * error. */
double profile_middle(double *values, int count, double *spread);

#endif
