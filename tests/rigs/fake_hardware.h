/* A decoder in hardware, and the GPU that it writes for: surfaces lie in memory of the host's that nobody but the fake
 * GPU may read. */
#ifndef TESTS_FAKE_HARDWARE_H
#define TESTS_FAKE_HARDWARE_H

#include <stdatomic.h>

#include "app/source/hardware.h"
#include "unet/base/frame.h"

struct gpu_state {
  atomic_int memory, fences, locked, surfaces, shares; /* that exist */
  atomic_int filling;                                  /* copies that nobody has waited for yet */
  atomic_int allocated, downloads, shared;             /* so far; shared: frames */
  bool full;                                           /* no page-locked memory is left, and none to share */
  bool broken;                                         /* no copy for OpenGL succeeds */
  int records, fails_from;                             /* fences; from which one on recording fails; 0: never */
};

/* Memory that OpenGL could import. What is copied there is there once somebody has waited for it. */
struct fake_share {
  struct gpu_share base;
  uint8_t *memory;
  bool filling; /* with the pixels of from, which lie in the planes */
  struct frame from;
};
extern struct gpu_state gpu_state;
extern const struct gpu fake_gpu;
/* The one with that descriptor; NULL: there is none. */
const struct fake_share *fake_share_find(int descriptor);

struct hardware_state {
  bool absent;      /* it cannot be opened */
  bool cuts;        /* its pictures are to be cut on the left */
  int refuses_from; /* packets until it does not take what comes; 0: it takes all */
  int fails_from;   /* packets until nothing works; 0: it goes on */
  int sent, opened;
  int asked;              /* times that a decoder asked for it */
  AVBufferRef *frames[2]; /* contexts of 8 and 10 bits */
};
extern struct hardware_state hardware_state;
extern const struct hardware fake_hardware;
/* Before it is used, and after. */
bool fake_hardware_open(void);
void fake_hardware_close(void);

#endif
