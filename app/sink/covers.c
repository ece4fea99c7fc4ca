#include "app/sink/covers.h"

#include <stdio.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>

#include "app/sink/track_copy.h"

/* Codecs of cover pictures, with the extension and MIME type that the picture gets as an attached file. */
static const struct {
  enum AVCodecID codec;
  const char *extension, *mime;
} pictures[] = {
    {AV_CODEC_ID_MJPEG, "jpg", "image/jpeg"},
    {AV_CODEC_ID_PNG, "png", "image/png"},
    {AV_CODEC_ID_BMP, "bmp", "image/bmp"},
};
enum { PICTURES = sizeof pictures / sizeof *pictures };

bool covers_is_one(const AVStream *stream) {
  return stream->codecpar->codec_type == AVMEDIA_TYPE_VIDEO &&
         stream->disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS);
}

static int kind_of(const AVStream *stream) {
  for (int i = 0; i < PICTURES; i++)
    if (pictures[i].codec == stream->codecpar->codec_id)
      return i;
  return -1;
}

/* Adds a cover to the tracks that an MP4 file gets when it is rewritten at its end. MP4 stores a cover as a tag, which
 * FFmpeg's muxer writes for a stream whose only disposition is "attached picture". Returns 1 or a negative FFmpeg
 * code. */
static int add_to_mp4(struct late_tracks *late, const AVStream *from) {
  AVPacket *packet = av_packet_alloc();
  AVStream *to = packet ? track_copy(late->tracks, from) : NULL;
  int code = to ? av_packet_ref(packet, &from->attached_pic) : AVERROR(ENOMEM);
  if (code >= 0) {
    to->disposition = AV_DISPOSITION_ATTACHED_PIC;
    packet->stream_index = to->index;
    packet->pts = packet->dts = 0;
    packet->flags = AV_PKT_FLAG_KEY;
    code = late_tracks_add(late, packet);
  }
  av_packet_free(&packet);
  return code < 0 ? code : 1;
}

static int set_data(AVCodecParameters *to, const uint8_t *data, int size) {
  to->extradata = av_mallocz((size_t)size + AV_INPUT_BUFFER_PADDING_SIZE);
  if (!to->extradata)
    return AVERROR(ENOMEM);
  memcpy(to->extradata, data, (size_t)size);
  to->extradata_size = size;
  return 0;
}

/* Returns how many attached files the output has. */
static int attached(const AVFormatContext *output) {
  int count = 0;
  for (unsigned i = 0; i < output->nb_streams; i++)
    count += output->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_ATTACHMENT;
  return count;
}

/* Adds a cover to a Matroska output as an attached file. Players recognise a cover by the attached file's name. Returns
 * 1 or AVERROR(ENOMEM). */
static int attach_cover(AVFormatContext *output, const AVStream *from, int kind) {
  char name[32] = "";
  int before = attached(output);
  AVStream *to = avformat_new_stream(output, NULL);
  if (!to || set_data(to->codecpar, from->attached_pic.data, from->attached_pic.size))
    return AVERROR(ENOMEM);
  to->codecpar->codec_type = AVMEDIA_TYPE_ATTACHMENT;
  to->codecpar->codec_id = from->codecpar->codec_id;
  av_dict_copy(&to->metadata, from->metadata, 0);
  if (before)
    snprintf(name, sizeof name, "cover_%d.%s", before + 1, pictures[kind].extension);
  else
    snprintf(name, sizeof name, "cover.%s", pictures[kind].extension);
  av_dict_set(&to->metadata, "filename", name, AV_DICT_DONT_OVERWRITE);
  av_dict_set(&to->metadata, "mimetype", pictures[kind].mime, 0);
  return 1;
}

static int attach_file(AVFormatContext *output, const AVStream *from) {
  char name[32];
  int number = attached(output) + 1;
  AVStream *to = track_copy(output, from);
  if (!to)
    return AVERROR(ENOMEM);
  snprintf(name, sizeof name, "attachment_%d", number);
  av_dict_set(&to->metadata, "filename", name, AV_DICT_DONT_OVERWRITE);
  av_dict_set(&to->metadata, "mimetype", "application/octet-stream", AV_DICT_DONT_OVERWRITE);
  return 1;
}

int covers_add(AVFormatContext *output, struct late_tracks *late, const AVStream *from) {
  const char *container = output->oformat->name;
  bool attaches = !strcmp(container, "matroska");
  if (!covers_is_one(from))
    return attaches && from->codecpar->extradata_size ? attach_file(output, from) : 0;
  int kind = kind_of(from);
  if (kind < 0 || !from->attached_pic.size)
    return 0;
  if (attaches)
    return attach_cover(output, from, kind);
  return late && av_match_name(container, "mp4,ipod") ? add_to_mp4(late, from) : 0;
}
