#include "app/source/closed_start.h"

#include <stddef.h>
#include <stdint.h>

/* Types of NAL units of H.264 and HEVC, as their standards number them. */
enum {
  H264_SLICE = 1,
  H264_IDR = 5,
  HEVC_IDR_W_RADL = 19,
  HEVC_IDR_N_LP = 20,
  HEVC_SLICES_END = 32,
};

/* A NAL unit of a packet (a part of the coded video). */
struct unit {
  const uint8_t *data;
  size_t size;
};

/* Returns the size in bytes of the length that is stored before each NAL unit; 0: start codes separate the units
 * instead. */
static size_t length_bytes(const AVCodecParameters *video) {
  size_t at = video->codec_id == AV_CODEC_ID_H264 ? 4 : 21;
  if ((size_t)video->extradata_size <= at || video->extradata[0] != 1)
    return 0;
  return (video->extradata[at] & 3) + 1U;
}

/* Removes the first NAL unit from `rest`, where each unit is preceded by its length in `bytes` bytes. Returns false if
 * there is no complete unit. */
static bool take_counted(struct unit *rest, size_t bytes, struct unit *unit) {
  size_t length = 0;
  if (rest->size < bytes)
    return false;
  for (size_t i = 0; i < bytes; i++)
    length = length << 8 | rest->data[i];
  *unit = (struct unit){rest->data + bytes, length};
  if (length > rest->size - bytes)
    return false;
  *rest = (struct unit){unit->data + length, rest->size - bytes - length};
  return true;
}

/* Finds the next NAL unit in *rest, a stream whose units are separated by start codes, and makes *rest begin with it.
 * *unit becomes all bytes from the unit's beginning to the end of the stream, because callers read only its first
 * bytes. Returns false if there is no unit. */
static bool take_marked(struct unit *rest, struct unit *unit) {
  for (; rest->size > 3; rest->data++, rest->size--)
    if (!rest->data[0] && !rest->data[1] && rest->data[2] == 1) {
      *rest = *unit = (struct unit){rest->data + 3, rest->size - 3};
      return true;
    }
  return false;
}

static bool is_slice(enum AVCodecID codec, const struct unit *unit, int *type) {
  *type = codec == AV_CODEC_ID_H264 ? unit->data[0] & 31 : unit->data[0] >> 1 & 63;
  return codec == AV_CODEC_ID_H264 ? *type >= H264_SLICE && *type <= H264_IDR : *type < HEVC_SLICES_END;
}

/* True for an IDR picture, before which the decoder returns all earlier pictures. An IDR picture of HEVC may have a
 * flag that makes the decoder drop the earlier pictures instead; for such a picture the result is false. */
static bool is_closed(enum AVCodecID codec, const struct unit *slice, int type) {
  if (codec == AV_CODEC_ID_H264)
    return type == H264_IDR;
  return (type == HEVC_IDR_W_RADL || type == HEVC_IDR_N_LP) && slice->size > 2 && !(slice->data[2] & 0x40);
}

/* True if the packet's first slice belongs to an IDR picture. */
static bool begins_with_idr(const AVCodecParameters *video, const AVPacket *packet) {
  struct unit rest = {packet->data, (size_t)packet->size}, unit;
  size_t bytes = length_bytes(video);
  int type;
  while (bytes ? take_counted(&rest, bytes, &unit) : take_marked(&rest, &unit))
    if (unit.size && is_slice(video->codec_id, &unit, &type))
      return is_closed(video->codec_id, &unit, type);
  return false;
}

/* True if the packet has side data that changes the decoder's parameters. */
static bool changes_parameters(const AVPacket *packet) {
  return av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, NULL) ||
         av_packet_get_side_data(packet, AV_PKT_DATA_PARAM_CHANGE, NULL);
}

bool closed_start_is(const AVCodecParameters *video, const AVPacket *packet) {
  const AVCodecDescriptor *about = avcodec_descriptor_get(video->codec_id);
  if (!(packet->flags & AV_PKT_FLAG_KEY) || packet->flags & AV_PKT_FLAG_CORRUPT || changes_parameters(packet))
    return false;
  switch (video->codec_id) {
  case AV_CODEC_ID_H264:
  case AV_CODEC_ID_HEVC:
    return begins_with_idr(video, packet);
  case AV_CODEC_ID_VP8: /* key frames of VP8, VP9 and AV1 replace all reference pictures */
  case AV_CODEC_ID_VP9:
  case AV_CODEC_ID_AV1:
    return true;
  default:
    return about && about->props & AV_CODEC_PROP_INTRA_ONLY;
  }
}
