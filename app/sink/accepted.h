/* Finds out which frame rates, sizes, pixel formats and encoder options a container and its encoder accept, by writing
 * file headers into memory. */
#ifndef APP_SINK_ACCEPTED_H
#define APP_SINK_ACCEPTED_H

#include "app/sink/sink.h"
#include "app/sink/target.h"

/* Called after the target's container or its encoder has refused the pictures that `options` describe. Tries in this
 * order: no sound; usual frame rates; usual sizes; both together. If one is accepted, returns true, with an err that
 * names the sound as the cause, or the accepted rates and sizes. Returns false for a stream, without a frame rate, and
 * if options->encoder_options is set, because these may be the cause. */
bool accepted_say(const struct target *target, const struct sink_options *options, struct error *err);

/* What a user asks of the encoder, as in sink_options; the texts may be NULL. */
struct accepted_wishes {
  const char *codec, *pixel_format, *encoder_options;
  double quality;
};
/* Checks that the container takes the codec and the pixel format. Also checks that the encoder which encoder_open tries
 * first can be opened with these encoder options, and accepts this quality and pixel format. Returns 0, or -1 with err,
 * whose message names the option and what is accepted instead. */
int accepted_check_wishes(const struct target *target, const struct accepted_wishes *wishes, struct error *err);

#endif
