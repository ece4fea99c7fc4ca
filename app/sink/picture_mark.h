/* Writes a text as metadata into an encoded picture. */
#ifndef APP_SINK_PICTURE_MARK_H
#define APP_SINK_PICTURE_MARK_H

#include <libavcodec/packet.h>

/* Inserts a text in UTF-8 with this key (at most 79 characters) after the header of the PNG in a packet. Packets with
 * other contents are not changed. Returns 0 or an FFmpeg error code. */
int picture_mark_add(AVPacket *packet, const char *key, const char *text);

#endif
