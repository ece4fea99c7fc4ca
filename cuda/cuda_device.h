/* The CUDA device from the inside: declarations that the files of cuda/ share. The list has each file above those that
 * it uses. A program is a prepared plan; a run is one execution of it, for one frame or a batch of frames.
 *
 *   device.c            opens the GPU, and answers questions about it
 *   gpus.[ch]           the machine's GPUs; fences, downloads and page-locked memory without an engine
 *   profile.[ch]        measures the times of a program's launches, both within a frame and alone
 *   graph.[ch]          prepares programs, and captures their launches as CUDA graphs
 *   runs.c              starts runs, and waits for their results
 *   recording.[ch]      enqueues the launches of a run, or captures them in a graph
 *   buffers.[ch]        memory of runs: parameters, and input planes on the way to the GPU
 *   run_wait.[ch]       how a thread waits for the end of a run
 *   fuse.[ch]           finds sequences of ops that one launch does together
 *   ops.[ch]            turns a plan's ops into launches
 *   ways/               implementations (ways) of convolutions and linear layers, and the choice between them
 *   timing.[ch]         measures how long launches take
 *   capture.[ch]        captures launches as a CUDA graph, in spite of other threads
 *   program.[ch]        a prepared plan, and the addresses of its tensors
 *   launches.[ch]       one launch with its arguments, and lists of launches
 *   pictures.[ch]       pictures that runs write, in device memory that can be exported and in host memory
 *   arena.[ch]          working memory, shared by all programs
 *   driver_memory.[ch]  the driver's memory functions, for the arena, for pictures and for OpenGL
 *   memory.c            device and pinned memory, counted and limited; resources (weights and states)
 *   weights.c           copies of weights in other layouts, and changes of weights
 *   weight_merges.[ch]  weights in two sets, of which adapters change the one that runs do not read
 *   blends.[ch]         calculates weights with the terms of adapters added
 *   libraries/          libraries that are opened at run time: cuBLASLt, cuDNN, NVML
 *   kernels/            the program's own kernels: product_sm90.cu (PRODUCT.md) and gemm.cu for products, window.cu for
 *                       3x3 convolutions, halo_sm90.cu and narrow*.cu for those with few channels, group_norm.cu and
 *                       layer_norm.cu (NORM.md), row_*.cu, block*.cu and norm_conv.cu for several ops at once
 *                       (ROWS.md); the names of the others say what they do
 *
 * All runs execute on one compute stream, one after the other, so that programs may share working memory. While a
 * run is executed, the next frame's planes and the last run's pictures are copied on other streams.
 *
 * Programs are prepared on another thread while runs go on, and no run waits for that. Candidate kernels are timed and
 * graphs are captured on a stream of the lowest priority, with a workspace, counters and operands of their own (struct
 * preparing). Weights are loaded on a third stream (loads). Captured launches contain the addresses that runs use.
 *
 * Kernels on two streams cannot deadlock, because no kernel waits for a thread block that may not have started. Where
 * several thread blocks calculate parts of one sum, the one that finishes last adds the parts (fragments.cuh,
 * epilogue_sm90.cuh, attention's kernel_sm90.cuh). Thread blocks that wait for each other are a cluster, which starts
 * as a whole. A programmatic dependent launch starts only when all thread blocks of the preceding kernel have started.
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
#include "cuda/library_threads.h"
#include "cuda/readers.h"
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

/* --- device memory of weights and states --- */

struct resource_memory {
  void *data; /* device address of the values, in the layout that kernels read; NULL: the weight was not loaded yet */
  struct element element;
  /* Device address of the weight's copy in the second of the two sets of weights (weight_merges.h). It exists only for
   * weights that adapters change. NULL: all runs read `data`. */
  void *other;
  /* Device address of the checkpoint's own values, which are kept for weights that adapters change. NULL: they were not
   * needed yet. */
  void *base;
  struct element base_element;
  /* true: a program's launches, or the engine, may read `data`; false: they read a copy in another layout at most, so
   * that the weight may be dropped (resource_drop) */
  bool read;
};

/* Returns the device address of a weight in set 0 or 1. Runs read one of the two sets, while adapters change the other
 * one. */
static inline void *resource_data(const struct resource_memory *memory, int set) {
  return set && memory->other ? memory->other : memory->data;
}

/* a block of device memory that is divided among small allocations; it is freed when the device is closed */
struct chunk {
  struct chunk *next;
  void *data;
  size_t size, used;
};

/* A part of a chunk that is free again, because the weight that was there was dropped. */
struct gap {
  void *data;
  size_t bytes;
};

enum {
  /* size in bytes of a workspace, in which one op at a time has partial sums, or a library its scratch data */
  WORKSPACE_BYTES = 32 << 20,
  STAGING_BYTES = 4 << 20, /* size in bytes of each buffer through which data are copied to the device */
  /* Number of counters for tiles whose sum is split: several thread blocks each calculate a part of the tile's sum, and
   * find out by the tile's counter which of them finishes last. */
  ARRIVALS = 1 << 14,
};

/* Buffers through which host data are copied to the device: two buffers of page-locked memory, filled in turn, and
 * device memory in which the data arrive if a kernel must convert them. Only one thread at a time uses them. */
struct staging {
  struct launch_queue queue;
  void *buffer[2];     /* page-locked memory of STAGING_BYTES each, allocated on first use */
  cudaEvent_t free[2]; /* for each buffer: event after its last copy to the device */
  int turn;            /* index in buffer[] of the buffer that was filled last */
  size_t at, end;      /* where in this buffer the last data begin, and where the next ones may begin */
  /* device memory, STAGING_BYTES for each buffer: the buffer's data are copied here if a kernel then has to convert
   * them */
  char *arrived;
};

/* How many bytes of weights were read from files so far, and for how many seconds. */
struct loaded {
  size_t bytes;
  double seconds;
};

/* A lane: working memory of kernels that run one after the other. Kernels that run at the same time use different
 * lanes. */
struct lane {
  void *workspace; /* WORKSPACE_BYTES bytes of device memory for partial sums, and for libraries */
  /* ARRIVALS counters for tiles whose sum is split between thread blocks; all are 0 between kernels */
  unsigned *arrivals;
  float *norm_partial; /* device memory of NORM_PARTIAL_FLOATS floats, for sums of group norms, of guidance rescale and
                        * of depth maps */
  /* Device memory for attention kernels: attention_bytes bytes, as many as the largest attention so far needs. It is
   * zeroed once, and each launch leaves it as the next one expects it. */
  void *attention;
  size_t attention_bytes;
};
enum { LANES = 2 };

/* The stream, memory and lock with which one thread prepares programs while another one may submit runs. */
struct preparing {
  /* Lock that is held while a program is prepared or released, so that no other program is prepared or released at the
   * same time. A thread that needs base.weights as well locks this lock first. */
  pthread_mutex_t lock;
  struct launch_queue queue; /* the queue (CUDA stream) on which candidate kernels are timed and graphs are captured */
  /* Streams on which parts of a graph are captured: the body of the plan's loop, the bodies of conditional nodes (ops
   * that a run may skip), and launches that run at the same time as others, outside the loop and in it. */
  cudaStream_t loop_body, region_body, beside, loop_beside;
  /* event that is recorded after the last copy of weights to the device; timing trials wait for it */
  cudaEvent_t loaded;
  /* Device memory in which candidate kernels of convolutions and linear layers are timed: a workspace for partial
   * sums, then counters for tiles whose sum is split (ARRIVALS of them), then operands. NULL: nothing had to be timed
   * yet. */
  void *memory;
  size_t bytes;
  bool cramped; /* true: memory for timing trials could not be allocated, so nothing is timed for this program */
};

struct cuda_device {
  struct device base;
  const struct log *log;
  int ordinal;
  struct cudaDeviceProp properties;
  char driver[64];
  struct nvml *nvml;         /* NVIDIA's management library (clocks, power); NULL: it is not installed */
  struct launch_queue queue; /* queue of the compute stream, on which all runs are executed, one after the other */
  cudaStream_t upload, download;
  struct waiter waiter;
  /* The last thread that waited for a run. platform_sleep_exactly was called for this thread, so that its sleeps end on
   * time. Valid if `waited` is true. */
  pthread_t waits;
  bool waited;
  bool use_graph; /* true: programs are captured as graphs; false: launches are enqueued one by one */
  bool stamps;    /* true: runs report the times at which their stages (copies to the GPU, computing, copies to the
                   * host) began and ended */
  /* An event, and the time origin_ns of CLOCK_MONOTONIC at which it was recorded: the times of other events are
   * computed from these. Used if `stamps` is true, that is, if runs report when their stages (such as copies) began and
   * ended. NULL: none was recorded yet. */
  cudaEvent_t origin;
  int64_t origin_ns;
  struct attn_device attention;
  struct product_device product;

  struct preparing preparing;
  struct arena arena;  /* working memory that programs use one after the other; protected by preparing.lock */
  cudaMemPool_t pool;  /* pool from which device memory is allocated; NULL: this system supports no pools */
  cudaStream_t memory; /* stream that orders the pool's allocations; nothing else runs on it */
  struct device_counters counters;
  struct picture_home *picture_home;
  /* Buffers for values that callers write to states and weights. They are copied on the compute stream, so that a write
   * happens between two runs. */
  struct staging writes;

  /* The following fields are protected by the mutex base.weights. */
  struct chunk *chunks;
  struct gap *gaps;
  int gap_count, gap_room;
  /* memory of the resources (weights and other tensors that plans share): element i is for resource i of
   * base.resources->list; there are RESOURCES_MAX entries */
  struct resource_memory *resource;
  /* buffers through which weights are loaded, with the stream on which weights are loaded, changed, and copied to other
   * layouts */
  struct staging loads;
  struct loaded loaded;
  struct readers *readers; /* threads that read weights; NULL: none was needed yet, or there are none */
  /* copies of weights in the layouts that some kernels need, for each of the two sets of weights */
  struct derived_table derived[2];
  /* the adapters' changes that are being made to the second set of weights (weight_merges.h); NULL: there is only one
   * set */
  struct merge *merge;
  /* The set of weights (0 or 1) that runs read. The thread that submits reads this field without a lock; other threads
   * hold the mutex base.weights. */
  int set;
  /* device memory of shadow_bytes bytes in which changed weights are prepared (weights.c); NULL: none was needed yet */
  void *shadow;
  size_t shadow_bytes;
  /* shadow_ready: event on the stream of `loads` after the last preparation of changed weights, or of copies of
   * weights. published: event on the compute stream after the last copy of changed weights from the shadow buffer to
   * their places. */
  cudaEvent_t shadow_ready, published;

  /* Working memory of kernels. Lane 0 is for most launches. Lane 1 is for launches that run in parallel to those; it
   * has no memory until a program has such launches. */
  struct lane lane[LANES];

  struct library_threads libraries;
  struct blas *blas; /* cuBLASLt; NULL: the library is not installed */
  struct dnn *dnn;   /* cuDNN; NULL: the library is not installed */
  struct tuner *tuner;
  /* for tests: the implementation to use for every convolution and linear layer that it can compute; NULL: the device
   * chooses */
  const struct choice *forced;
  bool apart;       /* for tests: true: each op has launches of its own, none is fused with others */
  bool together;    /* for tests: true: ops that are one product are so with a forced implementation as well */
  bool tune_always; /* for tests: true: implementations are also timed for plans that make no picture */
  /* true: a run that makes a picture was submitted, so from now on a user waits while a plan is prepared */
  atomic_bool running;
  atomic_uint runs; /* number of runs that were submitted so far */
  atomic_int pictures_in_flight;
};

static inline struct cuda_device *cuda_device(struct device *device) {
  return (struct cuda_device *)device;
}

/* Converts a pointer to the general struct device to one to this device's own struct. Makes the GPU current for the
 * calling thread: CUDA keeps a current GPU for each thread, and another thread may have opened the device. */
static inline struct cuda_device *cuda_enter(struct device *device) {
  cudaSetDevice(cuda_device(device)->ordinal);
  return cuda_device(device);
}

/* Allocates device memory, which counts towards the memory limit and is freed by cuda_free. what: a noun for the error
 * message, such as "workspace". */
int cuda_alloc(struct cuda_device *device, void **pointer, size_t bytes, const char *what, struct error *err);
void cuda_free(struct cuda_device *device, void *pointer, size_t bytes); /* frees memory of cuda_alloc; `pointer` may be
                                                                          * NULL */
/* For device memory that cuda_alloc does not allocate. cuda_count adds its bytes to those in use, and fails if the
 * limit does not allow them. cuda_uncount subtracts freed bytes. cuda_no_room sets the error that the GPU's memory is
 * full, and returns -1. */
int cuda_count(struct cuda_device *device, size_t bytes, const char *what, struct error *err);
void cuda_uncount(struct cuda_device *device, size_t bytes);
int cuda_no_room(struct cuda_device *device, size_t bytes, const char *what, struct error *err);
/* Allocates device memory that is freed only when the device is closed. */
int cuda_keep(struct cuda_device *device, void **pointer, size_t bytes, const char *what, struct error *err);
/* The same for weights and their copies, whose memory may be where a dropped weight was. It must first be used on the
 * stream of `loads`, on which the dropped weight was read last. */
int cuda_keep_weight(struct cuda_device *device, void **pointer, size_t bytes, const char *what, struct error *err);
/* Allocates the memory of a lane (working memory of kernels that run one after the other) unless it has memory already,
 * and zeroes it on the stream. */
int cuda_open_lane(struct cuda_device *device, struct lane *lane, cudaStream_t stream, struct error *err);
/* Frees all memory of cuda_keep (weights, their copies in other layouts, working memory of kernels), the staging
 * buffers, the shadow buffer (new values of weights, before they are copied to their places) and the pool. */
void cuda_memory_free(struct cuda_device *device);
/* cuda_pool_open opens the pool from which cuda_alloc takes memory, if the system has pools; cuda_pool_trim gives the
 * pool's free memory back. */
int cuda_pool_open(struct cuda_device *device, struct error *err);
void cuda_pool_trim(struct cuda_device *device);

/* How an op uses a tensor of the checkpoint: as a matrix, as a vector (bias, gamma, beta), or in any other way. The
 * element type on the device follows from this use. */
enum role { ROLE_ANY /* the type follows from the tensor's shape and its `demand` */, ROLE_MATRIX, ROLE_VECTOR };
/* Returns the number format (such as FP16) in which the device stores a resource: a weight, or another tensor that
 * plans share. No other function decides this. */
struct element resource_element(const struct resource *r, enum role role);
/* Returns the memory of a resource (a weight or another tensor that plans share); NULL with err set on failure. The
 * first call for a resource loads it, on the stream of `loads`, for which the caller must then wait. The caller holds
 * the mutex base.weights, here and in the following functions of resources. */
struct resource_memory *resource_load(struct cuda_device *device, int index, enum role role, struct error *err);
/* Lets weights that are loaded later have the memory of a weight that nothing reads, because launches read a copy in
 * another layout. resource_load loads it again if it is needed later. Does nothing if the weight has changed, or if
 * adapters may change it. */
void resource_drop(struct cuda_device *device, int index);
/* Loads a resource (a weight or another tensor that plans share). Also stores the checkpoint's own values, without
 * adapters' changes, in the field `base` of the result: in FP16 if both the file and the device have FP16, else in
 * FP32. Returns NULL with err set on failure. */
struct resource_memory *resource_base(struct cuda_device *device, int index, struct error *err);
/* Returns a copy of a weight of one set in which the channels of each tap (place of the convolution window) are padded
 * with 0 to a multiple of 8. */
half_t *resource_padded(struct cuda_device *device, int index, int set, struct error *err);
/* Returns the weights of a 3x3 convolution that follows an upsampling by 2, converted by launch_quarters to four 2x2
 * convolutions of the input before the upsampling. Channels are padded with 0 to a multiple of 8. If the weight itself
 * was dropped (resource_drop), it is loaded only if there is no such copy yet. */
half_t *resource_quartered(struct cuda_device *device, int index, int set, struct error *err);
/* Returns an FP16 copy of a vector, such as a bias, for libraries that take no FP32 vectors. index: the vector's index
 * in resources.list. set: the set of weights, 0 or 1. Returns NULL with err set on failure. */
half_t *resource_f16(struct cuda_device *device, int index, int set, struct error *err);

/* A linear layer `inner` to the c channels of another one's input, as indices in resources.list: its weight [c, width]
 * and bias, and the other one's bias; -1: no bias. */
struct folded_layers {
  int inner, inner_bias, bias;
  int width;
};
/* Returns the weight of two linear layers as one (launch_fold_weights), and in *bias its bias, in FP32. index: the
 * second layer's weight. It and the resources of `layers` are loaded for that. Then both weights are dropped, if
 * nothing else reads them. */
half_t *resource_folded(struct cuda_device *device, int index, struct folded_layers layers, int set, float **bias,
                        struct error *err);
/* Does the same for two convolutions that are one (launch_compose), and drops nothing. Then `layers` names the first
 * convolution's weight and bias and the second one's bias; its width is 0. */
half_t *resource_composed(struct cuda_device *device, int index, struct folded_layers layers, int set, float **bias,
                          struct error *err);

/* Returns true if a copy in another layout depends on a resource that has changed. changed: for each element of
 * resources.list, if it has. weights_form_work returns how long making the copy takes, in values of a plain copy. */
bool weights_form_reads(const struct derived *copy, const bool *changed);
size_t weights_form_work(const struct derived *copy);
/* Loads all that the copy is made of. */
int weights_form_load(struct cuda_device *device, const struct derived *copy, struct error *err);
/* Makes `copy`: a copy of a weight in another layout, such as with padded channels. set: 0 or 1, the one of the two
 * sets of weights from which it is made. Defined in weights.c. */
int weights_make_form(struct cuda_device *device, const struct launch_queue *queue, int set, const struct derived *copy,
                      struct error *err);
/* Does the work of device_update (unet/plan/device.h): changes rows of weights between two runs. */
int weights_update(struct device *device, const struct weight_change *changes, int count, uint64_t version,
                   struct error *err);

/* Copies between host and device in order with a stream, and waits for the copy. cudaMemcpy cannot be used: it is
 * ordered with CUDA's default stream, for which the device's streams do not wait. */
int memory_copy(cudaStream_t stream, void *target, const void *source, size_t bytes, const char *doing,
                struct error *err);
/* Starts to copy `count` FP32 values from the host to device memory, by way of page-locked memory, and converts them to
 * the type `element`. The caller may change `data` after the call, although the copy may still be under way. */
int staging_send(struct staging *staging, void *target, struct element element, const float *data, size_t count,
                 struct error *err);
/* Starts to copy `bytes` bytes from the host to device memory, unchanged, by way of page-locked memory. The caller may
 * change `data` after the call, although the copy may still be under way. */
int staging_copy(struct staging *staging, void *target, const void *data, size_t bytes, struct error *err);
/* memory_write writes FP32 values to device memory in the type `element`, on the compute stream; memory_read reads
 * values as FP32, and waits for them. */
int memory_write(struct cuda_device *device, void *target, struct element element, size_t first, const float *data,
                 size_t count, struct error *err);
int memory_read(const struct cuda_device *device, const void *source, struct element element, size_t first, float *data,
                size_t count, struct error *err);

#endif
