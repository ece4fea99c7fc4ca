/* Where a reader's frames go: into a mailbox, from which the engine takes them, or to an input of a mixer. */
#ifndef APP_SOURCE_OUTLET_H
#define APP_SOURCE_OUTLET_H

#include "app/source/mixer.h"

struct outlet {
  struct mailbox *mailbox; /* the mailbox (from which the engine takes frames) that gets the frames if `mixer` is
                            * NULL */
  struct mixer *mixer;
  enum mixer_input input;
};

/* Passes a frame on, with the reference to its picture. begins: true: it is the first frame of a source (mixer_put). */
static inline void outlet_put(const struct outlet *outlet, struct frame *frame, bool begins) {
  if (outlet->mixer)
    mixer_put(outlet->mixer, outlet->input, frame, begins);
  else
    mailbox_put(outlet->mailbox, &(struct mail){.frame = *frame});
}

/* Tells the outlet's mailbox or mixer that no more frames will come. */
static inline void outlet_end(const struct outlet *outlet) {
  if (outlet->mixer)
    mixer_end(outlet->mixer, outlet->input);
  else
    mailbox_close(outlet->mailbox);
}

#endif
