/* Puts the input beside the picture (--beside): each picture of the output has double width. Its left half shows the
 * input's frame from which the engine made the picture, scaled and placed as the engine does. */
#ifndef APP_SINK_BESIDE_H
#define APP_SINK_BESIDE_H

#include "app/sink/sink.h"
#include "unet/engine.h"

struct beside;

/* Allocates *beside. fit: how the engine fits frames into pictures. shape: width divided by height at which pictures
 * are shown; 0: their pixels are square. Returns 0, or -1 with err; the caller closes it with beside_close. */
int beside_open(struct beside **beside, enum fit fit, double shape, struct error *err);
/* Takes a reference to an input's frame and keeps it until the picture of a later frame has come to the sink. `beside`
 * and `frame` may be NULL. Any thread may call it. */
void beside_put(struct beside *beside, const struct frame *frame);
/* Releases the input's frames that are still kept, and frees *beside, which becomes NULL; does nothing if it is NULL.
 * Called after the sink is closed. */
void beside_close(struct beside **beside);

/* Puts a sink in front of *sink. The new sink takes the engine's pictures and draws each beside its input frame, both
 * scaled to `width` x `height`. It gives the result, which is twice as wide, to the old sink, and owns that sink from
 * then on. Returns 0, or -1 with err; *sink is then closed and NULL. */
int beside_open_sink(struct sink **sink, struct beside *beside, enum pixel_format format, int width, int height,
                     struct error *err);

#endif
