/* Makes the program's devices fail. It is linked in front of both devices (with the linker's --wrap), and they fail in
 * the middle of frame number REVERIE_FAULT_AT, counted from 1. The CPU reports an error. The GPU gets a kernel that
 * stops it, or with REVERIE_FAULT_WRITE one that writes to invalid memory; after either, every CUDA call fails.
 *
 * With REVERIE_FAULT_LOST the CPU then reports that it is lost for this process, as a GPU does.
 *
 * With REVERIE_FAULT_HOLD the second frame makes a file of that name, and takes as long as the file exists. With
 * REVERIE_FAULT_HOLD_WIDTH the first frame whose picture has this width does that instead.
 *
 * With REVERIE_FAULT_FREE the CPU reports so many MB of free memory.
 *
 * With REVERIE_FAULT_PREPARE the GPU is replaced by a device that opens but has no memory for anything: the CPU under
 * another name. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "unet/base/platform.h"
#include "unet/plan/device.h"

#if HAVE_CUDA
#include "cuda/cuda_device.h"
#include "tests/rigs/faulty_kernel.h"
#endif

extern const struct device_impl __real_cpu_device_impl;
extern struct device_impl __wrap_cpu_device_impl;
struct device_impl __wrap_cpu_device_impl;
#if HAVE_CUDA
extern const struct device_impl __real_cuda_device_impl;
extern struct device_impl __wrap_cuda_device_impl;
struct device_impl __wrap_cuda_device_impl;
#endif

void __real_platform_memory(size_t *total, size_t *available);
void __wrap_platform_memory(size_t *total, size_t *available);

void __wrap_platform_memory(size_t *total, size_t *available) {
  const char *megabytes = getenv("REVERIE_FAULT_FREE");
  __real_platform_memory(total, available);
  if (megabytes)
    *available = (size_t)atol(megabytes) * 1000000;
}

/* Returns true if this is the frame to fail in. Prompts and time projections do not count as frames. */
static bool is_fatal(const struct frame *frame) {
  static long count;
  const char *at = getenv("REVERIE_FAULT_AT");
  return frame && at && ++count == atol(at);
}

static bool is_to_hold(const struct frame *picture) {
  static long count;
  const char *width = getenv("REVERIE_FAULT_HOLD_WIDTH");
  return width ? picture && picture->width == atol(width) && ++count == 1 : ++count == 2;
}

static void hold(const struct frame *frame, const struct frame *picture) {
  const char *path = getenv("REVERIE_FAULT_HOLD");
  if (!frame || !path || !is_to_hold(picture))
    return;
  int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    return;
  close(fd);
  while (!access(path, F_OK))
    usleep(1000);
}

static int cpu_submit(struct device *device, struct program *program, const struct run_params *params,
                      const struct frame *frame, const struct frame *picture, struct error *err) {
  hold(frame, picture);
  if (is_fatal(frame)) {
    error_set(err, STATUS_DEVICE, "cpu: failed, as it was told to");
    return getenv("REVERIE_FAULT_LOST") ? error_mark_lost(err) : -1;
  }
  return __real_cpu_device_impl.submit(device, program, params, frame, picture, err);
}

#if HAVE_CUDA
static void fail_gpu(const struct launch_queue *queue) {
  enum { NOWHERE = 64 }; /* an address that is aligned and never mapped */
  const struct pad_args bad = {
      .source = (half_t *)NOWHERE, .target = (half_t *)NOWHERE, .rows = 1 << 16, .width = 8, .pitch = 8};
  if (getenv("REVERIE_FAULT_WRITE"))
    launch_pad(queue, &bad);
  else
    launch_trap(queue->stream);
}

static int cuda_submit(struct device *device, struct program *program, const struct run_params *params,
                       const struct frame *frame, const struct frame *picture, struct error *err) {
  if (is_fatal(frame))
    fail_gpu(&cuda_device(device)->queue);
  return __real_cuda_device_impl.submit(device, program, params, frame, picture, err);
}

static int full_prepare(struct device *device, struct program **program, const struct plan *plan,
                        const struct program_options *options, struct error *err) {
  (void)device, (void)program, (void)plan, (void)options;
  return error_set(err, STATUS_DEVICE, "cuda: full, as it was told to be");
}

static void full_info(struct device *device, struct device_info *info) {
  __real_cpu_device_impl.info(device, info);
  info->replaceable = true;
}

static int full_create(struct device **device, const struct device_options *options, struct error *err) {
  struct device_options own = *options;
  own.name = "cpu";
  return __real_cpu_device_impl.create(device, &own, err);
}
#endif

/* Runs before main, so that nobody has used the devices yet. */
__attribute__((constructor)) static void stand_in_front(void) {
  __wrap_cpu_device_impl = __real_cpu_device_impl;
  __wrap_cpu_device_impl.submit = cpu_submit;
#if HAVE_CUDA
  __wrap_cuda_device_impl = __real_cuda_device_impl;
  __wrap_cuda_device_impl.submit = cuda_submit;
  if (getenv("REVERIE_FAULT_PREPARE")) {
    __wrap_cuda_device_impl = __real_cpu_device_impl;
    __wrap_cuda_device_impl.name = "cuda";
    __wrap_cuda_device_impl.create = full_create;
    __wrap_cuda_device_impl.prepare = full_prepare;
    __wrap_cuda_device_impl.info = full_info;
  }
#endif
}
