#include "app/sink/picture_mark.h"

#include <stdbool.h>
#include <string.h>

#include <libavutil/crc.h>
#include <libavutil/error.h>
#include <libavutil/intreadwrite.h>

/* PNG (RFC 2083): a signature, then chunks of a length, a name of 4 letters, the data and a checksum of name and data.
 * IHDR, the first chunk, has 13 bytes of data. SIGNATURE: bytes of the signature; FRAME: bytes of a chunk's length,
 * name and checksum; HEADER_END: offset of the end of IHDR. */
enum { SIGNATURE = 8, FRAME = 12, HEADER_END = SIGNATURE + FRAME + 13 };
static const uint8_t signature[SIGNATURE] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
/* The bytes between key and text in the chunk iTXt: end of the key, no compression (two bytes), empty language, empty
 * translated key. */
static const uint8_t between[] = {0, 0, 0, 0, 0};

static bool is_png(const AVPacket *packet) {
  return packet->size > HEADER_END && !memcmp(packet->data, signature, SIGNATURE);
}

/* Writes a chunk iTXt with this key and text, whose data has `size` bytes, to `to`. */
static void write_chunk(uint8_t *to, size_t size, const char *key, const char *text) {
  size_t key_size = strlen(key);
  AV_WB32(to, size);
  memcpy(to + 4, "iTXt", 4);
  memcpy(to + 8, key, key_size);
  memcpy(to + 8 + key_size, between, sizeof between);
  memcpy(to + 8 + key_size + sizeof between, text, strlen(text));
  uint32_t sum = av_crc(av_crc_get_table(AV_CRC_32_IEEE_LE), UINT32_MAX, to + 4, size + 4);
  AV_WB32(to + 8 + size, ~sum);
}

int picture_mark_add(AVPacket *packet, const char *key, const char *text) {
  size_t size = strlen(key) + sizeof between + strlen(text), old = (size_t)packet->size;
  if (!is_png(packet))
    return 0;
  int code = av_grow_packet(packet, (int)(size + FRAME));
  if (code < 0)
    return code;
  memmove(packet->data + HEADER_END + FRAME + size, packet->data + HEADER_END, old - HEADER_END);
  write_chunk(packet->data + HEADER_END, size, key, text);
  return 0;
}
