/* Makes a whole picture of each interlaced frame, with FFmpeg's bwdif: the lines of the frame's first field stay, and
 * those of the other field are estimated from the fields around it. Frames that are not interlaced pass as they are. A
 * frame comes out once the next one is known. */
#ifndef APP_SOURCE_DEINTERLACER_H
#define APP_SOURCE_DEINTERLACER_H

#include <libavutil/frame.h>

#include "unet/base/error.h"

struct deinterlacer;

/* Opens FFmpeg's filter. Returns 0, or -1 with err, which says what FFmpeg lacks. The caller closes *deinterlacer in
 * both cases. */
int deinterlacer_open(struct deinterlacer **deinterlacer, struct error *err);
/* Sends the next frame, whose reference the deinterlacer takes over; NULL: there are no more. Returns 0 or an FFmpeg
 * error code. */
int deinterlacer_send(struct deinterlacer *deinterlacer, AVFrame *frame);
/* Receives a picture, which has the times of the frame from which it was made. Returns 0 or an FFmpeg error code:
 * AVERROR(EAGAIN) if another frame is needed first, or AVERROR_EOF after the last picture. */
int deinterlacer_receive(struct deinterlacer *deinterlacer, AVFrame *picture);
/* Drops the frames that the deinterlacer holds. Called before a seek. */
void deinterlacer_reset(struct deinterlacer *deinterlacer);
/* Closes the deinterlacer; *deinterlacer becomes NULL; does nothing if it is NULL. */
void deinterlacer_close(struct deinterlacer **deinterlacer);

#endif
