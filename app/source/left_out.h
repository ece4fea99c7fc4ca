/* Tells the user, before the output is made, if the output will lack transparency or HDR that the input's pictures
 * have. */
#ifndef APP_SOURCE_LEFT_OUT_H
#define APP_SOURCE_LEFT_OUT_H

#include <libavformat/avformat.h>

#include "app/source/source.h"

/* Logs a line if the output will lack the video's transparency. first: the video's first picture; NULL: unknown.
 * Returns true if later pictures may still have transparency: the caller then tests each, and calls
 * left_out_tell_transparency at the first one with it. */
bool left_out_tell(const AVStream *video, const AVFrame *first, const char *spec, const struct log *log);

/* True if a pixel of the picture, or a colour of its palette, is not opaque; also true if the format has alpha that
 * cannot be read here (big-endian, or in a GPU's memory), because it may be transparent. */
bool left_out_is_transparent(const AVFrame *frame);
/* True if the video's frames have alpha. format: the decoder's pixel format. first: the first frame, to see if a
 * palette has transparent colours; NULL: unknown. */
bool left_out_has_alpha(enum AVPixelFormat format, const AVFrame *first);
/* Logs that the input's transparency is left out. */
void left_out_tell_transparency(const char *spec, const struct log *log);

/* Returns the video's Dolby Vision profile if its pictures are in Dolby Vision's own colours, which ordinary decoders
 * show incorrectly; else 0. */
int left_out_own_colours(const AVStream *video);
/* Logs a line if `video` is HDR, or in Dolby Vision's own colours. mapped: HDR is converted to SDR. why: if HDR is not
 * converted, the reason in words; "": no conversion was requested. */
void left_out_tell_video(const AVStream *video, const char *spec, bool mapped, const char *why, const struct log *log);

#endif
