#include "app/mp4.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/ffmpeg_util.h"

bool mp4_is(const AVOutputFormat *container) {
  return !strcmp(container->name, "mp4") || !strcmp(container->name, "mov");
}

void mp4_wishes(AVDictionary **wishes) {
  av_dict_set(wishes, "movflags", "frag_keyframe+delay_moov+default_base_moof", 0);
}

void mp4_cut(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return;
  uint8_t head[8];
  int64_t at = 0, whole = 0, size = fseeko(file, 0, SEEK_END) ? 0 : ftello(file);
  while (at + 8 <= size && !fseeko(file, at, SEEK_SET) && fread(head, 1, 8, file) == 8) {
    int64_t length = (int64_t)head[0] << 24 | head[1] << 16 | head[2] << 8 | head[3];
    if (length < 8 || at + length > size)
      break;
    at += length;
    if (!memcmp(head + 4, "mdat", 4))
      whole = at;
  }
  fclose(file);
  int cut = whole > 0 && whole < size ? truncate(path, whole) : 0;
  (void)cut; /* a file that cannot be cut stays as it is: the failure that led here is what the user hears of */
}

static int copy_streams(AVFormatContext *from, AVFormatContext *to) {
  for (unsigned i = 0; i < from->nb_streams; i++) {
    AVStream *stream = avformat_new_stream(to, NULL);
    if (!stream)
      return AVERROR(ENOMEM);
    int code = avcodec_parameters_copy(stream->codecpar, from->streams[i]->codecpar);
    if (code < 0)
      return code;
    stream->codecpar->codec_tag = 0;
    stream->time_base = from->streams[i]->time_base;
    stream->avg_frame_rate = from->streams[i]->avg_frame_rate;
    stream->sample_aspect_ratio = from->streams[i]->sample_aspect_ratio;
    stream->disposition = from->streams[i]->disposition;
    av_dict_copy(&stream->metadata, from->streams[i]->metadata, 0);
  }
  av_dict_copy(&to->metadata, from->metadata, 0);
  return 0;
}

static int copy_packets(AVFormatContext *from, AVFormatContext *to) {
  AVPacket *packet = av_packet_alloc();
  int code = packet ? 0 : AVERROR(ENOMEM);
  while (code >= 0 && (code = av_read_frame(from, packet)) >= 0) {
    av_packet_rescale_ts(packet, from->streams[packet->stream_index]->time_base,
                         to->streams[packet->stream_index]->time_base);
    packet->pos = -1;
    code = av_interleaved_write_frame(to, packet);
  }
  av_packet_free(&packet);
  return code == AVERROR_EOF ? 0 : code;
}

static int rewrite(const char *path, const AVOutputFormat *container, const char *neighbour) {
  AVFormatContext *from = NULL, *to = NULL;
  AVDictionary *wishes = NULL;
  int code = avformat_open_input(&from, path, NULL, NULL);
  if (code >= 0)
    code = avformat_find_stream_info(from, NULL);
  if (code >= 0)
    /* The context must know the neighbour's name: moving the index to the front opens it once more to read. */
    code = avformat_alloc_output_context2(&to, container, NULL, neighbour);
  if (code >= 0)
    code = copy_streams(from, to);
  if (code >= 0)
    code = avio_open(&to->pb, neighbour, AVIO_FLAG_WRITE);
  if (code >= 0) {
    av_dict_set(&wishes, "movflags", "faststart", 0);
    code = avformat_write_header(to, &wishes);
    if (code >= 0)
      code = copy_packets(from, to);
    if (code >= 0)
      code = av_write_trailer(to);
    int closed = avio_closep(&to->pb);
    if (code >= 0)
      code = closed;
  }
  av_dict_free(&wishes);
  avformat_free_context(to);
  avformat_close_input(&from);
  return code;
}

void mp4_settle(const char *path, const AVOutputFormat *container, const struct log *log) {
  struct stat file;
  char plain[PATH_MAX], neighbour[PATH_MAX + 16], reason[128];
  if (!realpath(path, plain) || stat(plain, &file) || !S_ISREG(file.st_mode))
    return;
  snprintf(neighbour, sizeof neighbour, "%s.settling", plain);
  int code = rewrite(plain, container, neighbour);
  if (code >= 0 && !chmod(neighbour, file.st_mode & 07777) && !rename(neighbour, plain))
    return;
  unlink(neighbour);
  log_line(log, LOG_WARNING, "%s: stays in fragments, which some players seek badly in (%s)", plain,
           code < 0 ? ffmpeg_reason(code, reason) : "it cannot be replaced");
}
