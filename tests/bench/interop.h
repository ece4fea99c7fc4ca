/* What the files of bench_interop share: CUDA writes pictures, OpenGL draws them, and interop_ways.c has every method
 * by which a picture comes from CUDA to OpenGL. */
#ifndef TESTS_INTEROP_H
#define TESTS_INTEROP_H

#include <SDL.h>
#include <cuda.h>
#include <epoxy/egl.h>
#include <epoxy/gl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* These must follow the headers of epoxy, because they include the system's headers of GL and EGL. */
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
  LOOK_EVERY = 4, /* pictures between two comparisons */
  KERNELS = 300,  /* number of kernels in a frame of the load (run_load) */
  LOAD_US = 3000,
  WINDOW_W = 1280,
  WINDOW_H = 720,
};

/* --- interop_cuda.c: clocks, pictures that CUDA writes, and a load on the GPU --- */

extern char why[300]; /* text that says what failed last, and why */
extern cudaStream_t stream;

enum load { LOAD_NONE, LOAD_60, LOAD_FULL, LOADS };
extern atomic_int load_now;
extern atomic_bool load_ends;
extern atomic_long load_frames;

double wall_us(void);
double cpu_us(void);
bool cuda_ok(cudaError_t code, const char *what);
bool gl_ok(const char *what);
bool open_cuda(void);
bool write_picture(uint32_t *to, uint32_t seed);
/* The load: a thread that runs frames of CUDA kernels, as load_now says, until load_ends is true. */
void *run_load(void *opaque);

/* --- interop_gl.c: OpenGL's contexts, and drawing --- */

extern GLuint texture, buffer_texture;
extern bool from_buffer; /* true: draw() reads buffer_texture; false: it reads texture */
extern EGLDisplay display;
extern EGLContext contexts[2]; /* OpenGL's contexts: [0] SDL's, [1] one of high priority; NULL: not available */

void make_texture(void);
void make_plain_texture(void);
void use_context(int i);
bool open_gl(void);
void draw(bool to_window);
void swap(void);
bool is_right(uint32_t seed);

/* --- interop_ways.c: methods by which a picture comes from CUDA to OpenGL --- */

struct way {
  const char *name;
  /* prepares the method and returns where CUDA writes the picture; NULL: the method is not available, and `why` says
   * why */
  uint32_t *(*open)(void);
  bool (*hand)(void); /* takes the picture from there to the texture that draw() reads */
  bool swap;          /* true: the picture is drawn into the window, and presented; false: into a texture */
  int context;
};

extern const struct way ways[];
extern const int way_count;

extern uint32_t *pinned; /* page-locked host memory with the picture, for methods that copy it through the host */
extern GLuint memory;    /* GL memory object that was imported from CUDA; 0: none */

bool hand_nothing(void);
bool hand_pinned(void);
bool hand_memory(void);
uint32_t *open_plain(void);
uint32_t *open_pinned(void);
uint32_t *open_registered(void);
bool hand_registered(void);
uint32_t *open_mapped_once(void);
bool hand_buffer(void);
uint32_t *open_imported(void);
uint32_t *open_imported_texel(void);
void close_way(bool opened);

#endif
