/* How a device is opened; the same struct serves the command line, the engine and the devices. Zeroed: FP32 on the
 * device that "auto" chooses. */
#ifndef UNET_BASE_DEVICE_OPTIONS_H
#define UNET_BASE_DEVICE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/log.h"

enum precision {
  PRECISION_F32,
  PRECISION_BF16,
  PRECISION_AUTO, /* BF16 where the processor has matrix units for it: elsewhere it is no faster */
};

enum graph_use { GRAPH_ON, GRAPH_OFF };

struct device_options {
  const char *name;         /* "auto", "cpu", "cpu:plain" (the definition), "cuda", "cuda:N"; NULL: auto */
  int threads;              /* CPU threads; 0: one a core */
  enum precision precision; /* CPU: of arithmetic; FP32 where the processor has no other, with a warning */
  size_t memory_limit;      /* bytes of the device's memory that may be taken; 0: what there is. A GPU's is its own:
                               pinned main memory, in which its pictures arrive, is not counted */
  const char *cache_dir;    /* for tuning results; NULL: none kept */
  enum graph_use graph;     /* CUDA: off launches the ops one by one instead of one captured graph (for comparison) */
  int pictures;             /* the most that the caller holds at a time, collected and not yet released; 0: 1 */
  bool shares_pictures;     /* their memory can be imported by other libraries: struct picture's share */
  bool two_sets;            /* weights that adapters add to are there twice, so that they change beside runs: see
                               device_merge. Where the device can (CUDA) */
  bool sizes_only;          /* no weight is read and nothing is run: what a model would take is counted, and known at
                               once (device_counters). A GPU's memory is taken meanwhile, the CPU's is not */
  bool stamps;              /* take stamps of each run (device_counters, engine_result) */
  /* Asked again and again while a device prepares or runs something; once it says true, what is under way and whatever
   * is begun later fails with STATUS_INTERRUPTED. Any thread may call it. NULL: nothing is given up */
  bool (*gives_up)(void *opaque);
  void *gives_up_opaque;
  const struct log *log; /* may be NULL */
};

#endif
