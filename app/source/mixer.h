/* A mixer stands between readers and the mailbox from which the engine takes frames. Several readers may give frames at
 * the same time, each to an input of its own; the mixer passes on those of one input.
 *
 * Threads: any thread may call these functions. */
#ifndef APP_SOURCE_MIXER_H
#define APP_SOURCE_MIXER_H

#include "app/flow/mailbox.h"
#include "unet/base/error.h"

struct mixer;

/* The inputs of a mixer: the list of sources, and the source that stands in while a source of the list is lost. */
enum mixer_input { MIXER_LIST, MIXER_STAND_IN };

/* Opens a mixer that puts frames into `out`, which must outlive it. Frames of MIXER_LIST are passed on. Returns 0, or
 * -1 with err. */
int mixer_open(struct mixer **mixer, struct mailbox *out, struct error *err);
void mixer_close(struct mixer **mixer); /* frees the mixer; *mixer becomes NULL; does nothing if it is NULL */

/* Gives a frame to an input, whose hold on the picture it takes over. The frame is passed on if that input is shown,
 * else released. Passed on, it gets a serial number and the number of its stretch (frame.h), which are counted over all
 * inputs. */
void mixer_put(struct mixer *mixer, enum mixer_input input, struct frame *frame);
/* From now on frames of MIXER_STAND_IN are passed on, until MIXER_LIST gives a frame again. */
void mixer_stand_in(struct mixer *mixer);
/* Says that an input gives no more frames. For MIXER_LIST, closes the mailbox. */
void mixer_end(struct mixer *mixer, enum mixer_input input);

#endif
