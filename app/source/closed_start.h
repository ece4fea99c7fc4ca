/* Tells if the decoder may get a packet without a flush before it. */
#ifndef APP_SOURCE_CLOSED_START_H
#define APP_SOURCE_CLOSED_START_H

#include <stdbool.h>

#include <libavcodec/avcodec.h>

/* True if a video's decoder can go on with this packet without a flush: it gives all pictures of the packets before,
 * and then the same pictures as after a flush. This is true only where the codec's rules guarantee it. */
bool closed_start_is(const AVCodecParameters *video, const AVPacket *packet);

#endif
