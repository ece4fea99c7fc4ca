#include "cuda/library_threads.h"

#include "cuda/cuda_device.h"
#include "cuda/libraries/libraries.h"
#include "cuda/libraries/nvml.h"
#include "cuda/ways/tuner.h"
#include "cuda/ways/way.h"

/* A product as networks have it. Only its sizes matter: it is never launched. */
static const struct gemm_args linear_layer = {.n = 1,
                                              .h = 1,
                                              .w = 64,
                                              .c = 1280,
                                              .out_h = 1,
                                              .out_w = 64,
                                              .columns = 1280,
                                              .kernel = 1,
                                              .stride = 1,
                                              .splits = 1},
                              convolution = {.n = 1,
                                             .h = 64,
                                             .w = 64,
                                             .c = 8,
                                             .out_h = 64,
                                             .out_w = 64,
                                             .columns = 320,
                                             .kernel = 3,
                                             .stride = 1,
                                             .pad = 1,
                                             .splits = 1};

static void *init_blas(void *opaque) {
  struct cuda_device *device = cuda_enter(opaque);
  blas_product_destroy(blas_product_create(device->blas, &linear_layer, NULL, NULL, 0, NULL, WORKSPACE_BYTES));
  return NULL;
}

static void *init_dnn(void *opaque) {
  struct cuda_device *device = cuda_enter(opaque);
  static const _Alignas(16) half_t bias[8];
  dnn_conv_destroy(dnn_conv_create(device->dnn, &convolution, bias, true, 0, NULL, WORKSPACE_BYTES));
  return NULL;
}

static void start_init(struct cuda_device *device, enum library library, void *(*run)(void *opaque)) {
  struct library_threads *t = &device->libraries;
  t->init_joinable[library] = !pthread_create(&t->init_threads[library], NULL, run, device);
}

static void *open_all(void *opaque) {
  struct cuda_device *device = opaque;
  struct library_threads *t = &device->libraries;
  char bus[32] = "";
  device->blas = blas_open();
  device->dnn = dnn_open();
  cudaDeviceGetPCIBusId(bus, sizeof bus, device->ordinal);
  device->nvml = nvml_open(bus);
  nvml_driver(device->nvml, device->driver, sizeof device->driver);
  t->status = tuner_open(&device->tuner, device, t->cache_dir, &t->err);
  if (t->status == 0 && device->dnn && tuner_has(device->tuner, &way_cudnn))
    start_init(device, LIBRARY_DNN, init_dnn);
  if (t->status == 0 && device->blas && tuner_has(device->tuner, &way_cublaslt))
    start_init(device, LIBRARY_BLAS, init_blas);
  return NULL;
}

void library_threads_begin(struct cuda_device *device, const char *cache_dir) {
  struct library_threads *t = &device->libraries;
  t->cache_dir = cache_dir;
  t->open_joinable = !pthread_create(&t->open_thread, NULL, open_all, device);
  if (!t->open_joinable)
    open_all(device);
}

int library_threads_opened(struct cuda_device *device, struct error *err) {
  struct library_threads *t = &device->libraries;
  if (t->open_joinable)
    pthread_join(t->open_thread, NULL);
  t->open_joinable = false;
  if (t->status < 0 && err)
    *err = t->err;
  return t->status;
}

void library_threads_wait(struct cuda_device *device, enum library library) {
  struct library_threads *t = &device->libraries;
  if (t->init_joinable[library])
    pthread_join(t->init_threads[library], NULL);
  t->init_joinable[library] = false;
}

void library_threads_end(struct cuda_device *device) {
  library_threads_opened(device, NULL);
  for (int i = 0; i < LIBRARIES; i++)
    library_threads_wait(device, (enum library)i);
}
