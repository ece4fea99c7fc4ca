#include "tests/bench/interop.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char ptx[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry fill(.param .u64 to, .param .u32 count, .param .u32 seed)\n{\n"
    ".reg .u32 %r<8>; .reg .u64 %d<4>; .reg .pred %p;\n"
    "ld.param.u64 %d0, [to]; ld.param.u32 %r0, [count]; ld.param.u32 %r1, [seed];\n"
    "mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
    "mad.lo.u32 %r5, %r2, %r3, %r4; setp.ge.u32 %p, %r5, %r0; @%p ret;\n"
    "mul.lo.u32 %r6, %r5, 0x9E3779B1; add.u32 %r6, %r6, %r1;\n"
    "cvta.to.global.u64 %d1, %d0; mul.wide.u32 %d2, %r5, 4; add.u64 %d1, %d1, %d2;\n"
    "st.global.u32 [%d1], %r6; ret;\n}\n"
    ".visible .entry work(.param .u64 to, .param .u32 turns)\n{\n"
    ".reg .u32 %r<4>; .reg .u64 %d<2>; .reg .f32 %f<3>; .reg .pred %p<2>;\n"
    "ld.param.u64 %d0, [to]; ld.param.u32 %r0, [turns]; mov.u32 %r1, %tid.x; cvt.rn.f32.u32 %f0, %r1;\n"
    "mov.f32 %f1, 0f3F7FFFEF; mov.f32 %f2, 0f3F800000; mov.u32 %r2, 0;\n"
    "again: fma.rn.f32 %f0, %f0, %f1, %f2; add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, %r0; @%p0 bra again;\n"
    "setp.lt.f32 %p1, %f0, 0f00000000; cvta.to.global.u64 %d1, %d0; @%p1 st.global.f32 [%d1], %f0; ret;\n}\n";

double wall_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

double cpu_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

char why[300]; /* text that says what failed last, and why */

bool cuda_ok(cudaError_t code, const char *what) {
  if (code)
    snprintf(why, sizeof why, "%s: %s", what, cudaGetErrorString(code));
  if (code)
    cudaGetLastError();
  return !code;
}

bool gl_ok(const char *what) {
  GLenum code = glGetError();
  if (code)
    snprintf(why, sizeof why, "%s: GL error 0x%x", what, code);
  while (code && glGetError())
    ;
  return !code;
}

/* --- CUDA --- */

static cudaKernel_t kernel_fill, kernel_work;
cudaStream_t stream;
static cudaStream_t load_stream;
static cudaEvent_t written;
static cudaGraphExec_t load_graph;
static uint32_t *scratch; /* memory of the device, for the load's kernels */
static int processors;

static void launch_work(uint32_t turns) {
  uint64_t to = (uint64_t)scratch;
  void *arguments[] = {&to, &turns};
  cudaLaunchKernel((const void *)kernel_work, (dim3){(unsigned)processors * 4, 1, 1}, (dim3){256, 1, 1}, arguments, 0,
                   load_stream);
}

static bool make_load(uint32_t turns) {
  cudaGraph_t graph;
  if (!cuda_ok(cudaStreamBeginCapture(load_stream, cudaStreamCaptureModeThreadLocal), "capture"))
    return false;
  for (int i = 0; i < KERNELS; i++)
    launch_work(turns);
  return cuda_ok(cudaStreamEndCapture(load_stream, &graph), "end of capture") &&
         cuda_ok(cudaGraphInstantiate(&load_graph, graph, 0), "instantiate");
}

static double time_load(void) {
  double least = 1e9;
  for (int i = 0; i < 6; i++) {
    double began = wall_us();
    cudaGraphLaunch(load_graph, load_stream);
    cudaStreamSynchronize(load_stream);
    double took = wall_us() - began;
    least = took < least ? took : least;
  }
  return least;
}

bool open_cuda(void) {
  cudaLibrary_t library;
  struct cudaDeviceProp properties;
  int low, high;
  if (!cuda_ok(cudaSetDevice(0), "device") || !cuda_ok(cudaFree(0), "context") ||
      !cuda_ok(cudaGetDeviceProperties(&properties, 0), "properties") ||
      !cuda_ok(cudaLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0), "PTX") ||
      !cuda_ok(cudaLibraryGetKernel(&kernel_fill, library, "fill"), "fill") ||
      !cuda_ok(cudaLibraryGetKernel(&kernel_work, library, "work"), "work"))
    return false;
  processors = properties.multiProcessorCount;
  cudaDeviceGetStreamPriorityRange(&low, &high);
  cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, high);
  cudaStreamCreateWithPriority(&load_stream, cudaStreamNonBlocking, low);
  cudaEventCreateWithFlags(&written, cudaEventDisableTiming);
  if (!cuda_ok(cudaMalloc((void **)&scratch, BYTES), "memory") || !make_load(1000))
    return false;
  double first = time_load();
  uint32_t turns = (uint32_t)(1000 * LOAD_US / first);
  if (!make_load(turns > 10 ? turns : 10))
    return false;
  printf("CUDA device %s, stream priorities %d..%d, a frame of load: %d kernels, %.0f us\n", properties.name, low, high,
         KERNELS, time_load());
  printf("CUDA uuid ");
  for (int i = 0; i < 16; i++)
    printf("%02x", (unsigned char)properties.uuid.bytes[i]);
  printf("\n");
  return true;
}

bool write_picture(uint32_t *to, uint32_t seed) {
  uint64_t address = (uint64_t)to;
  uint32_t count = PIXELS;
  void *arguments[] = {&address, &count, &seed};
  return cuda_ok(cudaLaunchKernel((const void *)kernel_fill, (dim3){PIXELS / 256, 1, 1}, (dim3){256, 1, 1}, arguments,
                                  0, stream),
                 "writing a picture") &&
         cuda_ok(cudaEventRecord(written, stream), "writing a picture") &&
         cuda_ok(cudaEventSynchronize(written), "writing a picture");
}

/* --- the load: frames of CUDA on a thread of its own --- */

atomic_int load_now;
atomic_bool load_ends;
atomic_long load_frames;

void *run_load(void *opaque) {
  cudaEvent_t done[2];
  for (int i = 0; i < 2; i++)
    cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming | cudaEventBlockingSync);
  double next = wall_us();
  bool ahead = false;
  for (long n = 0; !load_ends; n++) {
    int load = load_now;
    if (load == LOAD_NONE) {
      usleep(1000);
      ahead = false;
      continue;
    }
    cudaGraphLaunch(load_graph, load_stream);
    cudaEventRecord(done[n % 2], load_stream);
    if (load == LOAD_FULL && !ahead) {
      ahead = true;
      continue;
    }
    cudaEventSynchronize(done[load == LOAD_FULL ? (n + 1) % 2 : n % 2]);
    load_frames++;
    if (load == LOAD_60) {
      next += 16667;
      double left = next - wall_us();
      next = left < -16667 ? wall_us() : next;
      if (left > 0)
        usleep((useconds_t)left);
    }
  }
  cudaStreamSynchronize(load_stream);
  return opaque;
}
