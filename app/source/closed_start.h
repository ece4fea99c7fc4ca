/* Tests whether a packet may be sent to a decoder directly after packets from another place of the video, without a
 * flush. That is the case when a looping input starts again. */
#ifndef APP_SOURCE_CLOSED_START_H
#define APP_SOURCE_CLOSED_START_H

#include <stdbool.h>

#include <libavcodec/avcodec.h>

/* True if the decoder of `video` can get this packet without a flush before it: the decoder then still gives all
 * pictures of the packets before, and after them the same pictures as after a flush. The result is true only where the
 * codec's rules guarantee this. */
bool closed_start_is(const AVCodecParameters *video, const AVPacket *packet);

#endif
