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
  /* BF16 if the processor has matrix units for BF16, else FP32, because BF16 without them is no faster */
  PRECISION_AUTO,
};

enum graph_use { GRAPH_ON, GRAPH_OFF };

struct device_options {
  /* The fields name, threads and precision choose the device and its arithmetic. */
  /* "auto", "cpu", "cpu:plain" (the plain loops that define each op), "cuda", "cuda:N" (GPU number N); NULL: auto */
  const char *name;
  int threads; /* CPU threads; 0: one for each core */
  /* CPU: precision of arithmetic; on processors that lack the wanted one, FP32 is used, with a warning */
  enum precision precision;

  /* The following fields concern the device's memory and the choice of its kernels. */
  /* largest number of bytes of the device's memory that may be allocated; 0: no limit. For a GPU, pinned host memory is
   * not counted. */
  size_t memory_limit;
  const char *cache_dir; /* folder in which the results of kernel tuning are kept; NULL: they are not kept */
  /* The choices of kernels that another engine has made, as text from engine_get_choices; NULL: the device chooses for
   * itself. With this text a device times no kernels and computes as the other engine does; a CPU also uses as many
   * threads. The pictures of both are equal to the bit on devices of one model with the same driver and libraries.
   * Choices for another device or other versions are ignored with a warning. The text is not read after the device was
   * opened. */
  const char *choices;

  /* The following fields are options for preparing and running programs (compiled lists of ops). */
  /* CUDA: GRAPH_OFF launches the kernels of a program one by one instead of as one captured CUDA graph, for
   * comparison */
  enum graph_use graph;
  /* largest number of pictures that the caller holds at a time, that is, has collected and not yet released; 0: 1 */
  int pictures;
  bool shares_pictures; /* true: other libraries can import the memory of the pictures, through picture.share */
  /* True: weights that adapters change are kept twice, so that one copy can change while the network runs with the
   * other: see device_merge_begin. Has an effect only on devices that support it (CUDA). */
  bool two_sets;
  /* True: no weight is read and nothing runs; only the memory that a model would take is counted (device_counters). A
   * GPU's memory is allocated while the engine is open, the CPU's is not. */
  bool sizes_only;
  /* true: the device records when copies and computation begin and end in each run of a program; device_counters and
   * engine_result return these times */
  bool stamps;

  /* The following fields are functions that the device calls, with their arguments. */
  /* Called often while a device prepares or runs something, with gives_up_opaque. Once it returns true, the current
   * work and any later work fails with STATUS_INTERRUPTED. It must be callable on any thread. NULL: work is never given
   * up. */
  bool (*gives_up)(void *opaque);
  void *gives_up_opaque;
  const struct log *log; /* where the device's log lines go; NULL: they are dropped */
};

#endif
