#include "app/sink/late_tracks.h"

#include <stdlib.h>

#include "app/sink/muxer.h"
#include "app/sink/part.h"
#include "app/sink/target.h"

bool late_tracks_are_due(const struct target *target) {
  return muxer_is_mp4(target->container) && part_is_for(target);
}

int late_tracks_open(struct late_tracks **out, const AVFormatContext *output) {
  struct late_tracks *late = *out = calloc(1, sizeof *late);
  int code = late ? avformat_alloc_output_context2(&late->tracks, output->oformat, NULL, output->url) : AVERROR(ENOMEM);
  if (code < 0)
    late_tracks_close(out);
  return code;
}

/* Makes a packet's time greater than that of the packet before it in the same track, because MP4 cannot store two
 * packets at the same time. If necessary, the packet is moved to one millisecond after the beginning of the earlier
 * one. */
static void keep_rising(const struct late_tracks *late, AVPacket *packet) {
  const AVPacket *before = NULL;
  for (int i = late->count - 1; i >= 0 && !before; i--)
    before = late->packets[i]->stream_index == packet->stream_index ? late->packets[i] : NULL;
  int64_t step = av_rescale_q(1, (AVRational){1, 1000}, late->tracks->streams[packet->stream_index]->time_base);
  int64_t least = before ? before->dts + FFMAX(step, 1) : packet->dts;
  if (packet->dts < least)
    packet->pts = packet->dts = least;
}

int late_tracks_add(struct late_tracks *late, AVPacket *packet) {
  enum { PACKET_BYTES = sizeof *packet + 64 };
  if (late->bytes + packet->size + PACKET_BYTES > LATE_TRACKS_BYTES)
    return AVERROR(ENOSPC);
  if (late->count == late->room) {
    int room = late->room ? 2 * late->room : 16;
    AVPacket **packets = realloc(late->packets, (size_t)room * sizeof(AVPacket *));
    if (!packets)
      return AVERROR(ENOMEM);
    late->packets = packets;
    late->room = room;
  }
  AVPacket *kept = av_packet_alloc();
  if (!kept)
    return AVERROR(ENOMEM);
  av_packet_move_ref(kept, packet);
  keep_rising(late, kept);
  late->packets[late->count++] = kept;
  late->bytes += kept->size + PACKET_BYTES;
  return 0;
}

int late_tracks_write(const struct late_tracks *late, AVFormatContext *to, int first, double time, int *next) {
  int code = 0;
  AVPacket *copy = late ? av_packet_alloc() : NULL;
  if (late && !copy)
    return AVERROR(ENOMEM);
  for (; late && code >= 0 && *next < late->count; ++*next) {
    const AVPacket *packet = late->packets[*next];
    AVRational base = late->tracks->streams[packet->stream_index]->time_base;
    if ((double)packet->dts * av_q2d(base) >= time)
      break;
    code = av_packet_ref(copy, packet);
    if (code < 0)
      break;
    copy->stream_index = first + packet->stream_index;
    av_packet_rescale_ts(copy, base, to->streams[copy->stream_index]->time_base);
    code = av_interleaved_write_frame(to, copy);
  }
  av_packet_free(&copy);
  return code;
}

void late_tracks_close(struct late_tracks **pointer) {
  struct late_tracks *late = *pointer;
  *pointer = NULL;
  if (!late)
    return;
  for (int i = 0; i < late->count; i++)
    av_packet_free(&late->packets[i]);
  free(late->packets);
  avformat_free_context(late->tracks);
  free(late);
}
