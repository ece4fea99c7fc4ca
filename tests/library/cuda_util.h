/* What the tests of frames and pictures in CUDA memory share: engines, frames in both memories, and streams that are
 * slow on purpose. The tests know reverie.h and CUDA's runtime. */
#ifndef TESTS_LIBRARY_CUDA_UTIL_H
#define TESTS_LIBRARY_CUDA_UTIL_H

#include <cuda_runtime_api.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <reverie.h>

enum { SIDE = 128, SKIPPED = 77, PLANES = 3, BYTES_MOST = 4 * (SIDE + 64) * SIDE };

#define CUDA(call) assert_int_equal(call, cudaSuccess)
#define MUST(call)                                                                                                     \
  do {                                                                                                                 \
    struct reverie_error error_ = {.size = sizeof error_};                                                             \
    struct reverie_error *error = &error_;                                                                             \
    if (call)                                                                                                          \
      fail_msg("%s", error->message);                                                                                  \
  } while (0)

/* Returns 0 if there is a GPU, else SKIPPED, after a line that says why. */
int look_for_gpu(void);

/* Opens mini on the GPU for pictures of SIDE x SIDE; config.device NULL: the first GPU. All engines make the same
 * choices of kernels, which are kept in a folder for the test. */
struct reverie *open_on_gpu(struct reverie_config config);
/* Removes that folder, at the end of the test. */
void remove_folder(void);

/* Bytes of a row of a plane without padding, and number of its rows; 0: the format has no such plane. */
int row_bytes(int format, int plane);
int row_count(int format, int plane);

/* A frame in the host's memory, and one of the same pixels in CUDA memory, whose rows are `padding` bytes longer. The
 * latter's planes are empty until they are copied on a stream. */
struct frames {
  struct reverie_frame host, cuda;
  uint8_t *pixels; /* of `host`, page-locked */
  uint8_t *memory; /* of `cuda` */
};
struct frames make_frames(int format, int number, int padding);
void copy_frames(const struct frames *frames, cudaStream_t stream);
void free_frames(struct frames *frames);

/* Copies a picture's pixels, without padding, from the memory where they are; returns their number of bytes. */
size_t copy_picture(const struct reverie_picture *picture, uint8_t *to);
/* Gives the stream a copy of a picture's pixels, in CUDA memory, to page-locked memory. */
void copy_picture_on(const struct reverie_picture *picture, uint8_t *to, cudaStream_t stream);
/* Submits a frame and collects its picture. */
struct reverie_picture picture_of(struct reverie *reverie, const struct reverie_frame *frame);
/* A second mapping of a picture's memory, of which its file descriptor is all that is known. map_memory takes the
 * descriptor, and uses CUDA's functions for memory of other libraries, or where these refuse their own memory, those
 * for memory of other processes. */
struct mapping {
  cudaExternalMemory_t external;
  uint64_t handle;
  size_t size;
  void *bytes;
};
struct mapping map_memory(int descriptor, size_t size);
void unmap_memory(struct mapping *mapping);
/* Finds the driver's function cuCtxGetCurrent: it stores the context (CUcontext) that is current for the calling
 * thread, or NULL, and returns 0. */
typedef int (*get_context_function)(void **context);
get_context_function find_get_context(void);
/* Makes the stream wait for some milliseconds before what it is given next. */
void slow_down(cudaStream_t stream);

#endif
