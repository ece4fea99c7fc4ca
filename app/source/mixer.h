/* A mixer stands between readers and the mailbox from which the engine takes frames. Several readers may give frames at
 * the same time, each to an input of its own; the mixer passes on those of one input. When the source changes, the new
 * source may fade in over some seconds: its frames are then mixed with those of the former source (dissolve.h).
 *
 * Threads: any thread may call these functions. A mixer has a thread of its own, which mixes while a source fades in
 * that is a single picture, or slow. */
#ifndef APP_SOURCE_MIXER_H
#define APP_SOURCE_MIXER_H

#include "app/flow/mailbox.h"
#include "unet/base/error.h"
#include "unet/base/gpu.h"
#include "unet/base/log.h"

struct mixer;

/* The inputs of a mixer. MIXER_LIST: the list of sources; MIXER_LEAVING: the source that fades out while the next one
 * fades in; MIXER_STAND_IN: the source that is shown while a source of the list is lost. */
enum mixer_input { MIXER_LIST, MIXER_LEAVING, MIXER_STAND_IN };

/* Opens a mixer that puts frames into `out`, which must outlive it. At first the frames of the input MIXER_LIST are
 * passed on, and those of the other inputs are released. gpu: the GPU that reads mixed frames; its impl NULL:
 * none does. log may be NULL. Returns 0, or -1 with err. */
int mixer_open(struct mixer **mixer, struct mailbox *out, const struct gpu *gpu, const struct log *log,
               struct error *err);
void mixer_close(struct mixer **mixer); /* frees the mixer; *mixer becomes NULL; does nothing if it is NULL */

/* Gives a frame to an input of the mixer, which takes over its reference. If that input is shown, the frame is passed
 * on, else released. Passed frames get a serial number, and the number of their sequence without a gap in time
 * (frame.stretch), both counted over all inputs. begins: true: it is the first frame of a source or after a seek. */
void mixer_put(struct mixer *mixer, enum mixer_input input, struct frame *frame, bool begins);
/* Called when a source of the list is lost: from now on the frames of its substitute (MIXER_STAND_IN) are passed on,
 * until MIXER_LIST gives a frame again. */
void mixer_stand_in(struct mixer *mixer);
/* Tells the mixer that an input gives no more frames. If this input is MIXER_LIST, the mailbox is closed. */
void mixer_end(struct mixer *mixer, enum mixer_input input);

/* Sets how many seconds each later source takes to fade in; 0: sources change at once. shape: width divided by height
 * of the engine's pictures, to which frames are cropped; 0: not known. */
void mixer_set_fade(struct mixer *mixer, double seconds, double shape);
/* True if the picture fades to each new source (mixer_set_fade with more than 0 seconds). */
bool mixer_wants_fade(const struct mixer *mixer);
/* True while one source fades to another. */
bool mixer_fades(struct mixer *mixer);

#endif
