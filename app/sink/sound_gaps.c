#include "app/sink/sound_gaps.h"

#include <math.h>
#include <stdlib.h>

#include <libavcodec/avcodec.h>

#include "app/sink/side_reader.h"

/* Sound that is early or late by more than this many seconds counts as having a gap. */
static const double slack_seconds = 0.06;

static double length_of(const AVStream *stream, const AVPacket *packet) {
  int samples = av_get_audio_frame_duration2(stream->codecpar, packet->size);
  return samples > 0 && stream->codecpar->sample_rate > 0 ? (double)samples / stream->codecpar->sample_rate
                                                          : (double)packet->duration * av_q2d(stream->time_base);
}

/* Sets *gap if a packet does not begin where its stream's sound ended, and adds the packet's length to *end. begin: the
 * packet's time; *end: the end of the sound before it; both in seconds from the output's time 0. */
static void look_at(const AVStream *stream, const AVPacket *packet, double begin, double *end, bool *gap) {
  if (begin < 0)
    return;
  *gap |= fabs(begin - *end) > slack_seconds;
  *end += length_of(stream, packet);
}

static double begin_of(const AVStream *stream, const AVPacket *packet, int64_t origin) {
  int64_t stamp = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  return stamp == AV_NOPTS_VALUE ? -1 : (double)stamp * av_q2d(stream->time_base) - (double)origin / AV_TIME_BASE;
}

static void want_all(struct side_reader *reader) {
  for (int i = 0; i < reader->streams; i++)
    if (reader->input->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO) {
      reader->input->streams[i]->discard = AVDISCARD_DEFAULT;
      reader->tracks[i].wanted = true;
    }
}

static void read_part(struct side_reader *reader, const struct sound_part *part, AVPacket *packet, double *ends,
                      bool *gaps) {
  bool inside = true;
  while (inside && !(part->stop && atomic_load(part->stop)) && side_reader_next(reader, packet)) {
    int at = packet->stream_index;
    double begin = begin_of(reader->input->streams[at], packet, part->origin);
    inside = part->duration <= 0 || begin < part->duration;
    if (inside)
      look_at(reader->input->streams[at], packet, begin, &ends[at], &gaps[at]);
    av_packet_unref(packet);
  }
}

int sound_gaps_find(AVFormatContext *input, const struct sound_part *part, bool *gaps) {
  struct side_reader reader = {0};
  AVPacket *packet = av_packet_alloc();
  double *ends = calloc((size_t)input->nb_streams + 1, sizeof *ends);
  int code = packet && ends && !side_reader_begin(&reader, input, NULL) ? 0 : -1;
  if (!code) {
    want_all(&reader);
    read_part(&reader, part, packet, ends, gaps);
  }
  side_reader_free(&reader);
  free(ends);
  av_packet_free(&packet);
  return code;
}
