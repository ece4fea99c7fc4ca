/* The CUDA device from the inside: declarations that the files of cuda/ share. The list has each file above those that
 * it uses.
 *
 *   device.c            opens the GPU, gives information
 *   gpus.[ch]           the machine's GPUs; fences, downloads and page-locked memory without an engine
 *   profile.[ch]        measures a program's launches, in their place and alone
 *   graph.[ch]          prepares programs, and captures their launches as graphs
 *   runs.c              submits and collects runs
 *   recording.[ch]      enqueues or captures a run's launches
 *   buffers.[ch]        memory of runs: parameters, planes on the way to the GPU
 *   run_wait.[ch]       how a thread waits for a run
 *   fuse.[ch]           finds ops that one launch does together
 *   ops.[ch]            turns a plan's ops into launches
 *   ways/               ways to do a convolution or linear layer, and the choice between them
 *   timing.[ch]         measures how long launches take
 *   capture.[ch]        turns launches into a graph
 *   program.[ch]        a prepared plan, and the addresses of its tensors
 *   launches.[ch]       one launch with its arguments, and lists of launches
 *   pictures.[ch]       pictures that runs write, in device memory that can be exported and in host memory
 *   arena.[ch]          working memory, shared by all programs
 *   driver_memory.[ch]  the driver's memory functions, for arena, pictures and OpenGL
 *   memory.c            device and pinned memory, counted and limited; resources: weights and states
 *   weights.c           weights in other forms, changes of weights
 *   weight_merges.[ch]  weights that adapters add to, in two sets
 *   blends.[ch]         changes of weights that the device calculates: adapters
 *   libraries/          libraries that are opened at run time: cuBLASLt, cuDNN, NVML
 *   kernels/            the program's own kernels: product_sm90.cu (PRODUCT.md) and gemm.cu for products,
 *                       halo_sm90.cu and narrow.cu for convolutions with few channels, group_norm.cu and layer_norm.cu
 *                       (NORM.md), row_*.cu, block.cu and norm_conv.cu for several ops at once (ROWS.md); the names of
 *                       the others say what they do
 *
 * One compute stream runs all runs in order, so that programs may share workspaces. Frames are copied on other streams,
 * while the frame before is calculated.
 *
 * Programs are prepared on another thread while runs go on, and no run waits for that. Trials of candidates and
 * captures have a stream of the lowest priority with a workspace, counters and operands of their own (struct
 * preparing). Weights are loaded on a third stream (loads). Captured launches name the final addresses. Two busy
 * streams cannot deadlock, because no kernel waits for a thread block that may not have started. Where parts or splits
 * are added, the thread block that finishes last does it (gemm.cu, epilogue_sm90.cuh, attention's kernel_sm90.cuh).
 * Thread blocks that wait for each other are a cluster, which starts as a whole. A programmatic dependent starts only
 * when all thread blocks of the preceding kernel have started.
 *
 * Memory comes from a pool, because cudaMalloc and cudaFree may wait for the whole GPU. Three other causes can still
 * delay a frame for a moment: the driver's own locks while a graph is made or a kernel's code is loaded; pinned memory
 * (cudaHostAlloc, cudaFreeHost); and cuDNN or cuBLASLt when the first product that tries them is prepared during
 * runs. */
#ifndef CUDA_CUDA_DEVICE_H
#define CUDA_CUDA_DEVICE_H

#include <stdatomic.h>

#include "attention/attention.h"
#include "cuda/kernels/block.h"
#include "cuda/kernels/kernels.h"
#include "cuda/kernels/halo_sm90.h"
#include "cuda/kernels/norm_conv.h"
#include "cuda/kernels/product_sm90.h"
#include "cuda/kernels/rows.h"
#include "cuda/run_wait.h"
#include "unet/plan/arena.h"
#include "unet/plan/derived.h"
#include "unet/plan/device.h"

struct blas;
struct choice;
struct dnn;
struct merge;
struct nvml;
struct picture_home;
struct tuner;

/* --- memory --- */

struct resource_memory {
  void *data; /* the values in the layout that kernels read; NULL: not loaded yet */
  struct element element;
  /* The weight in the second set of weights, if adapters change it. NULL: all runs use the one copy in data. */
  void *other;
  /* The checkpoint's own values of a weight that adapters change. NULL: not needed yet. */
  void *base;
  struct element base_element;
};

/* Returns the address of a weight in set 0 or 1. Adapters change the set that runs do not read at the time. */
static inline void *resource_data(const struct resource_memory *memory, int set) {
  return set && memory->other ? memory->other : memory->data;
}

struct chunk { /* device memory that is kept until the device is closed */
  struct chunk *next;
  void *data;
  size_t size, used;
};

enum {
  WORKSPACE_BYTES = 32 << 20, /* bytes of memory for partial sums and for libraries; one op at a time uses it */
  STAGING_BYTES = 4 << 20,    /* bytes of a buffer for copies to the device */
  /* number of counters, one for each tile of y, with which thread blocks that split a product's sum find the last
   * one */
  ARRIVALS = 1 << 14,
};

/* Buffers for copies of host data to the device: two pinned buffers, used in turn, and device memory in which the data
 * arrive before they are converted. One thread at a time uses them. */
struct staging {
  struct launch_queue queue;
  void *buffer[2]; /* pinned, allocated on first use */
  cudaEvent_t free[2];
  int turn;
  char *arrived;
};

/* Memory that kernels share when they run one after the other. */
struct lane {
  void *workspace;
  unsigned *arrivals; /* the ARRIVALS counters of split sums; all 0 between kernels */
  float *norm_partial;
  /* Memory for attention kernels, of attention_bytes bytes: as much as the largest attention so far needs. It is zeroed
   * once, and each launch leaves it fit for the next one. */
  void *attention;
  size_t attention_bytes;
};
enum { LANES = 2 };

/* What the thread that prepares programs uses while another one may submit runs. */
struct preparing {
  /* Held while a program is prepared or released, so that this happens to one program at a time. A thread that needs
   * base.weights as well locks this one first. */
  pthread_mutex_t lock;
  struct launch_queue queue; /* the queue on which timing trials run and graphs are captured */
  /* Streams for the capture of a graph: for the body of its loop, and for the bodies of its conditional regions. */
  cudaStream_t loop_body, region_body;
  cudaEvent_t loaded; /* recorded after the last copy of weights; timing trials wait for it */
  /* Memory in which ways are timed while a program is prepared: workspace, then counters as in struct lane, then
   * operands. NULL: nothing had to be timed yet. */
  void *memory;
  size_t bytes;
  bool cramped; /* true: memory for timing trials could not be allocated, so that no implementation was timed */
};

struct cuda_device {
  struct device base;
  const struct log *log;
  int ordinal;
  struct cudaDeviceProp properties;
  char driver[64];
  struct nvml *nvml;         /* NULL: not available */
  struct launch_queue queue; /* compute stream */
  cudaStream_t upload, download;
  struct waiter waiter;
  /* valid if `waited`: the last thread that waited for a run; platform_sleep_exactly was called on it */
  pthread_t waits;
  bool waited;
  bool use_graph;
  bool stamps;
  /* Used if `stamps` is true: an event, whose time by CLOCK_MONOTONIC is origin_ns; NULL: none was recorded yet. */
  cudaEvent_t origin;
  int64_t origin_ns;
  struct attn_device attention;
  struct product_device product;

  struct preparing preparing;
  struct arena arena;  /* working memory of programs, which they use one after the other; protected by preparing.lock */
  cudaMemPool_t pool;  /* NULL: this system has no pools */
  cudaStream_t memory; /* orders the pool's allocations; used for nothing else */
  struct device_counters counters;
  struct picture_home *picture_home;
  /* For writes of states and weights by callers, on the compute stream, so in order with runs. */
  struct staging writes;

  /* The following fields are protected by base.weights. */
  struct chunk *chunks;
  /* the memory of resource i of base.resources->list is at index i; there are RESOURCES_MAX entries */
  struct resource_memory *resource;
  struct staging loads; /* buffer for loading weights, for copying them in other layouts, and for changing them */
  struct derived_table derived[2]; /* copies of weights in layouts that some kernels need, for each of the two sets */
  struct merge *merge;             /* NULL: there is one set of weights */
  /* The set of weights (0 or 1) that runs read. The thread that submits reads this field freely; other threads hold
   * base.weights. */
  int set;
  void *shadow;
  size_t shadow_bytes;
  cudaEvent_t shadow_ready, published;

  /* memory for kernels: lane 0 is for most launches; lane 1 is for launches that run in parallel to those, and is empty
   * until a program needs it */
  struct lane lane[LANES];

  struct blas *blas; /* NULL: not available */
  struct dnn *dnn;   /* NULL: not available */
  struct tuner *tuner;
  /* for tests: the implementation for every product that it can compute; NULL: the device chooses */
  const struct choice *forced;
  bool apart;          /* for tests: no launch does several ops */
  bool tune_always;    /* for tests: also times candidates for plans that make no picture */
  atomic_bool running; /* true: a picture was submitted, so preparing now delays a user */
  atomic_uint runs;    /* number of runs begun */
  atomic_int pictures_in_flight;
};

static inline struct cuda_device *cuda_device(struct device *device) {
  return (struct cuda_device *)device;
}

/* Converts, and makes the device's GPU the calling thread's current one. CUDA has a current GPU for each thread, and
 * another thread may have opened the device. */
static inline struct cuda_device *cuda_enter(struct device *device) {
  cudaSetDevice(cuda_device(device)->ordinal);
  return cuda_device(device);
}

/* Allocates device memory, which cuda_free frees. It is counted and limited. what: a noun for the error message. */
int cuda_alloc(struct cuda_device *device, void **pointer, size_t bytes, const char *what, struct error *err);
void cuda_free(struct cuda_device *device, void *pointer, size_t bytes); /* takes NULL */
/* These are for memory that is not allocated by cuda_alloc. cuda_count adds bytes to those in use, and fails if the
 * limit does not allow them. cuda_uncount subtracts freed bytes. cuda_no_room sets the error that the GPU's memory is
 * full, and returns -1. */
int cuda_count(struct cuda_device *device, size_t bytes, const char *what, struct error *err);
void cuda_uncount(struct cuda_device *device, size_t bytes);
int cuda_no_room(struct cuda_device *device, size_t bytes, const char *what, struct error *err);
/* Allocates device memory that is kept until the device is closed. */
int cuda_keep(struct cuda_device *device, void **pointer, size_t bytes, const char *what, struct error *err);
/* Creates a lane's memory if it has none yet. It is cleared on the stream. */
int cuda_open_lane(struct cuda_device *device, struct lane *lane, cudaStream_t stream, struct error *err);
void cuda_memory_free(struct cuda_device *device);
/* cuda_pool_open opens the pool from which cuda_alloc takes memory, if the system has pools; cuda_pool_trim gives the
 * pool's free memory back. */
int cuda_pool_open(struct cuda_device *device, struct error *err);
void cuda_pool_trim(struct cuda_device *device);

/* The use that an op makes of a tensor of the checkpoint, which decides its element type on the device. */
enum role { ROLE_ANY /* the type follows from the shape and `demand` */, ROLE_MATRIX, ROLE_VECTOR };
/* Returns the element type of a resource. This function alone decides it. */
struct element resource_element(const struct resource *r, enum role role);
/* Returns a resource in device memory. It is loaded on first use, on the stream of loads, for which the caller must
 * then wait. NULL with err set on failure. The caller holds base.weights here and in the following four functions. */
struct resource_memory *resource_load(struct cuda_device *device, int index, enum role role, struct error *err);
/* Returns the resource together with the checkpoint's values, which are in FP16 where both the file and the device have
 * that, else in FP32. */
struct resource_memory *resource_base(struct cuda_device *device, int index, struct error *err);
/* Returns the weight of one set with each tap's channels padded with 0 to a multiple of 8. */
half_t *resource_padded(struct cuda_device *device, int index, int set, struct error *err);
/* Returns the weights of a 3x3 convolution after an upsampling by 2 in the layout that launch_quarters writes, with
 * channels padded in the same way. */
half_t *resource_quartered(struct cuda_device *device, int index, int set, struct error *err);
/* Returns a copy of a vector in FP16. */
half_t *resource_f16(struct cuda_device *device, int index, int set, struct error *err);

/* In weights.c. weights_make_form makes a copy of a weight of one set in another layout, such as with padded
 * channels. */
int weights_make_form(struct cuda_device *device, const struct launch_queue *queue, int set, const struct derived *copy,
                      struct error *err);
int weights_update(struct device *device, const struct weight_change *changes, int count, uint64_t version,
                   struct error *err);

/* Copies between host and device and waits, in order with a stream. cudaMemcpy would not be in order: the device's
 * streams do not wait for CUDA's default stream, which may still be busy when cudaMemcpy returns. */
int memory_copy(cudaStream_t stream, void *target, const void *source, size_t bytes, const char *doing,
                struct error *err);
/* Converts FP32 on the host to any element type in device memory, by way of pinned memory. data are copied before it
 * returns; the queue may still be busy. */
int staging_send(struct staging *staging, void *target, struct element element, const float *data, size_t count,
                 struct error *err);
int staging_copy(struct staging *staging, void *target, const void *data, size_t bytes,
                 struct error *err); /* copies bytes without conversion */
/* memory_write converts FP32 values and writes them, on the compute stream; memory_read reads values as FP32, and waits
 * for them. */
int memory_write(struct cuda_device *device, void *target, struct element element, size_t first, const float *data,
                 size_t count, struct error *err);
int memory_read(const struct cuda_device *device, const void *source, struct element element, size_t first, float *data,
                size_t count, struct error *err);

#endif
