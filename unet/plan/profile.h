/* Where a frame's time goes, op by op: what a device measures, and what the ops' shapes say of it. */
#ifndef UNET_PLAN_PROFILE_H
#define UNET_PLAN_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct element;
struct frame;
struct plan;

enum { PROFILE_LAUNCHES_MAX = 8 };

/* The best rates this device was measured at; 0: unknown. No op can be faster than its share of them. */
struct profile_roof {
  double flops;  /* a second, of a large matrix product */
  double memory; /* bytes a second, read and written, of a long copy in device memory */
  double cache;  /* bytes a second between the multiprocessors and the last cache */
  int element;   /* bytes of a weight, and of an activation as a rule */
};

/* One kernel or library call. */
struct profile_launch {
  const char *kind; /* "norm"; static */
  double us;
};

/* One op. Times are of one of its runs. */
struct profile_row {
  /* From the plan: profile_describe */
  char name[128];   /* "unet.down_blocks.0.resnets.1.conv1" */
  char part[24];    /* "unet"; "frame" outside the networks */
  const char *kind; /* "conv3x3"; static */
  char shape[96];
  int level; /* pixels of what it makes, or rows */
  int runs;  /* a frame; 0: in a region that this frame skips */
  double flops, weight_bytes, activation_bytes;
  double floor_us; /* the longest of what the three take at the roof; 0: unknown */

  /* Measured */
  char way[96];               /* what runs it: "norm + cudnn 2" */
  double us, spread_us;       /* in its place in the frame; the estimate's standard error */
  double warm_us, flushed_us; /* alone, over and over; with its data out of the cache. 0: not measured */
  struct profile_launch launches[PROFILE_LAUNCHES_MAX];
  int launch_count;
};

struct profile {
  struct profile_row *rows; /* owned: in the plan's order */
  int count;
  double frame_us, frame_spread_us; /* the whole frame, measured between the ops */
  int repeats;                      /* times each op was measured in its place */
  struct profile_roof roof;
};

/* How long to measure. */
struct profile_request {
  int repeats;        /* 0: as many as fit into seconds */
  double seconds;     /* about */
  bool (*stop)(void); /* called now and then; true ends the measurement; NULL: not called */
};

/* When a run was where, by platform_now_ns. 0: not known. */
struct run_stamps {
  int64_t upload_ns, uploaded_ns; /* planes and parameters on their way to the device */
  int64_t begun_ns, computed_ns;
  int64_t downloaded_ns; /* the picture is in the host's memory */
};

int profile_init(struct profile *profile, int count); /* -1: out of memory */
void profile_free(struct profile *profile);           /* also of a zeroed one */

/* Bytes an op moves at the least: resources it reads; temporaries, states and pictures it reads and writes. */
void profile_bytes(const struct plan *plan, const struct element *elements, int op, int element, double *weights,
                   double *activations);
/* Fills what follows from the plan and the elements of its temporaries and states (plan_place). Sizes of weights and
 * floors are the roof's. */
void profile_describe(struct profile *profile, const struct plan *plan, const struct element *elements);
/* Of an OP_PIXELS_IN, which takes a part of a frame, what follows from that. */
void profile_describe_source(struct profile *profile, const struct plan *plan, int op, const struct frame *frame,
                             double part);

/* The mean of the middle half of the values, which are sorted; *spread (may be NULL) gets its standard error: the
 * width of that half by the root of the count, 1.08 times it where values scatter normally. */
double profile_middle(double *values, int count, double *spread);

#endif
