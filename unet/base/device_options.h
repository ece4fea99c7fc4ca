/* The options with which a device is opened. The command line, the engine and the devices use the same struct. Zeroed:
 * FP32 on the device that "auto" chooses. */
#ifndef UNET_BASE_DEVICE_OPTIONS_H
#define UNET_BASE_DEVICE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/log.h"

enum precision {
  PRECISION_F32,
  PRECISION_BF16,
  PRECISION_AUTO, /* BF16 if the processor has matrix units for it, because it is no faster without them */
};

enum graph_use { GRAPH_ON, GRAPH_OFF };

struct device_options {
  /* The device and its arithmetic. */
  const char *name; /* "auto", "cpu", "cpu:plain" (the definition), "cuda", "cuda:N"; NULL: auto */
  int threads;      /* CPU threads; 0: one for each core */
  /* CPU: precision of arithmetic; falls back to FP32, with a warning, on processors that lack it */
  enum precision precision;

  /* The memory, and the folder for tuning results. */
  /* largest number of bytes of the device's memory that may be allocated; 0: no limit. For a GPU, pinned host memory is
   * not counted. */
  size_t memory_limit;
  const char *cache_dir; /* folder for tuning results; NULL: none are kept */

  /* Options for preparing and running programs. */
  enum graph_use graph; /* CUDA: GRAPH_OFF launches the ops one by one instead of one captured graph (for comparison) */
  int pictures; /* largest number of pictures that the caller holds at a time, collected and not yet released; 0: 1 */
  bool shares_pictures; /* other libraries can import the pictures' memory: see struct picture's share */
  /* The weights that adapters change are kept twice, so that they can change while runs go on: see device_merge_begin.
   * It has an effect on devices that support it (CUDA). */
  bool two_sets;
  /* No weight is read and nothing runs: the memory that a model would take is counted, and is known at once
   * (device_counters). A GPU's memory is allocated meanwhile, the CPU's is not. */
  bool sizes_only;
  bool stamps; /* record stamps of each run (device_counters, engine_result) */

  /* Functions that the device calls. */
  /* Called often while a device prepares or runs something. Once it returns true, the current work and any later work
   * fails with STATUS_INTERRUPTED. Any thread may call it. NULL: work is never given up. */
  bool (*gives_up)(void *opaque);
  void *gives_up_opaque;
  const struct log *log; /* may be NULL */
};

#endif
