/* Pictures of 256 colours: each with a palette made for it alone, so that a change of scene needs no look ahead and
 * memory stays flat. */
#ifndef APP_SINK_PALETTE_H
#define APP_SINK_PALETTE_H

#include <libavutil/frame.h>

#include "unet/base/error.h"

struct palette;

/* For frames of AV_PIX_FMT_RGB32. Returns 0, or -1 with err, whose line wants the output's name in front. */
int palette_open(struct palette **palette, int width, int height, AVRational time_base, struct error *err);
/* frame NULL: no more come. Returns 0 or an FFmpeg error code. */
int palette_send(struct palette *palette, AVFrame *frame);
/* A frame of AV_PIX_FMT_PAL8, which the caller unrefs; AVERROR(EAGAIN) or AVERROR_EOF where there is none. */
int palette_receive(struct palette *palette, AVFrame *frame);
void palette_close(struct palette **palette); /* stores NULL; takes NULL */

#endif
