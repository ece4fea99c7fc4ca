/* Keeps the alpha of input frames until their pictures are encoded, because the network makes pictures without alpha.
 * Each frame that the engine gets is put into this store. The frame's alpha, scaled and placed as the engine does with
 * the frame, becomes the alpha of the frame's picture. */
#ifndef APP_SINK_ALPHA_H
#define APP_SINK_ALPHA_H

#include "unet/base/frame.h"
#include "unet/engine.h"

struct alpha;

/* Allocates *alpha, a store for input frames whose alpha is needed later; it is empty at first. fit: how the engine
 * fits frames into pictures. shape: width divided by height at which pictures are shown; 0: their pixels are square.
 * Returns 0, or -1 with err; the caller closes it with alpha_close. */
int alpha_open(struct alpha **alpha, enum fit fit, double shape, struct error *err);
/* Takes a reference to the frame and keeps it until alpha_lay is called for a later frame. Ignores frames that are not
 * RGBA or BGRA, because they have no alpha. `alpha` and `frame` may be NULL. Any thread may call it. */
void alpha_put(struct alpha *alpha, const struct frame *frame);
/* Sets the alpha bytes of `rgba`, which has the size of `picture` and rows of `pitch` bytes. They get the alpha of the
 * frame with the picture's time, and 0 outside that frame; without such a frame all become 255. Called on the sink's
 * thread. Returns 0 or an FFmpeg error code. */
int alpha_lay(struct alpha *alpha, const struct frame *picture, uint8_t *rgba, int pitch);
/* releases the input frames whose alpha is kept; *alpha becomes NULL; does nothing if it is NULL */
void alpha_close(struct alpha **alpha);

#endif
