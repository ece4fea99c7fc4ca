/* Tests if a packet may be sent to a decoder without a flush, although the packets sent before are from another part of
 * the video. A looping input needs this when it starts again. */
#ifndef APP_SOURCE_CLOSED_START_H
#define APP_SOURCE_CLOSED_START_H

#include <stdbool.h>

#include <libavcodec/avcodec.h>

/* True if the decoder of `video` can get this packet without a flush before it. It then still gives all earlier
 * pictures, and after them the same pictures as after a flush. True only where the codec's rules guarantee this. */
bool closed_start_is(const AVCodecParameters *video, const AVPacket *packet);

#endif
