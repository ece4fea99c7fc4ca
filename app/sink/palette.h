/* Converts pictures to 256 colours. Each picture gets a palette of its own, so that a picture can be converted before
 * the next ones are known. */
#ifndef APP_SINK_PALETTE_H
#define APP_SINK_PALETTE_H

#include <libavutil/frame.h>

#include "unet/base/error.h"

struct palette;

/* Opens a converter for frames of AV_PIX_FMT_RGB32. Returns 0, or -1 with err, whose message the caller prefixes with
 * the output's name. */
int palette_open(struct palette **palette, int width, int height, AVRational time_base, struct error *err);
/* Sends a frame, which the caller still owns. frame NULL: no more frames come. Returns 0 or an FFmpeg error code. */
int palette_send(struct palette *palette, AVFrame *frame);
/* Receives a frame of AV_PIX_FMT_PAL8, which the caller unrefs. Returns AVERROR(EAGAIN) or AVERROR_EOF if there is
 * none. */
int palette_receive(struct palette *palette, AVFrame *frame);
/* Closes the converter; *palette becomes NULL; does nothing if it is NULL. */
void palette_close(struct palette **palette);

#endif
