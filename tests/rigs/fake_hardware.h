/* Fakes of a hardware video decoder and of the GPU in whose memory it writes. Decoded pictures are in host memory that
 * only the fake GPU may read. */
#ifndef TESTS_FAKE_HARDWARE_H
#define TESTS_FAKE_HARDWARE_H

#include <stdatomic.h>

#include "app/source/hardware.h"
#include "unet/base/frame.h"

struct gpu_state {
  /* numbers of objects that exist now: allocations, fences, page-locked ranges, decoded surfaces, shared memory */
  atomic_int memory, fences, locked, surfaces, shares;
  atomic_int filling; /* number of copies for OpenGL that nobody has waited for yet */
  /* numbers so far of allocations, of downloads, of frames copied for OpenGL, and of mixtures of frames */
  atomic_int allocated, downloads, shared, mixed;
  bool full;   /* true: no memory can be page-locked or shared any more */
  bool broken; /* true: every copy for OpenGL and every mixture fails */
  /* records: number of fences that were recorded; fails_from: number of the fence from which on recording fails, 0:
   * never */
  int records, fails_from;
};

/* Memory that OpenGL could import. A copy to it takes effect when somebody has waited for it. */
struct fake_share {
  struct gpu_share base;
  uint8_t *memory;
  bool filling; /* true: a copy from the frame `from` was started, and nobody has waited for it yet */
  struct frame from;
};
extern struct gpu_state gpu_state;
extern const struct gpu fake_gpu;
/* Returns the memory with this file descriptor; NULL: there is none. */
const struct fake_share *fake_share_find(int descriptor);

struct hardware_state {
  bool absent;      /* true: the decoder cannot be opened */
  bool cuts;        /* true: decoded pictures have to be cropped on the left */
  int refuses_from; /* number of packets after which the decoder refuses more packets; 0: it takes all */
  int fails_from;   /* number of packets after which every decoding fails; 0: none fails */
  /* numbers so far of packets that were given to the decoder, and of decoders that were opened */
  int sent, opened;
  int asked;              /* how often a decoder of FFmpeg has asked which pixel format to use */
  AVBufferRef *frames[2]; /* FFmpeg's contexts for surfaces: [0] with 8 bits, [1] with 10 bits */
};
extern struct hardware_state hardware_state;
extern const struct hardware fake_hardware;
/* fake_hardware_open must be called before the fakes are used, and fake_hardware_close afterwards. Returns false if
 * FFmpeg's contexts cannot be made. */
bool fake_hardware_open(void);
void fake_hardware_close(void);

#endif
