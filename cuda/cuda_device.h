/* The CUDA device from the inside: what the files of cuda/ share, each standing above those it uses.
 *
 * device.c            the GPU: opening, information
 * gpus.[ch]           the GPUs that there are; fences, downloads and page-locked memory without an engine
 * profile.[ch]        times of a program's launches, in their place and alone
 * graph.[ch]          programs: capture, submit, collect
 * wait.[ch]           how a thread waits for a run
 * fuse.[ch]           several ops that are one launch
 * ops.[ch]            a plan's ops -> the launches of a program
 * ways/               convolutions and linear layers: which way can do one, which is fastest
 * timing.[ch]         how long launches take
 * capture.[ch]        launches -> a graph
 * program.[ch]        what a program is made of, and where its tensors are
 * launches.[ch]       what a launch is
 * pictures.[ch]       what runs leave behind: device memory that can be exported, and the host's beside it
 * arena.[ch]          working memory, shared by all programs
 * driver_memory.[ch]  the driver's functions for both, and for what OpenGL imports
 * memory.c            device and pinned memory, counted and limited; resources: weights and state
 * weights.c           weights in other forms, weights that change
 * merges.[ch]         weights that adapters add to, in two sets
 * blends.[ch]         changes that the device computes: adapters
 * libraries/          what is opened at run time: cuBLASLt, cuDNN, NVML
 * kernels/            the project's own: product_sm90.cu (PRODUCT.md) and gemm.cu for products, halo_sm90.cu and
 * narrow.cu for convolutions of few channels, group_norm.cu and layer_norm.cu (NORM.md), row_*.cu, block.cu and
 * norm_conv.cu for several ops at once (ROWS.md), the others by name
 *
 * One compute stream runs all runs in order, so that programs may share workspaces. Frames travel on streams of their
 * own, beside the compute of the frame before.
 *
 * Programs are prepared on another thread while runs go on, and no run waits for that. Trials of candidates and
 * captures have a stream of the lowest priority with a workspace, counters and operands of their own (struct
 * preparing); weights come on a stream that neither trials nor runs are on (loads). Captured launches name the final
 * addresses. Two streams at work at once cannot lock each other up: no kernel here waits for a block that may not have
 * started. Those that add up parts or splits leave the sum to whichever block comes last (gemm.cu, epilogue_sm90.cuh,
 * attention's kernel_sm90.cuh); blocks that wait for each other are a cluster, which starts as one; and a programmatic
 * dependent starts once all blocks of the kernel ahead have.
 *
 * Memory comes from a pool, since cudaMalloc and cudaFree may wait for the whole GPU. What is left of that kind and can
 * hold a frame up for a moment: the driver's own locks while a graph is made or a kernel's code is loaded, pinned
 * memory (cudaHostAlloc, cudaFreeHost), and cuDNN or cuBLASLt where the first product that tries them is prepared
 * beside runs. */
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
  void *data; /* in device order; NULL until asked for */
  struct element element;
  void *other; /* of a weight in two sets: where the second set has it; NULL: in one place */
  void *base;  /* of a weight that adapters add to: the checkpoint's values, which data had; NULL until asked for */
  struct element base_element;
};

/* Where one of the two sets has it. */
static inline void *resource_data(const struct resource_memory *memory, int set) {
  return set && memory->other ? memory->other : memory->data;
}

struct chunk { /* of device memory that lives as long as the device */
  struct chunk *next;
  void *data;
  size_t size, used;
};

enum {
  WORKSPACE_BYTES = 32 << 20, /* for split sums and libraries; one op at a time uses it */
  STAGING_BYTES = 4 << 20,    /* of a buffer on the way to the device */
  ARRIVALS = 1 << 14,         /* counters of split products: the most tiles one may have */
};

/* Where host data pass on their way to the device: two pinned buffers in turn, and memory of the device's in which they
 * arrive to be converted. One thread at a time uses one. */
struct staging {
  struct launch_queue queue;
  void *buffer[2]; /* pinned, made on first use */
  cudaEvent_t free[2];
  int turn;
  char *arrived;
};

/* What kernels that run one after the other keep between them. */
struct lane {
  void *workspace;
  unsigned *arrivals; /* all 0 between kernels */
  float *norm_partial;
  void *attention; /* the largest any attention has asked for; 0 between launches */
  size_t attention_bytes;
};
enum { LANES = 2 };

/* What preparing has for itself. */
struct preparing {
  pthread_mutex_t lock;                /* one program at a time is prepared or released; taken before base.weights */
  struct launch_queue queue;           /* trials and captures */
  cudaStream_t loop_body, region_body; /* for capture alone: bodies are captured on them beside the rest */
  cudaEvent_t loaded;                  /* trials wait for it: weights that loads has brought */
  /* Of trials, for as long as a program is prepared: workspace and counters as below, then operands. NULL: none were
   * needed yet. */
  void *memory;
  size_t bytes;
  bool cramped; /* there was no room for it */
};

struct cuda_device {
  struct device base;
  const struct log *log;
  int ordinal;
  struct cudaDeviceProp properties;
  char driver[64];
  struct nvml *nvml;         /* NULL: not there */
  struct launch_queue queue; /* compute */
  cudaStream_t upload, download;
  struct waiter waiter;
  pthread_t waits; /* whose timers are exact */
  bool waited;
  bool use_graph;
  bool stamps;
  cudaEvent_t origin; /* stamps: an event that was at origin_ns of CLOCK_MONOTONIC; NULL: none yet */
  int64_t origin_ns;
  struct attn_device attention;
  struct product_device product;

  struct preparing preparing;
  struct arena arena;  /* what programs work in by turns; under preparing.lock */
  cudaMemPool_t pool;  /* NULL: there are none on this system */
  cudaStream_t memory; /* orders what the pool gives; nothing else is on it */
  struct device_counters counters;
  struct picture_home *picture_home;
  struct staging writes; /* of tensors, in order with runs */

  /* Under base.weights */
  struct chunk *chunks;
  struct resource_memory *resource; /* RESOURCES_MAX, by index in base.resources->list */
  struct staging loads;             /* weights: from the checkpoint, into other forms, and changes into the shadow */
  struct derived_table derived[2];  /* of each set: weights that are kept in other forms as well */
  struct merge *merge;              /* NULL: there is one set of weights */
  int set;                          /* that runs read; on the thread that submits, under base.weights elsewhere */
  void *shadow;
  size_t shadow_bytes;
  cudaEvent_t shadow_ready, published;

  struct lane lane[LANES]; /* of runs; of what runs beside them, empty until it is needed */

  struct blas *blas; /* NULL: not there */
  struct dnn *dnn;   /* NULL: not there */
  struct tuner *tuner;
  const struct choice *forced; /* tests: taken by every product that can take it; NULL: the device chooses */
  bool apart;                  /* tests: no launch does several ops */
  bool tune_always;            /* tests: also time candidates for plans that make no picture */
  atomic_bool running;         /* a picture was asked for: from now on preparing keeps somebody waiting */
  atomic_uint runs;            /* begun so far */
  atomic_int pictures_in_flight;
};

static inline struct cuda_device *cuda_device(struct device *device) {
  return (struct cuda_device *)device;
}

/* The same, and makes it the calling thread's current GPU. CUDA keeps the current GPU of each thread, and another
 * thread may have opened the device. */
static inline struct cuda_device *cuda_enter(struct device *device) {
  cudaSetDevice(cuda_device(device)->ordinal);
  return cuda_device(device);
}

/* Device memory that cuda_free gives back; counted, within the limit. what: for the error's line. */
int cuda_alloc(struct cuda_device *device, void **pointer, size_t bytes, const char *what, struct error *err);
void cuda_free(struct cuda_device *device, void *pointer, size_t bytes); /* takes NULL */
/* What they do with the counters: bytes that are to be allocated, where the limit allows them, and are not any more;
 * and the error of a GPU that is full. */
int cuda_count(struct cuda_device *device, size_t bytes, const char *what, struct error *err);
void cuda_uncount(struct cuda_device *device, size_t bytes);
int cuda_no_room(struct cuda_device *device, size_t bytes, const char *what, struct error *err);
/* Device memory that lives as long as the device. */
int cuda_keep(struct cuda_device *device, void **pointer, size_t bytes, const char *what, struct error *err);
/* Of a lane that has none yet; what fills it is on the stream. */
int cuda_open_lane(struct cuda_device *device, struct lane *lane, cudaStream_t stream, struct error *err);
void cuda_memory_free(struct cuda_device *device);
/* The pool that this memory comes from, where the system has pools, and giving back what is free in it. */
int cuda_pool_open(struct cuda_device *device, struct error *err);
void cuda_pool_trim(struct cuda_device *device);

/* What a tensor of the checkpoint is used as. */
enum role { ROLE_ANY /* by its shape */, ROLE_MATRIX, ROLE_VECTOR };
/* The element type of a resource: chosen here for all of them. */
struct element resource_element(const struct resource *r, enum role role);
/* The resource on the device, loaded on first use, which what is on the stream of loads has then still to wait for;
 * NULL with err set on failure. Of these four the caller holds base.weights. */
struct resource_memory *resource_load(struct cuda_device *device, int index, enum role role, struct error *err);
/* The same with the checkpoint's values beside it: in FP16 where the device has that and the file as well, else FP32.
 */
struct resource_memory *resource_base(struct cuda_device *device, int index, struct error *err);
/* The same weight, of one of the sets, with every tap's channels padded with 0 to a multiple of 8. */
half_t *resource_padded(struct cuda_device *device, int index, int set, struct error *err);
/* The weights of a 3x3 convolution behind a doubling in size, as launch_quarters makes them; channels padded
 * likewise. */
half_t *resource_quartered(struct cuda_device *device, int index, int set, struct error *err);
/* The same vector in FP16. */
half_t *resource_f16(struct cuda_device *device, int index, int set, struct error *err);

/* weights.c: a copy in another form, made from what one set has, and the device's update. */
int weights_make_form(struct cuda_device *device, const struct launch_queue *queue, int set, const struct derived *copy,
                      struct error *err);
int weights_update(struct device *device, const struct weight_change *changes, int count, uint64_t version,
                   struct error *err);

/* Blocking copies between host and device, in order with a stream. cudaMemcpy would not be: the device's streams do not
 * wait for CUDA's default stream, on which it may still be at work when it returns. */
int memory_copy(cudaStream_t stream, void *target, const void *source, size_t bytes, const char *doing,
                struct error *err);
/* Host FP32 to device memory of any element type, by way of pinned memory. data are copied; the queue may still be at
 * work when this returns. */
int staging_send(struct staging *staging, void *target, struct element element, const float *data, size_t count,
                 struct error *err);
int staging_copy(struct staging *staging, void *target, const void *data, size_t bytes,
                 struct error *err); /* bytes as they are */
/* FP32 on the compute stream, and the blocking way back. */
int memory_write(struct cuda_device *device, void *target, struct element element, size_t first, const float *data,
                 size_t count, struct error *err);
int memory_read(const struct cuda_device *device, const void *source, struct element element, size_t first, float *data,
                size_t count, struct error *err);

#endif
