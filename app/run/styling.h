/* A frame of the running video as style picture, which a key asks for: it is read on a thread of its own.
 * Zero-initialise to start. */
#ifndef APP_RUN_STYLING_H
#define APP_RUN_STYLING_H

#include "app/run/errand.h"
#include "unet/engine.h"

struct styling {
  atomic_int asked; /* how often; any thread's, all else is that of the thread that submits */
  int begun;        /* of those */
  struct errand errand;
  struct frame frame; /* that is being read, held */
  struct style_format format;
  struct engine_style *style, *next; /* what engines have; what the errand reads */
  struct error err;                  /* its */
  const struct engine *engine;       /* that was seen last */
};

/* The next frame becomes the first style. Any thread. */
void styling_ask(struct styling *styling);
/* For each frame before it is submitted; frame may be NULL. A style that was taken goes on to other engines whose image
 * encoder reads pictures alike. */
int styling_apply(struct styling *styling, struct engine *engine, const struct frame *frame, struct error *err);
/* The engine was closed before there was another one. */
void styling_leave(struct styling *styling);
void styling_finish(struct styling *styling);

#endif
