/* What the parts of bench_interop share: pictures that CUDA writes, OpenGL that draws them, and every way from the one
 * to the other. */
#ifndef TESTS_INTEROP_H
#define TESTS_INTEROP_H

#include <SDL.h>
#include <cuda.h>
#include <epoxy/egl.h>
#include <epoxy/gl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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

/* --- interop_cuda.c --- */

extern char why[300]; /* of what failed last */
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
/* The load: frames of CUDA on a thread of its own. */
void *run_load(void *opaque);

/* --- interop_gl.c --- */

extern GLuint texture, buffer_texture;
extern bool from_buffer; /* drawn out of buffer_texture */
extern EGLDisplay display;
extern EGLContext contexts[2]; /* SDL's, and one of high priority */

void make_texture(void);
void make_plain_texture(void);
void use_context(int i);
bool open_gl(void);
void draw(bool to_window);
void swap(void);
bool is_right(uint32_t seed);

/* --- interop_ways.c --- */

struct way {
  const char *name;
  uint32_t *(*open)(void); /* where CUDA writes the picture; NULL: not to be had, why says why */
  bool (*hand)(void);      /* from there into what is drawn */
  bool swap;               /* drawn into the window and presented */
  int context;
};

extern const struct way ways[];
extern const int way_count;

extern uint32_t *pinned; /* host memory */
extern GLuint memory;    /* imported; 0: none */

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
