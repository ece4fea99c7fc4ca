#include "app/sink/sound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>

#include "app/source/ffmpeg_util.h"
#include "app/sink/mp4.h"

enum { DAMAGE_IN_A_ROW_MAX = 1000 };

struct sound {
  AVFormatContext *input, *output;
  AVPacket *packet;
  int streams;  /* that were there at the start; more may turn up while reading */
  int *target;  /* output stream of each input stream, or -1 */
  bool waiting; /* packet holds one that begins later than what was asked for */
  bool ended;
  int failure; /* FFmpeg's code of what reading it failed with; 0: nothing did */
  int damaged, damage_in_a_row;
  const struct log *log;
  int64_t origin; /* in AV_TIME_BASE units */
  double duration;
};

static AVStream *copy_stream(AVFormatContext *output, const AVStream *from) {
  AVStream *stream = avformat_new_stream(output, NULL);
  if (!stream || avcodec_parameters_copy(stream->codecpar, from->codecpar) < 0)
    return NULL;
  stream->codecpar->codec_tag = 0;
  stream->time_base = from->time_base;
  stream->disposition = from->disposition;
  av_dict_copy(&stream->metadata, from->metadata, 0);
  return stream;
}

/* MPEG-TS carries whatever it is given, but most of it as private data, which no player knows for sound. */
static bool named_in_transport_stream(enum AVCodecID codec) {
  static const enum AVCodecID known[] = {AV_CODEC_ID_MP2,  AV_CODEC_ID_MP3,      AV_CODEC_ID_AAC, AV_CODEC_ID_AC3,
                                         AV_CODEC_ID_EAC3, AV_CODEC_ID_AAC_LATM, AV_CODEC_ID_DTS, AV_CODEC_ID_TRUEHD,
                                         AV_CODEC_ID_OPUS, AV_CODEC_ID_S302M};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i] == codec)
      return true;
  return false;
}

/* Not every muxer says what it takes, and some that do refuse it in the end. So a header with all of the output's
 * streams and this one is written, into memory: no trailer, which without packets leaks or crashes in some muxers.
 * Those that open files themselves would leave them behind: what they say is believed. 1: it fits; 0; or an FFmpeg
 * error code where that cannot be told. */
static int fits(const AVFormatContext *output, const AVStream *sound) {
  AVFormatContext *trial = NULL;
  AVDictionary *wishes = NULL;
  uint8_t *header = NULL;
  const char *name = output->oformat->name;
  bool named = named_in_transport_stream(sound->codecpar->codec_id);
  if (!strcmp(name, "rtp_mpegts") || (!strcmp(name, "mpegts") && !named))
    return named; /* over RTP there is no header without a network */
  if (output->oformat->flags & AVFMT_NOFILE)
    return avformat_query_codec(output->oformat, sound->codecpar->codec_id, FF_COMPLIANCE_NORMAL) != 0;
  if (avformat_alloc_output_context2(&trial, output->oformat, NULL, output->url) < 0)
    return AVERROR(ENOMEM);
  bool copied = true;
  for (unsigned i = 0; i < output->nb_streams; i++)
    copied = copied && copy_stream(trial, output->streams[i]);
  copied = copied && copy_stream(trial, sound) && avio_open_dyn_buf(&trial->pb) >= 0;
  if (copied && muxer_is_mp4(output->oformat))
    mp4_wishes(&wishes);
  int code = copied ? avformat_write_header(trial, &wishes) : AVERROR(ENOMEM);
  if (trial->pb)
    avio_close_dyn_buf(trial->pb, &header);
  av_free(header);
  av_dict_free(&wishes);
  avformat_free_context(trial);
  return code == AVERROR(ENOMEM) ? code : code >= 0;
}

static int choose_streams(struct sound *sound, const struct sink_options *options) {
  int copied = 0;
  for (int i = 0; i < sound->streams; i++) {
    AVStream *from = sound->input->streams[i];
    sound->target[i] = -1;
    from->discard = AVDISCARD_ALL;
    if (from->codecpar->codec_type != AVMEDIA_TYPE_AUDIO)
      continue;
    int fit = fits(sound->output, from);
    if (fit < 0)
      return -1;
    if (!fit) {
      log_line(options->log, LOG_WARNING, "sound: %s does not fit into %s and is left out; .mkv takes it",
               avcodec_get_name(from->codecpar->codec_id), sound->output->oformat->name);
      continue;
    }
    AVStream *to = copy_stream(sound->output, from);
    if (!to)
      return -1;
    sound->target[i] = to->index;
    from->discard = AVDISCARD_DEFAULT;
    copied++;
  }
  return copied;
}

/* Tags that tell of the input's encoding, not of its content, are not handed on. */
static void copy_metadata(AVFormatContext *to, const AVFormatContext *from) {
  static const char *const stale[] = {"major_brand", "minor_version", "compatible_brands", "encoder", "duration"};
  av_dict_copy(&to->metadata, from->metadata, 0);
  for (size_t i = 0; i < sizeof stale / sizeof *stale; i++)
    av_dict_set(&to->metadata, stale[i], NULL, 0);
}

static int no_memory(const struct sink_options *options, struct error *err) {
  return error_set(err, STATUS_FAILED, "%s: no memory to copy its sound", options->sound);
}

/* Fills sound: how many streams of it are copied, or -1. */
static int prepare(struct sound *sound, const struct sink_options *options, struct error *err) {
  char reason[128];
  struct source_options plain = *options->sound_options;
  plain.width = plain.height = 0;
  plain.fps = 0;
  sound->log = options->log;
  sound->duration = plain.duration;
  if (ffmpeg_open_input(&sound->input, options->sound, &plain, NULL, NULL, err))
    return -1;
  int code = avformat_find_stream_info(sound->input, NULL);
  if (code < 0)
    return error_set(err, code == AVERROR(ENOMEM) ? STATUS_FAILED : STATUS_INPUT, "%s: %s", options->sound,
                     ffmpeg_reason(code, reason));
  copy_metadata(sound->output, sound->input);
  sound->packet = av_packet_alloc();
  sound->streams = (int)sound->input->nb_streams;
  sound->target = calloc((size_t)sound->streams + 1, sizeof *sound->target);
  int copied = sound->packet && sound->target ? choose_streams(sound, options) : -1;
  if (copied < 0)
    return no_memory(options, err);
  sound->origin = ffmpeg_origin(sound->input, plain.start);
  if (plain.start > 0 && copied > 0)
    avformat_seek_file(sound->input, -1, INT64_MIN, sound->origin, sound->origin, 0);
  return copied;
}

int sound_open(struct sound **result, AVFormatContext *output, const struct sink_options *options, struct error *err) {
  struct error reason;
  *result = NULL;
  if (!options->sound || output->oformat->audio_codec == AV_CODEC_ID_NONE)
    return 0;
  if (!ffmpeg_can_reopen(options->sound, options->sound_options))
    return 0;
  struct sound *sound = calloc(1, sizeof *sound);
  if (!sound)
    return no_memory(options, err);
  sound->output = output;
  int copied = prepare(sound, options, &reason);
  if (copied > 0) {
    *result = sound;
    return 0;
  }
  sound_close(&sound);
  if (copied < 0 && reason.status == STATUS_FAILED) {
    *err = reason;
    return -1;
  }
  if (copied < 0)
    log_line(options->log, LOG_WARNING, "sound: cannot be read and is left out: %s", reason.message);
  return 0;
}

/* The pictures go on without what cannot be read of it; sound_check tells of it at the end. */
static void note_end(struct sound *sound, int code) {
  sound->damaged += code == AVERROR_INVALIDDATA;
  if (code == AVERROR_INVALIDDATA && !sound->failure && ++sound->damage_in_a_row < DAMAGE_IN_A_ROW_MAX)
    return;
  sound->ended = true;
  if (code != AVERROR_EOF && !sound->failure)
    sound->failure = code;
}

static bool next_packet(struct sound *sound) {
  while (!sound->waiting && !sound->ended) {
    int code = av_read_frame(sound->input, sound->packet);
    int failure = ffmpeg_read_failure(sound->input, code);
    if (failure)
      sound->failure = failure;
    if (code < 0) {
      note_end(sound, code);
      continue;
    }
    sound->damage_in_a_row = 0;
    if (sound->packet->stream_index < sound->streams && sound->target[sound->packet->stream_index] >= 0)
      sound->waiting = true;
    else
      av_packet_unref(sound->packet);
  }
  return sound->waiting;
}

int sound_check(const struct sound *sound, struct error *err) {
  char reason[128];
  if (!sound)
    return 0;
  if (sound->damaged)
    log_line(sound->log, LOG_WARNING, "sound: damaged in %d place%s, skipped", sound->damaged,
             sound->damaged == 1 ? "" : "s");
  if (!sound->failure)
    return 0;
  return error_set(err, STATUS_INPUT, "sound: cannot be read to its end, and what follows is missing: %s",
                   ffmpeg_reason(sound->failure, reason));
}

/* From the input's clock to the output's. */
static void settle_times(const struct sound *sound, AVPacket *packet) {
  const AVStream *from = sound->input->streams[packet->stream_index];
  int64_t shift = av_rescale_q(sound->origin, AV_TIME_BASE_Q, from->time_base);
  if (packet->pts != AV_NOPTS_VALUE)
    packet->pts -= shift;
  if (packet->dts != AV_NOPTS_VALUE)
    packet->dts -= shift;
  packet->stream_index = sound->target[packet->stream_index];
  packet->pos = -1;
  av_packet_rescale_ts(packet, from->time_base, sound->output->streams[packet->stream_index]->time_base);
}

/* When the packet that waits begins, in seconds of the output. */
static double begin_of(const struct sound *sound) {
  const AVPacket *packet = sound->packet;
  const AVStream *from = sound->input->streams[packet->stream_index];
  int64_t shift = av_rescale_q(sound->origin, AV_TIME_BASE_Q, from->time_base);
  int64_t stamp = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  return stamp == AV_NOPTS_VALUE ? 0 : (double)(stamp - shift) * av_q2d(from->time_base);
}

/* Before the start asked for, behind the end; or, as the first packet of AAC is, before 0 in a container without times
 * below it: its muxer would move the pictures and all the sound to make room for what nobody is to hear. */
static bool is_outside(const struct sound *sound, double begin) {
  bool early = sound->origin || sound->output->avoid_negative_ts > AVFMT_AVOID_NEG_TS_DISABLED;
  return (early && begin < 0) || (sound->duration > 0 && begin >= sound->duration);
}

int sound_write_until(struct sound *sound, struct muxer *muxer, double time) {
  while (sound && next_packet(sound)) {
    double begin = begin_of(sound);
    if (begin >= time)
      return 0;
    sound->waiting = false;
    if (is_outside(sound, begin)) {
      av_packet_unref(sound->packet);
      continue;
    }
    settle_times(sound, sound->packet);
    int code = muxer_write(muxer, sound->packet);
    if (code < 0)
      return code;
  }
  return 0;
}

int sound_send_ahead(struct sound *sound, struct muxer *muxer) {
  if (!sound || !next_packet(sound) || is_outside(sound, begin_of(sound)) ||
      !muxer_lacks(muxer, sound->target[sound->packet->stream_index]))
    return 0;
  sound->waiting = false;
  settle_times(sound, sound->packet);
  return muxer_write(muxer, sound->packet);
}

bool sound_has_more(const struct sound *sound) {
  return sound && !sound->ended;
}

void sound_close(struct sound **sound) {
  if (*sound) {
    av_packet_free(&(*sound)->packet);
    avformat_close_input(&(*sound)->input);
    free((*sound)->target);
    free(*sound);
  }
  *sound = NULL;
}
