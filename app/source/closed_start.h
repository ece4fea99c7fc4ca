/* Whether a packet begins a video anew: whatever its decoder has had before, from here on it gives the pictures that it
 * would give after a flush, behind all those of before. That is so where the codec's own rules say it; what is not
 * known to be so is not. */
#ifndef APP_SOURCE_CLOSED_START_H
#define APP_SOURCE_CLOSED_START_H

#include <stdbool.h>

#include <libavcodec/avcodec.h>

bool closed_start_is(const AVCodecParameters *video, const AVPacket *packet);

#endif
