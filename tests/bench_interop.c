/* How a picture that CUDA wrote comes into a texture of OpenGL: every way there is, what it costs the thread that does
 * it, how long it takes until OpenGL has drawn it, and what drawing costs CUDA, which takes turns with it on the GPU.
 * Needs a GPU with CUDA and OpenGL; SDL_VIDEODRIVER=offscreen where there is no screen. Prints tables. */
#include <SDL.h>
#include <cuda.h>
#include <epoxy/egl.h>
#include <epoxy/gl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* After epoxy's: these bring GL's and EGL's own headers. */
#define GL_GLEXT_PROTOTYPES_NOT_WANTED
#include <cuda_egl_interop.h>
#include <cuda_gl_interop.h>
#include <cuda_runtime_api.h>

enum {
  SIDE = 512,
  PIXELS = SIDE * SIDE,
  BYTES = PIXELS * 4,
  ROUNDS = 200,
  WARM = 10,
  LOOK_EVERY = 4, /* rounds */
  KERNELS = 300,  /* of a frame of the load */
  LOAD_US = 3000,
  WINDOW_W = 1280,
  WINDOW_H = 720,
};

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

static double wall_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double cpu_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static char why[300]; /* of what failed last */

static bool cuda_ok(cudaError_t code, const char *what) {
  if (code)
    snprintf(why, sizeof why, "%s: %s", what, cudaGetErrorString(code));
  if (code)
    cudaGetLastError();
  return !code;
}

static bool gl_ok(const char *what) {
  GLenum code = glGetError();
  if (code)
    snprintf(why, sizeof why, "%s: GL error 0x%x", what, code);
  while (code && glGetError())
    ;
  return !code;
}

/* --- CUDA --- */

static cudaKernel_t kernel_fill, kernel_work;
static cudaStream_t stream, load_stream;
static cudaEvent_t written;
static cudaGraphExec_t load_graph;
static uint32_t *scratch; /* device */
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

static bool open_cuda(void) {
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

static bool write_picture(uint32_t *to, uint32_t seed) {
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

enum load { LOAD_NONE, LOAD_60, LOAD_FULL, LOADS };
static const char *const load_names[LOADS] = {"alone", "3 ms at 60/s", "3 ms without pause"};
static atomic_int load_now;
static atomic_bool load_ends;
static atomic_long load_frames;

static void *run_load(void *opaque) {
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

/* --- OpenGL --- */

static SDL_Window *window;
static GLuint texture, target, framebuffer, arrays[2], program, buffer_program, buffer_texture;
static bool from_buffer; /* drawn out of buffer_texture */
static int context_now;
static EGLDisplay display;
static EGLSurface surface;
static EGLContext contexts[2]; /* SDL's, and one of high priority */

static GLuint compile(GLenum kind, const char *text) {
  GLuint shader = glCreateShader(kind);
  GLint good;
  char words[400] = "";
  glShaderSource(shader, 1, &text, NULL);
  glCompileShader(shader);
  glGetShaderiv(shader, GL_COMPILE_STATUS, &good);
  glGetShaderInfoLog(shader, sizeof words, NULL, words);
  if (!good)
    printf("shader: %s\n", words);
  return shader;
}

static GLuint link_program(const char *fragment) {
  static const char vertex[] = "#version 330 core\nout vec2 at;\nvoid main() {\n"
                               "  at = vec2(gl_VertexID & 1, gl_VertexID >> 1);\n"
                               "  gl_Position = vec4(at * 2 - 1, 0, 1);\n}\n";
  GLuint made = glCreateProgram();
  glAttachShader(made, compile(GL_VERTEX_SHADER, vertex));
  glAttachShader(made, compile(GL_FRAGMENT_SHADER, fragment));
  glLinkProgram(made);
  return made;
}

static void make_texture(void) {
  glGenTextures(1, &texture);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, 0);
}

static void make_plain_texture(void) {
  make_texture();
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
}

/* Vertex arrays and framebuffers are a context's own. */
static GLuint make_framebuffer(void) {
  GLuint made;
  glGenFramebuffers(1, &made);
  glBindFramebuffer(GL_FRAMEBUFFER, made);
  glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, target, 0);
  glBindFramebuffer(GL_FRAMEBUFFER, 0);
  return made;
}

static GLuint framebuffers[2];

static void use_context(int i) {
  if (context_now != i && contexts[i] && !eglMakeCurrent(display, surface, surface, contexts[i]))
    printf("context %d cannot be current: EGL error 0x%x\n", i, eglGetError());
  context_now = i;
  glBindVertexArray(arrays[i]);
  framebuffer = framebuffers[i];
}

static void open_high(void) {
  display = eglGetCurrentDisplay();
  surface = eglGetCurrentSurface(EGL_DRAW);
  contexts[0] = eglGetCurrentContext();
  if (!contexts[0]) {
    printf("no EGL context: no high priority\n");
    return;
  }
  const char *extensions = eglQueryString(display, EGL_EXTENSIONS);
  printf("EGL %s, context_priority %s, realtime %s\n", eglQueryString(display, EGL_VERSION),
         strstr(extensions, "EGL_IMG_context_priority") ? "yes" : "no",
         strstr(extensions, "EGL_NV_context_priority_realtime") ? "yes" : "no");
  EGLint id, count, level = 0;
  EGLConfig config;
  eglQueryContext(display, contexts[0], EGL_CONTEXT_PRIORITY_LEVEL_IMG, &level);
  printf("priority of SDL's context 0x%x\n", level);
  eglQueryContext(display, contexts[0], EGL_CONFIG_ID, &id);
  eglChooseConfig(display, (EGLint[]){EGL_CONFIG_ID, id, EGL_NONE}, &config, 1, &count);
  contexts[1] = eglCreateContext(display, config, contexts[0],
                                 (EGLint[]){EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 3,
                                            EGL_CONTEXT_OPENGL_PROFILE_MASK, EGL_CONTEXT_OPENGL_CORE_PROFILE_BIT,
                                            EGL_CONTEXT_PRIORITY_LEVEL_IMG, EGL_CONTEXT_PRIORITY_HIGH_IMG, EGL_NONE});
  if (!contexts[1]) {
    printf("no context of high priority: EGL error 0x%x\n", eglGetError());
    return;
  }
  eglQueryContext(display, contexts[1], EGL_CONTEXT_PRIORITY_LEVEL_IMG, &level);
  printf("priority of a context that asks for high: 0x%x (high is 0x%x)\n", level, EGL_CONTEXT_PRIORITY_HIGH_IMG);
  if (!eglMakeCurrent(display, surface, surface, contexts[1])) {
    printf("high context cannot be current: EGL error 0x%x\n", eglGetError());
    contexts[1] = NULL;
    return;
  }
  context_now = 1;
  glGenVertexArrays(1, &arrays[1]);
  framebuffers[1] = make_framebuffer();
  use_context(0);
}

static bool open_gl(void) {
  if (SDL_Init(SDL_INIT_VIDEO)) {
    printf("SDL: %s\n", SDL_GetError());
    return false;
  }
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_MAJOR_VERSION, 3);
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_MINOR_VERSION, 3);
  SDL_GL_SetAttribute(SDL_GL_CONTEXT_PROFILE_MASK, SDL_GL_CONTEXT_PROFILE_CORE);
  window = SDL_CreateWindow("interop", 0, 0, WINDOW_W, WINDOW_H, SDL_WINDOW_OPENGL);
  if (!window || !SDL_GL_CreateContext(window)) {
    printf("SDL: %s\n", SDL_GetError());
    return false;
  }
  SDL_GL_SetSwapInterval(0);
  printf("OpenGL %s, %s, SDL driver %s\n", glGetString(GL_VERSION), glGetString(GL_RENDERER),
         SDL_GetCurrentVideoDriver());
  static const char *const wanted[] = {"GL_EXT_memory_object", "GL_EXT_memory_object_fd", "GL_EXT_semaphore",
                                       "GL_EXT_semaphore_fd",  "GL_ARB_buffer_storage",   "GL_ARB_direct_state_access",
                                       "GL_OES_EGL_image",     "GL_NV_bindless_texture",  "GL_ARB_sync"};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    printf("%s %s; ", wanted[i], epoxy_has_gl_extension(wanted[i]) ? "yes" : "no");
  printf("\n");
  if (epoxy_has_gl_extension("GL_EXT_memory_object")) {
    GLint devices = 0;
    GLubyte uuid[16] = {0};
    glGetIntegerv(GL_NUM_DEVICE_UUIDS_EXT, &devices);
    glGetUnsignedBytei_vEXT(GL_DEVICE_UUID_EXT, 0, uuid);
    printf("GL uuid   ");
    for (int i = 0; i < 16; i++)
      printf("%02x", uuid[i]);
    printf(" (of %d)\n", devices);
  }
  program = link_program("#version 330 core\nin vec2 at;\nout vec4 color;\nuniform sampler2D from;\n"
                         "void main() { color = texture(from, at); }\n");
  buffer_program =
      link_program("#version 330 core\nin vec2 at;\nout vec4 color;\nuniform samplerBuffer from;\n"
                   "void main() { ivec2 p = ivec2(at * 512); color = texelFetch(from, p.y * 512 + p.x); }\n");
  glGenTextures(1, &target);
  glBindTexture(GL_TEXTURE_2D, target);
  glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, SIDE, SIDE, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glGenVertexArrays(1, &arrays[0]);
  framebuffers[0] = make_framebuffer();
  use_context(0);
  open_high();
  return gl_ok("opening");
}

static void draw(bool to_window) {
  glBindFramebuffer(GL_FRAMEBUFFER, to_window ? 0 : framebuffer);
  if (to_window)
    glViewport(0, 0, WINDOW_W, WINDOW_H);
  else
    glViewport(0, 0, SIDE, SIDE);
  glUseProgram(from_buffer ? buffer_program : program);
  if (from_buffer)
    glBindTexture(GL_TEXTURE_BUFFER, buffer_texture);
  else
    glBindTexture(GL_TEXTURE_2D, texture);
  glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
}

static void swap(void) {
  if (context_now)
    eglSwapBuffers(display, surface);
  else
    SDL_GL_SwapWindow(window);
}

static bool is_right(uint32_t seed) {
  static uint32_t read[PIXELS];
  glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
  glPixelStorei(GL_PACK_ALIGNMENT, 1);
  glReadPixels(0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, read);
  for (uint32_t i = 0; i < PIXELS; i++)
    if (read[i] != i * 0x9E3779B1u + seed)
      return false;
  return true;
}

/* --- the ways --- */

static uint32_t *device_picture; /* plain CUDA memory */
static uint32_t *pinned, *mapped_buffer;
static GLuint buffer, own_buffer, memory;
static cudaGraphicsResource_t resource;
static EGLImageKHR image;
static CUdeviceptr shared_address;
static size_t shared_bytes;
static CUmemGenericAllocationHandle shared_handle;
static int shared_fd = -1;

static void copy_from_buffer(void) {
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
}

static uint32_t *open_plain(void) {
  make_plain_texture();
  return cuda_ok(cudaMalloc((void **)&device_picture, BYTES), "memory") ? device_picture : NULL;
}

static uint32_t *open_pinned(void) {
  return cuda_ok(cudaHostAlloc((void **)&pinned, BYTES, cudaHostAllocPortable), "pinned memory") ? open_plain() : NULL;
}

static bool hand_nothing(void) {
  return true;
}

static bool hand_upload(void) {
  if (!cuda_ok(cudaMemcpyAsync(pinned, device_picture, BYTES, cudaMemcpyDeviceToHost, stream), "download") ||
      !cuda_ok(cudaStreamSynchronize(stream), "download"))
    return false;
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pinned);
  return true;
}

static bool hand_pinned(void) {
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, pinned);
  return true;
}

static uint32_t *open_persistent(void) {
  static const GLbitfield flags = GL_MAP_WRITE_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  glBufferStorage(GL_PIXEL_UNPACK_BUFFER, BYTES, NULL, flags | GL_CLIENT_STORAGE_BIT);
  mapped_buffer = glMapBufferRange(GL_PIXEL_UNPACK_BUFFER, 0, BYTES, flags);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  return gl_ok("persistent buffer") && mapped_buffer ? open_plain() : NULL;
}

static uint32_t *open_persistent_memory(void) {
  return cuda_ok(cudaHostAlloc((void **)&pinned, BYTES, cudaHostAllocPortable), "pinned memory") ? open_persistent()
                                                                                                 : NULL;
}

static uint32_t *open_persistent_registered(void) {
  uint32_t *picture = open_persistent();
  return picture && cuda_ok(cudaHostRegister(mapped_buffer, BYTES, cudaHostRegisterPortable), "host register") ? picture
                                                                                                               : NULL;
}

static bool hand_persistent(void) {
  if (!cuda_ok(cudaMemcpyAsync(mapped_buffer, device_picture, BYTES, cudaMemcpyDeviceToHost, stream), "download") ||
      !cuda_ok(cudaStreamSynchronize(stream), "download"))
    return false;
  copy_from_buffer();
  return true;
}

static bool register_buffer(void) {
  glGenBuffers(1, &buffer);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, buffer);
  glBufferData(GL_PIXEL_UNPACK_BUFFER, BYTES, NULL, GL_STREAM_COPY);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  return gl_ok("buffer") &&
         cuda_ok(cudaGraphicsGLRegisterBuffer(&resource, buffer, cudaGraphicsRegisterFlagsWriteDiscard),
                 "register buffer");
}

static uint32_t *open_registered(void) {
  uint32_t *picture = open_plain();
  return picture && register_buffer() ? picture : NULL;
}

static bool hand_registered(void) {
  void *to;
  size_t bytes;
  if (!cuda_ok(cudaGraphicsMapResources(1, &resource, stream), "map") ||
      !cuda_ok(cudaGraphicsResourceGetMappedPointer(&to, &bytes, resource), "pointer") ||
      !cuda_ok(cudaMemcpyAsync(to, device_picture, BYTES, cudaMemcpyDeviceToDevice, stream), "copy") ||
      !cuda_ok(cudaGraphicsUnmapResources(1, &resource, stream), "unmap"))
    return false;
  copy_from_buffer();
  return true;
}

static uint32_t *open_mapped_once(void) {
  void *to;
  size_t bytes;
  make_plain_texture();
  return register_buffer() && cuda_ok(cudaGraphicsMapResources(1, &resource, stream), "map") &&
                 cuda_ok(cudaGraphicsResourceGetMappedPointer(&to, &bytes, resource), "pointer")
             ? to
             : NULL;
}

static bool hand_buffer(void) {
  copy_from_buffer();
  return gl_ok("copy from buffer");
}

/* OpenGL has no way to learn that CUDA wrote, but for what it is told of its own writing. */
static bool hand_barred_buffer(void) {
  glMemoryBarrier(GL_PIXEL_BUFFER_BARRIER_BIT);
  return hand_buffer();
}

static bool hand_barred_texels(void) {
  glMemoryBarrier(GL_TEXTURE_FETCH_BARRIER_BIT);
  return gl_ok("barrier");
}

/* Through a buffer of OpenGL's own. */
static bool hand_copied_buffer(void) {
  glBindBuffer(GL_COPY_READ_BUFFER, buffer);
  glBindBuffer(GL_COPY_WRITE_BUFFER, own_buffer);
  glCopyBufferSubData(GL_COPY_READ_BUFFER, GL_COPY_WRITE_BUFFER, 0, 0, BYTES);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, own_buffer);
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, SIDE, SIDE, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  return gl_ok("copy");
}

/* As pictures in ordinary memory come. */
static bool hand_memory(void) {
  memcpy(mapped_buffer, pinned, BYTES);
  copy_from_buffer();
  return true;
}

/* Waits, so that OpenGL reads what is there. */
static bool copy_to_array(cudaArray_t array) {
  return cuda_ok(
      cudaMemcpy2DToArrayAsync(array, 0, 0, device_picture, SIDE * 4, SIDE * 4, SIDE, cudaMemcpyDeviceToDevice, stream),
      "copy to array");
}

static uint32_t *open_registered_image(void) {
  uint32_t *picture = open_plain();
  return picture && cuda_ok(cudaGraphicsGLRegisterImage(&resource, texture, GL_TEXTURE_2D,
                                                        cudaGraphicsRegisterFlagsWriteDiscard),
                            "register image")
             ? picture
             : NULL;
}

static bool hand_registered_image(void) {
  cudaArray_t array;
  return cuda_ok(cudaGraphicsMapResources(1, &resource, stream), "map") &&
         cuda_ok(cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0), "array") && copy_to_array(array) &&
         cuda_ok(cudaGraphicsUnmapResources(1, &resource, stream), "unmap");
}

static cudaArray_t kept_array;

static uint32_t *open_image_mapped_once(void) {
  uint32_t *picture = open_registered_image();
  return picture && cuda_ok(cudaGraphicsMapResources(1, &resource, stream), "map") &&
                 cuda_ok(cudaGraphicsSubResourceGetMappedArray(&kept_array, resource, 0, 0), "array")
             ? picture
             : NULL;
}

static bool hand_kept_array(void) {
  return copy_to_array(kept_array) && cuda_ok(cudaStreamSynchronize(stream), "copy");
}

/* Driver calls by name, so that nothing links to libcuda. */
static void *driver(const char *name) {
  void *found = NULL;
  enum cudaDriverEntryPointQueryResult result;
  if (cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result))
    return NULL;
  return found;
}

#define DRIVER(name) ((__typeof__(&name))driver(#name))

static bool driver_ok(CUresult code, const char *what) {
  if (code)
    snprintf(why, sizeof why, "%s: CUDA driver error %d", what, code);
  return !code;
}

static bool make_shared(void) {
  CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                    .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0}};
  CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  size_t step = 0;
  if (!driver_ok(DRIVER(cuMemGetAllocationGranularity)(&step, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
                 "granularity"))
    return false;
  shared_bytes = (BYTES + step - 1) / step * step;
  return driver_ok(DRIVER(cuMemCreate)(&shared_handle, shared_bytes, &properties, 0), "cuMemCreate") &&
         driver_ok(DRIVER(cuMemAddressReserve)(&shared_address, shared_bytes, 0, 0, 0), "reserve") &&
         driver_ok(DRIVER(cuMemMap)(shared_address, shared_bytes, 0, shared_handle, 0), "map") &&
         driver_ok(DRIVER(cuMemSetAccess)(shared_address, shared_bytes, &access, 1), "access") &&
         driver_ok(DRIVER(cuMemExportToShareableHandle)(&shared_fd, shared_handle,
                                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
                   "export");
}

static bool dedicated;

static bool import_shared(void) {
  if (!epoxy_has_gl_extension("GL_EXT_memory_object_fd")) {
    snprintf(why, sizeof why, "no GL_EXT_memory_object_fd");
    return false;
  }
  if (!make_shared())
    return false;
  int taken = dup(shared_fd);
  GLint yes = GL_TRUE;
  glCreateMemoryObjectsEXT(1, &memory);
  if (dedicated)
    glMemoryObjectParameterivEXT(memory, GL_DEDICATED_MEMORY_OBJECT_EXT, &yes);
  glImportMemoryFdEXT(memory, shared_bytes, GL_HANDLE_TYPE_OPAQUE_FD_EXT, taken);
  return gl_ok(dedicated ? "import (dedicated)" : "import");
}

static bool make_imported_buffer(GLenum place) {
  if (!import_shared())
    return false;
  glGenBuffers(1, &buffer);
  glBindBuffer(place, buffer);
  glBufferStorageMemEXT(place, BYTES, memory, 0);
  glBindBuffer(place, 0);
  return gl_ok("buffer storage");
}

static uint32_t *open_imported(void) {
  dedicated = false;
  make_plain_texture();
  return make_imported_buffer(GL_PIXEL_UNPACK_BUFFER) ? (uint32_t *)shared_address : NULL;
}

static uint32_t *open_imported_copied(void) {
  glGenBuffers(1, &own_buffer);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, own_buffer);
  glBufferData(GL_PIXEL_UNPACK_BUFFER, BYTES, NULL, GL_STREAM_COPY);
  glBindBuffer(GL_PIXEL_UNPACK_BUFFER, 0);
  return open_imported();
}

static uint32_t *open_imported_dedicated(void) {
  dedicated = true;
  make_plain_texture();
  return make_imported_buffer(GL_PIXEL_UNPACK_BUFFER) ? (uint32_t *)shared_address : NULL;
}

static uint32_t *open_imported_texel(void) {
  dedicated = false;
  if (!make_imported_buffer(GL_TEXTURE_BUFFER))
    return NULL;
  glGenTextures(1, &buffer_texture);
  glBindTexture(GL_TEXTURE_BUFFER, buffer_texture);
  glTexBuffer(GL_TEXTURE_BUFFER, GL_RGBA8, buffer);
  from_buffer = true;
  return gl_ok("buffer texture") ? (uint32_t *)shared_address : NULL;
}

static uint32_t *open_imported_image(void) {
  dedicated = false;
  make_texture();
  if (!import_shared())
    return NULL;
  glBindTexture(GL_TEXTURE_2D, texture);
  glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_TILING_EXT, GL_LINEAR_TILING_EXT);
  if (!gl_ok("linear tiling"))
    return NULL;
  glTexStorageMem2DEXT(GL_TEXTURE_2D, 1, GL_RGBA8, SIDE, SIDE, memory, 0);
  return gl_ok("texture storage") ? (uint32_t *)shared_address : NULL;
}

static uint32_t *open_egl_image(void) {
  uint32_t *picture = open_plain();
  cudaEglFrame frame;
  if (!picture || !contexts[0]) {
    snprintf(why, sizeof why, "no EGL context");
    return NULL;
  }
  glFinish();
  image = eglCreateImageKHR(display, contexts[0], EGL_GL_TEXTURE_2D_KHR, (EGLClientBuffer)(uintptr_t)texture,
                            (EGLint[]){EGL_NONE});
  if (!image) {
    snprintf(why, sizeof why, "eglCreateImageKHR: 0x%x", eglGetError());
    return NULL;
  }
  if (!cuda_ok(cudaGraphicsEGLRegisterImage(&resource, image, cudaGraphicsRegisterFlagsNone), "register EGL image") ||
      !cuda_ok(cudaGraphicsResourceGetMappedEglFrame(&frame, resource, 0, 0), "EGL frame"))
    return NULL;
  if (frame.frameType != cudaEglFrameTypeArray) {
    snprintf(why, sizeof why, "the EGL frame is no array");
    return NULL;
  }
  kept_array = frame.frame.pArray[0];
  return picture;
}

static void close_way(bool opened) {
  glFinish();
  cudaDeviceSynchronize();
  if (resource && opened && !image)
    cudaGraphicsUnmapResources(1, &resource, stream);
  if (resource)
    cudaGraphicsUnregisterResource(resource);
  if (image)
    eglDestroyImageKHR(display, image);
  glDeleteTextures(1, &texture);
  glDeleteTextures(1, &buffer_texture);
  glDeleteBuffers(1, &buffer);
  glDeleteBuffers(1, &own_buffer);
  if (memory)
    glDeleteMemoryObjectsEXT(1, &memory);
  if (shared_address) {
    DRIVER(cuMemUnmap)(shared_address, shared_bytes);
    DRIVER(cuMemAddressFree)(shared_address, shared_bytes);
    DRIVER(cuMemRelease)(shared_handle);
    close(shared_fd);
  }
  cudaFree(device_picture);
  cudaFreeHost(pinned);
  cudaGetLastError();
  gl_ok("closing");
  resource = NULL;
  image = NULL;
  texture = buffer_texture = buffer = own_buffer = memory = 0;
  shared_address = 0;
  device_picture = pinned = mapped_buffer = NULL;
  from_buffer = false;
}

struct way {
  const char *name;
  uint32_t *(*open)(void); /* where CUDA writes the picture; NULL: not to be had, why says why */
  bool (*hand)(void);      /* from there into what is drawn */
  bool swap;               /* drawn into the window and presented */
  int context;
};

static const struct way ways[] = {
    {"draw alone", open_plain, hand_nothing, false, 0},
    {"draw alone, high", open_plain, hand_nothing, false, 1},
    {"draw + swap", open_plain, hand_nothing, true, 0},
    {"draw + swap, high", open_plain, hand_nothing, true, 1},
    {"a download + upload", open_pinned, hand_upload, false, 0},
    {"a' upload of pinned", open_pinned, hand_pinned, false, 0},
    {"b persistent PBO", open_persistent, hand_persistent, false, 0},
    {"b' the same, registered", open_persistent_registered, hand_persistent, false, 0},
    {"c buffer, map each", open_registered, hand_registered, false, 0},
    {"d texture, map each", open_registered_image, hand_registered_image, false, 0},
    {"d' texture, mapped once", open_image_mapped_once, hand_kept_array, false, 0},
    {"e buffer, mapped once", open_mapped_once, hand_buffer, false, 0},
    {"f imported buffer", open_imported, hand_buffer, false, 0},
    {"f' imported, dedicated", open_imported_dedicated, hand_buffer, false, 0},
    {"f'' imported, texels", open_imported_texel, hand_nothing, false, 0},
    {"g imported texture", open_imported_image, hand_nothing, false, 0},
    {"h EGLImage", open_egl_image, hand_kept_array, false, 0},
    {"f high", open_imported, hand_buffer, false, 1},
    {"f barrier", open_imported, hand_barred_buffer, false, 0},
    {"f high, barrier", open_imported, hand_barred_buffer, false, 1},
    {"f copied", open_imported_copied, hand_copied_buffer, false, 0},
    {"f'' texels, barrier", open_imported_texel, hand_barred_texels, false, 0},
    {"b'' memory to PBO", open_persistent_memory, hand_memory, false, 0},
    {"f + swap", open_imported, hand_buffer, true, 0},
    {"a + swap", open_pinned, hand_upload, true, 0},
};

struct samples {
  double value[ROUNDS];
  int count;
};

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double quantile(struct samples *s, double q) {
  qsort(s->value, (size_t)s->count, sizeof *s->value, compare);
  return s->count ? s->value[(int)(q * (s->count - 1))] : 0;
}

static bool tells_pixels(const struct way *way) {
  return way->hand != hand_nothing || from_buffer || memory;
}

static void print_times(const struct way *way, struct samples *wall, struct samples *cpu, struct samples *done,
                        int looked, int right) {
  printf("%-24s %7.0f %7.0f %7.0f %7.0f %7.0f %7.0f", way->name, quantile(wall, .5), quantile(wall, .99),
         quantile(cpu, .5), quantile(cpu, .99), quantile(done, .5), quantile(done, .99));
  if (way->swap || !tells_pixels(way))
    printf("  -\n");
  else
    printf("  %d of %d\n", right, looked);
}

/* What OpenGL keeps in caches may be older than what CUDA wrote, so that pictures are looked at again and again. */
static void time_way(const struct way *way, enum load load) {
  static struct samples wall, cpu, done;
  int looked = 0, right = 0;
  wall.count = cpu.count = done.count = 0;
  use_context(way->context);
  if (way->context && !contexts[1])
    return;
  uint32_t *to = way->open();
  bool good = to != NULL;
  load_now = load;
  usleep(30000);
  int rounds = load == LOAD_FULL ? ROUNDS / 2 : ROUNDS;
  for (int i = 0; i < rounds + WARM && good; i++) {
    uint32_t seed = (uint32_t)i * 7919u;
    good = write_picture(to, seed);
    if (way->hand == hand_pinned || way->hand == hand_memory)
      cudaMemcpy(pinned, to, BYTES, cudaMemcpyDeviceToHost);
    double began = wall_us(), cpu_began = cpu_us();
    good = good && way->hand();
    draw(way->swap);
    GLsync fence = glFenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
    if (way->swap)
      swap();
    else
      glFlush();
    double handed = wall_us(), cpu_handed = cpu_us();
    glClientWaitSync(fence, GL_SYNC_FLUSH_COMMANDS_BIT, 1000000000);
    double ended = wall_us();
    glDeleteSync(fence);
    if (i >= WARM) {
      wall.value[wall.count++] = handed - began;
      cpu.value[cpu.count++] = cpu_handed - cpu_began;
      done.value[done.count++] = ended - began;
    }
    if (!way->swap && i % LOOK_EVERY == 0) {
      right += is_right(seed);
      looked++;
    }
    if (load != LOAD_NONE && load != LOAD_FULL)
      usleep((useconds_t)(rand() % 3000));
  }
  load_now = LOAD_NONE;
  good = good && gl_ok("rounds");
  if (good)
    print_times(way, &wall, &cpu, &done, looked, right);
  else
    printf("%-24s not to be had: %s\n", way->name, why);
  usleep(10000);
  close_way(good);
  use_context(0);
  fflush(stdout);
}

/* --- what drawing costs CUDA --- */

enum strip { STRIP_NONE, STRIP_LEFT /* not waited for */, STRIP_READ, STRIP_COLUMNS /* 4 of them, read */ };
enum show { SHOW_NOTHING, SHOW_FLUSH, SHOW_FINISH, SHOW_SWAP };

struct rate {
  const char *name;
  uint32_t *(*open)(void);
  bool (*hand)(void);
  enum show show;
  int context, columns; /* columns read back one by one, as a probe does */
  enum strip strip;     /* read back into a buffer */
  int every_us;         /* at the most one in this time */
};

static const struct rate rates[] = {
    {"no drawing", open_plain, hand_nothing, SHOW_NOTHING, 0, 0, STRIP_NONE, 0},
    {"draw + flush", open_plain, hand_nothing, SHOW_FLUSH, 0, 0, STRIP_NONE, 0},
    {"draw + finish", open_plain, hand_nothing, SHOW_FINISH, 0, 0, STRIP_NONE, 0},
    {"draw + swap", open_plain, hand_nothing, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"draw + swap, high", open_plain, hand_nothing, SHOW_SWAP, 1, 0, STRIP_NONE, 0},
    {"pinned upload + swap", open_pinned, hand_pinned, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"  + 4 columns read", open_pinned, hand_pinned, SHOW_SWAP, 0, 4, STRIP_NONE, 0},
    {"registered buffer + swap", open_registered, hand_registered, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"mapped once + swap", open_mapped_once, hand_buffer, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"imported + swap", open_imported, hand_buffer, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"  + 4 columns read", open_imported, hand_buffer, SHOW_SWAP, 0, 4, STRIP_NONE, 0},
    {"  + strip to a buffer", open_imported, hand_buffer, SHOW_SWAP, 0, 0, STRIP_LEFT, 0},
    {"  high", open_imported, hand_buffer, SHOW_SWAP, 1, 0, STRIP_NONE, 0},
    {"  high + strip", open_imported, hand_buffer, SHOW_SWAP, 1, 0, STRIP_LEFT, 0},
    {"  + strip, read", open_imported, hand_buffer, SHOW_SWAP, 0, 0, STRIP_READ, 0},
    {"  + 4 columns packed", open_imported, hand_buffer, SHOW_SWAP, 0, 0, STRIP_COLUMNS, 0},
    {"  at most 60/s", open_imported, hand_buffer, SHOW_SWAP, 0, 0, STRIP_NONE, 16667},
    {"imported texels + swap", open_imported_texel, hand_nothing, SHOW_SWAP, 0, 0, STRIP_NONE, 0},
    {"imported + flush", open_imported, hand_buffer, SHOW_FLUSH, 0, 0, STRIP_NONE, 0},
};

static GLuint pack;

static void read_back(const struct rate *rate) {
  static uint8_t column[WINDOW_H * 4];
  glReadBuffer(rate->columns ? GL_FRONT : GL_BACK);
  for (int i = 0; i < rate->columns; i++)
    glReadPixels(10 + 20 * i, 0, 1, WINDOW_H, GL_RGBA, GL_UNSIGNED_BYTE, column);
  glReadBuffer(GL_BACK);
}

static void read_strip(enum strip strip) {
  static uint8_t read[120 * WINDOW_H * 4];
  glBindBuffer(GL_PIXEL_PACK_BUFFER, pack);
  for (int i = 0; i < 4 && strip == STRIP_COLUMNS; i++)
    glReadPixels(10 + 20 * i, 0, 1, WINDOW_H, GL_RGBA, GL_UNSIGNED_BYTE, (void *)(uintptr_t)(i * WINDOW_H * 4));
  if (strip != STRIP_COLUMNS)
    glReadPixels(0, 0, 120, WINDOW_H, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
  if (strip != STRIP_LEFT)
    glGetBufferSubData(GL_PIXEL_PACK_BUFFER, 0, strip == STRIP_READ ? sizeof read : WINDOW_H * 16, read);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
}

/* One after each frame of CUDA that ended, the newest alone. */
static void time_rate(const struct rate *rate) {
  enum { TIME_US = 700000 };
  static struct samples cpu;
  cpu.count = 0;
  use_context(rate->context);
  if (rate->context && !contexts[1])
    return;
  bool good = rate->open() != NULL;
  if (!good)
    printf("%-24s not to be had: %s\n", rate->name, why);
  load_now = LOAD_FULL;
  usleep(50000);
  long first = load_frames, seen = first, shown = 0;
  double began = wall_us(), last = 0;
  while (good && wall_us() - began < TIME_US) {
    if (load_frames == seen || wall_us() - last < rate->every_us || rate->show == SHOW_NOTHING) {
      usleep(50);
      continue;
    }
    seen = load_frames;
    last = wall_us();
    double cpu_began = cpu_us();
    rate->hand();
    draw(rate->show == SHOW_SWAP);
    if (rate->strip)
      read_strip(rate->strip);
    if (rate->show == SHOW_SWAP)
      swap();
    else if (rate->show == SHOW_FINISH)
      glFinish();
    else
      glFlush();
    read_back(rate);
    if (cpu.count < ROUNDS)
      cpu.value[cpu.count++] = cpu_us() - cpu_began;
    shown++;
  }
  double seconds = (wall_us() - began) * 1e-6;
  if (good)
    printf("%-24s %8.1f %8.1f %8.0f\n", rate->name, (double)(load_frames - first) / seconds, (double)shown / seconds,
           quantile(&cpu, .5));
  load_now = LOAD_NONE;
  usleep(20000);
  close_way(good);
  use_context(0);
  fflush(stdout);
}

static void time_rates(void) {
  printf("\nCUDA without pause: frames of CUDA and of OpenGL a second, processor time of one (us)\n");
  for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
    time_rate(&rates[i]);
}

static bool was_asked(int argc, char **argv, const char *part) {
  for (int i = 1; i < argc; i++)
    if (!strcmp(argv[i], part))
      return true;
  return argc == 1;
}

static void time_ways(void) {
  for (int load = 0; load < LOADS; load++) {
    printf("\nCUDA %s; us: handing and drawing, wall and processor time; until drawn (median, p99);\npictures that "
           "were drawn right\n",
           load_names[load]);
    printf("%-24s %7s %7s %7s %7s %7s %7s  pixels\n", "", "wall", "p99", "cpu", "p99", "drawn", "p99");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
      time_way(&ways[i], (enum load)load);
  }
}

/* bench_interop [ways] [rates]: both, or that one. */
int main(int argc, char **argv) {
  pthread_t thread;
  if (!open_gl())
    return 77;
  if (!open_cuda()) {
    printf("no CUDA: %s\n", why);
    return 77;
  }
  glGenBuffers(1, &pack);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, pack);
  glBufferData(GL_PIXEL_PACK_BUFFER, 120 * WINDOW_H * 4, NULL, GL_STREAM_READ);
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
  pthread_create(&thread, NULL, run_load, NULL);
  if (was_asked(argc, argv, "ways"))
    time_ways();
  if (was_asked(argc, argv, "rates"))
    time_rates();
  load_ends = true;
  pthread_join(thread, NULL);
  return 0;
}
