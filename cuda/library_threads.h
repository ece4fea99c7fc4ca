/* Opens NVIDIA's libraries and the tuning file on a thread of their own, while the GPU's context is made: to open
 * cuBLASLt takes 0.05 to 0.26 s, because it registers thousands of kernels. If the tuning file has choices of cuBLASLt
 * or cuDNN, one more thread for each of them initialises it while weights are loaded: it asks the library for a
 * product, so that it makes its handle and loads what it needs, 0.08 s each. The file has the choices of all models
 * that ran on this GPU, and which of them runs now is not known before the device is open. So a library may be
 * initialised that is not used: that costs a thread's time and some memory, and nobody waits for it before the device
 * closes. */
#ifndef CUDA_LIBRARY_THREADS_H
#define CUDA_LIBRARY_THREADS_H

#include <pthread.h>
#include <stdbool.h>

#include "unet/base/error.h"

struct cuda_device;

enum library { LIBRARY_BLAS, LIBRARY_DNN, LIBRARIES };

struct library_threads {
  pthread_t open_thread, init_threads[LIBRARIES];
  /* true: the thread was started, and nobody has waited for it yet */
  bool open_joinable, init_joinable[LIBRARIES];
  const char *cache_dir; /* folder of the tuning file, or NULL; borrowed until library_threads_opened returns */
  int status;            /* what opening the tuning file returned: 0 or, with err, -1 */
  struct error err;
};

/* Starts to open the libraries, NVML and the tuning file (device->blas, dnn, nvml, driver, tuner). device->ordinal and
 * device->properties must be set. library_threads_end must be called afterwards. */
void library_threads_begin(struct cuda_device *device, const char *cache_dir);
/* Waits until all of these are open. Returns -1 with err set if the tuning file's table cannot be made. */
int library_threads_opened(struct cuda_device *device, struct error *err);
/* Waits until no other thread asks the library for anything. Must be called before the library is first asked. The
 * caller holds the mutex base.weights. */
void library_threads_wait(struct cuda_device *device, enum library library);
/* Waits for all threads. */
void library_threads_end(struct cuda_device *device);

#endif
