/* Fakes of a hardware decoder and of the GPU that it writes for. Surfaces lie in host memory that only the fake GPU may
 * read. */
#ifndef TESTS_FAKE_HARDWARE_H
#define TESTS_FAKE_HARDWARE_H

#include <stdatomic.h>

#include "app/source/hardware.h"
#include "unet/base/frame.h"

struct gpu_state {
  atomic_int memory, fences, locked, surfaces, shares; /* how many exist at the moment */
  atomic_int filling;                                  /* copies that nobody has waited for yet */
  atomic_int allocated, downloads, shared;             /* how many there were so far; shared: frames that were shared */
  bool full;                                           /* no memory is left that can be page-locked or shared */
  bool broken;                                         /* every copy for OpenGL fails */
  /* records: number of fences recorded. Recording fails from fence number fails_from on; 0: never. */
  int records, fails_from;
};

/* Memory that OpenGL could import. A copy to it takes effect when somebody has waited for it. */
struct fake_share {
  struct gpu_share base;
  uint8_t *memory;
  bool filling; /* a copy from the frame `from` is under way */
  struct frame from;
};
extern struct gpu_state gpu_state;
extern const struct gpu fake_gpu;
/* Returns the memory with that descriptor; NULL: there is none. */
const struct fake_share *fake_share_find(int descriptor);

struct hardware_state {
  bool absent;      /* the decoder cannot be opened */
  bool cuts;        /* decoded pictures have to be cropped on the left */
  int refuses_from; /* number of packets after which the decoder refuses more; 0: it takes all */
  int fails_from;   /* number of packets after which all decoding fails; 0: none does */
  /* number of packets taken, and of decoders opened */
  int sent, opened;
  int asked;              /* how often a decoder asked for it */
  AVBufferRef *frames[2]; /* contexts for surfaces with 8 and with 10 bits */
};
extern struct hardware_state hardware_state;
extern const struct hardware fake_hardware;
/* fake_hardware_open is called before the fakes are used, and fake_hardware_close afterwards. */
bool fake_hardware_open(void);
void fake_hardware_close(void);

#endif
