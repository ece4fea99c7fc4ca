#include "app/sink/sound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/avstring.h>

#include "app/sink/preroll.h"
#include "app/sink/sound_encoder.h"
#include "app/sink/sound_fits.h"
#include "app/sink/tags.h"

struct sound {
  AVFormatContext *input, *output; /* packets are read from `input` and written to `output`; neither of these is
                                    * owned */
  struct side_reader *reader;
  AVPacket *packet;
  /* an element for each input stream: its encoder; NULL: the stream is copied or left out */
  struct sound_encoder **encoders;
  /* an element for each input stream: index of its copy among the output's streams; -1: the stream is left out */
  int *target;
  const bool *gaps;
  /* true: `packet` was read but not written yet, because it begins later than the time up to which the caller wrote */
  bool waiting;
  int64_t origin; /* time in the input that becomes time 0 of the output, in AV_TIME_BASE units */
  double duration;
};

/* True if a stream belongs to another programme of a transport stream than the pictures. */
static bool is_of_another_programme(AVFormatContext *input, const AVStream *video, int stream) {
  const AVProgram *programme = av_find_program_from_stream(input, NULL, stream);
  if (!programme || !video || !av_find_program_from_stream(input, NULL, video->index))
    return false;
  for (; programme; programme = av_find_program_from_stream(input, (AVProgram *)(uintptr_t)programme, stream))
    for (unsigned i = 0; i < programme->nb_stream_indexes; i++)
      if ((int)programme->stream_index[i] == video->index)
        return false;
  return true;
}

/* True if the input's track of this number, counted from 1, is to be in the output. */
static bool is_wanted(const struct sound *sound, const struct sink_options *options, int stream, int number) {
  if (options->sound_track)
    return number == options->sound_track;
  if (!is_of_another_programme(sound->input, sound->reader->video, stream))
    return true;
  log_line(options->log, LOG_WARNING,
           "sound: track %d belongs to another programme and is left out; --sound-track %d takes it alone", number,
           number);
  return false;
}

static void use_stream(struct sound *sound, int index, const AVStream *to) {
  sound->target[index] = to->index;
  side_reader_want(sound->reader, index);
}

/* Adds a stream to the output for input stream number `index`, whose sound will be encoded again with this codec.
 * Returns 1; or a negative FFmpeg code if it cannot be encoded. */
static int add_encoder(struct sound *sound, int index, enum AVCodecID codec) {
  AVStream *from = sound->input->streams[index];
  unsigned streams = sound->output->nb_streams;
  int code = codec == AV_CODEC_ID_NONE
                 ? AVERROR_ENCODER_NOT_FOUND
                 : sound_encoder_open(&sound->encoders[index], sound->output, codec, from, sound->duration);
  if (code < 0)
    return sound->output->nb_streams > streams ? AVERROR(ENOMEM) : code;
  AVStream *to = sound_encoder_stream(sound->encoders[index]);
  tags_copy_stream(to, from);
  tags_fit_track(sound->output->oformat, to);
  to->disposition = from->disposition;
  use_stream(sound, index, to);
  return 1;
}

/* True if the output has a track of sound and its container takes no second one, as FLV does not. */
static bool is_full(const struct sound *sound) {
  const AVFormatContext *output = sound->output;
  for (unsigned i = 0; i < output->nb_streams; i++)
    if (output->streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO)
      return sound_fits(output, output->streams[i]) <= 0;
  return false;
}

/* Adds a stream that must be encoded again, because the container cannot hold it unchanged. Returns the number of
 * streams added: 1, or 0 if the stream is left out; -1: out of memory. */
static int add_encoded(struct sound *sound, const struct sink_options *options, int index) {
  AVStream *from = sound->input->streams[index];
  const AVOutputFormat *container = sound->output->oformat;
  const char *was = avcodec_get_name(from->codecpar->codec_id);
  if (is_full(sound)) {
    log_line(options->log, LOG_WARNING, "sound: %s has no place for another track: %s is left out", container->name,
             was);
    return 0;
  }
  enum AVCodecID codec = sound_encoder_choose(container, from->codecpar);
  int added = add_encoder(sound, index, codec);
  if (added == AVERROR(ENOMEM))
    return -1;
  if (added < 0)
    log_line(options->log, LOG_WARNING, "sound: %s does not fit into %s and cannot be encoded again; it is left out",
             was, container->name);
  else
    log_line(options->log, LOG_WARNING, "sound: %s does not fit into %s and is encoded again, as %s", was,
             container->name, avcodec_get_name(codec));
  return added > 0;
}

bool sound_is_pcm(const AVStream *stream) {
  return !strncmp(avcodec_get_name(stream->codecpar->codec_id), "pcm_", 4);
}

/* Adds a stream that must be encoded again because of its times. If the container cannot store gaps, gaps of PCM and of
 * streams with gaps are filled with silence. If it cannot store short packets, PCM gets packets of the encoder's
 * length. Returns the number of streams added: 1, or 0 if the stream is to be copied; -1: out of memory. */
static int add_filled(struct sound *sound, const struct sink_options *options, int index) {
  AVStream *from = sound->input->streams[index];
  const AVOutputFormat *container = sound->output->oformat;
  const char *was = avcodec_get_name(from->codecpar->codec_id);
  bool counts = muxer_counts_sound(container), pcm = sound_is_pcm(from);
  if (!(counts && (pcm || sound->gaps[index])) && !(muxer_needs_long_packets(container) && pcm))
    return 0;
  enum AVCodecID codec = from->codecpar->codec_id;
  int added = add_encoder(sound, index, codec);
  if (added < 0 && added != AVERROR(ENOMEM) && sound->gaps[index])
    added = add_encoder(sound, index, codec = sound_encoder_choose(container, from->codecpar));
  if (added == AVERROR(ENOMEM))
    return -1;
  if (added < 0 && sound->gaps[index])
    log_line(options->log, LOG_WARNING,
             "sound: %s has gaps, for which %s has no times, and cannot be encoded again: it is heard early", was,
             container->name);
  else if (added > 0 && !pcm)
    log_line(options->log, LOG_WARNING,
             "sound: %s %s gaps, for which %s has no times, and is encoded again with silence, as %s", was,
             sound->reader->feed ? "may have" : "has", container->name, avcodec_get_name(codec));
  return added > 0;
}

/* Adds a stream as PCM if a copy, cut at --start, would begin with silence: its decoder needs packets from before the
 * cut, which the container cannot store. Returns the number of streams added: 1, or 0 if there would be no silence or
 * the container cannot have PCM; -1: out of memory. */
static int add_cut(struct sound *sound, const struct sink_options *options, int index) {
  AVStream *from = sound->input->streams[index];
  const AVOutputFormat *container = sound->output->oformat;
  bool cut = options->sound_options->start > 0 && preroll_is_vital(from->codecpar);
  if (!cut || muxer_preroll(sound->output, from) > 0 ||
      avformat_query_codec(container, AV_CODEC_ID_PCM_S16LE, FF_COMPLIANCE_NORMAL) != 1)
    return 0;
  int added = add_encoder(sound, index, AV_CODEC_ID_PCM_S16LE);
  if (added > 0)
    log_line(options->log, LOG_WARNING,
             "sound: %s is encoded again, as pcm_s16le, since %s cannot have the packets before --start that it needs",
             avcodec_get_name(from->codecpar->codec_id), container->name);
  return added == AVERROR(ENOMEM) ? -1 : added > 0;
}

/* Adds a stream of sound to the output. Returns the number of streams added: 1, or 0 if it is left out; -1: out of
 * memory. */
static int add_stream(struct sound *sound, const struct sink_options *options, int index) {
  AVStream *from = sound->input->streams[index];
  int fit = sound_fits(sound->output, from);
  if (fit < 0)
    return -1;
  if (!fit)
    return add_encoded(sound, options, index);
  int encoded = add_cut(sound, options, index);
  if (!encoded)
    encoded = add_filled(sound, options, index);
  if (encoded)
    return encoded;
  AVStream *to = sound_copy_stream(sound->output, from);
  if (!to)
    return -1;
  use_stream(sound, index, to);
  return 1;
}

/* Adds the streams of sound to copy to the output. Returns their number, or -1 if one could not be added. *tracks:
 * number of tracks of sound that the input has. */
static int choose_streams(struct sound *sound, const struct sink_options *options, int *tracks) {
  int added = 0;
  for (int i = 0; i < sound->reader->streams; i++) {
    sound->target[i] = -1;
    if (sound->input->streams[i]->codecpar->codec_type != AVMEDIA_TYPE_AUDIO)
      continue;
    ++*tracks;
    int count = is_wanted(sound, options, i, *tracks) ? add_stream(sound, options, i) : 0;
    if (count < 0)
      return -1;
    added += count;
  }
  return added;
}

static int no_memory(const struct sink_options *options, struct error *err) {
  return error_set(err, STATUS_FAILED, "%s: no memory to copy its sound", options->sound);
}

static int say_track_missing(const struct sink_options *options, int tracks, struct error *err) {
  if (!tracks)
    return error_set(err, STATUS_USAGE, "--sound-track %d: %s has no sound", options->sound_track, options->sound);
  return error_set(err, STATUS_USAGE, "--sound-track %d: %s has %d track%s of sound", options->sound_track,
                   options->sound, tracks, tracks == 1 ? "" : "s");
}

static bool next_packet(struct sound *sound) {
  if (!sound->waiting)
    sound->waiting = side_reader_next(sound->reader, sound->packet);
  return sound->waiting;
}

/* Returns the time, in seconds of the output, at which the waiting packet (read, but not written yet) begins. */
static double begin_of(const struct sound *sound) {
  const AVPacket *packet = sound->packet;
  const AVStream *from = sound->input->streams[packet->stream_index];
  int64_t shift = av_rescale_q(sound->origin, AV_TIME_BASE_Q, from->time_base);
  int64_t stamp = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  return stamp == AV_NOPTS_VALUE ? 0 : (double)(stamp - shift) * av_q2d(from->time_base);
}

static double end_of(const struct sound *sound) {
  const AVPacket *packet = sound->packet;
  return begin_of(sound) + (double)packet->duration * av_q2d(sound->input->streams[packet->stream_index]->time_base);
}

int sound_open(struct sound **result, const struct sound_params *params, struct error *err) {
  const struct sink_options *options = params->options;
  struct sound *sound = *result = calloc(1, sizeof *sound);
  int tracks = 0;
  if (!sound)
    return no_memory(options, err);
  sound->reader = params->reader;
  sound->input = params->reader->input;
  sound->output = params->output;
  sound->origin = params->origin;
  sound->duration = params->duration;
  sound->gaps = params->gaps;
  sound->packet = av_packet_alloc();
  sound->target = calloc((size_t)sound->reader->streams + 1, sizeof *sound->target);
  sound->encoders = calloc((size_t)sound->reader->streams + 1, sizeof(struct sound_encoder *));
  bool ready = sound->packet && sound->target && sound->encoders;
  int added = ready ? choose_streams(sound, options, &tracks) : -1;
  if (added > 0)
    return 0;
  sound_close(result);
  if (added < 0)
    return no_memory(options, err);
  return options->sound_track > tracks ? say_track_missing(options, tracks, err) : 0;
}

/* Stores in the header of an Opus track in Matroska how long before time 0 the track begins. To find that out, reads up
 * to the first packet that the decoder needs. */
static void hide_preroll(struct sound *sound, int index) {
  AVStream *to = sound->output->streams[sound->target[index]];
  bool matroska = av_match_name(sound->output->oformat->name, "matroska,webm");
  if (!matroska || to->codecpar->codec_id != AV_CODEC_ID_OPUS || sound->encoders[index])
    return;
  double preroll = muxer_preroll(sound->output, to);
  while (next_packet(sound) && end_of(sound) <= -preroll) {
    sound->waiting = false;
    av_packet_unref(sound->packet);
  }
  if (sound->waiting && begin_of(sound) < 0)
    preroll_hide(to->codecpar, -begin_of(sound));
}

void sound_cut(struct sound *sound) {
  int tracks = 0, last = 0;
  for (int i = 0; sound && i < sound->reader->streams; i++)
    if (sound->target[i] >= 0) {
      tracks++;
      last = i;
    }
  if (tracks == 1 && !sound->reader->feed)
    hide_preroll(sound, last);
}

/* Converts a packet's times from the input's clock to the output's, by subtracting the time in the input at which the
 * output begins (sound->origin). */
static void move_times(const struct sound *sound, AVPacket *packet) {
  const AVStream *from = sound->input->streams[packet->stream_index];
  int64_t shift = av_rescale_q(sound->origin, AV_TIME_BASE_Q, from->time_base);
  if (packet->pts != AV_NOPTS_VALUE)
    packet->pts -= shift;
  if (packet->dts != AV_NOPTS_VALUE)
    packet->dts -= shift;
}

static int copy_packet(struct sound *sound, struct muxer *muxer, AVPacket *packet) {
  const AVStream *from = sound->input->streams[packet->stream_index];
  packet->stream_index = sound->target[packet->stream_index];
  packet->pos = -1;
  muxer_make_room(muxer, sound->output->streams[packet->stream_index], packet, from->time_base);
  av_packet_rescale_ts(packet, from->time_base, sound->output->streams[packet->stream_index]->time_base);
  return muxer_write(muxer, packet);
}

int sound_write(struct sound *sound, struct muxer *muxer) {
  AVPacket *packet = sound->packet;
  struct sound_encoder *encoder = sound->encoders[packet->stream_index];
  sound->waiting = false;
  move_times(sound, packet);
  if (!encoder)
    return copy_packet(sound, muxer, packet);
  int code = sound_encoder_write(encoder, muxer, packet);
  av_packet_unref(packet);
  return code;
}

/* True if the waiting packet (read, but not written yet) must not be written. It begins before the first time that the
 * container can store, or it ends before the wanted part of the input and no decoder needs it. If the wanted part
 * begins at the input's start, the last packet before it is written. Streams that are encoded again get all packets,
 * because a decoder may need them. */
static bool is_too_early(const struct sound *sound, const struct muxer *muxer, double begin) {
  int stream = sound->packet->stream_index;
  if (sound->encoders[stream] || begin >= 0)
    return false;
  const AVStream *to = sound->output->streams[sound->target[stream]];
  double end = end_of(sound), kept = muxer_preroll(sound->output, to) + (sound->origin ? 0 : end - begin);
  return end <= -kept || muxer_is_too_early(muxer, to, begin, end);
}

int sound_fill(struct sound *sound, struct muxer *muxer, double time) {
  /* in a badly interleaved input, sound may come this many seconds after the pictures of the same time */
  static const double patience_seconds = 10;
  int code = 0;
  for (int i = 0; sound && muxer_needs_sound(sound->output->oformat) && code >= 0 && i < sound->reader->streams; i++)
    if (sound->encoders[i] && isfinite(time))
      code = sound_encoder_pad(sound->encoders[i], muxer, time - patience_seconds);
  return code;
}

bool sound_next(struct sound *sound, const struct muxer *muxer, double *begin) {
  while (sound && next_packet(sound)) {
    *begin = begin_of(sound);
    if (!is_too_early(sound, muxer, *begin))
      return true;
    sound->waiting = false;
    av_packet_unref(sound->packet);
  }
  return false;
}

int sound_send_ahead(struct sound *sound, struct muxer *muxer) {
  double begin;
  if (!sound || !sound_next(sound, muxer, &begin) || (sound->duration > 0 && begin >= sound->duration))
    return 0;
  int stream = sound->packet->stream_index;
  bool copied = !sound->encoders[stream];
  return copied && muxer_lacks(muxer, sound->target[stream]) ? sound_write(sound, muxer) : 0;
}

int sound_finish(struct sound *sound, struct muxer *muxer, double end, double pictures_end) {
  /* Too short sound is filled with silence until this many seconds after the pictures' end, which is longer than one
   * picture lasts. The muxer cuts off the surplus. */
  static const double tail_seconds = 0.1;
  int code = 0;
  for (int i = 0; sound && code >= 0 && i < sound->reader->streams; i++)
    if (sound->encoders[i])
      code = sound_encoder_finish(sound->encoders[i], muxer, end,
                                  muxer_needs_sound(sound->output->oformat) ? pictures_end + tail_seconds : 0);
  return code;
}

void sound_close(struct sound **sound) {
  if (*sound) {
    av_packet_free(&(*sound)->packet);
    for (int i = 0; (*sound)->encoders && i < (*sound)->reader->streams; i++)
      sound_encoder_close(&(*sound)->encoders[i]);
    free((*sound)->encoders);
    free((*sound)->target);
    free(*sound);
  }
  *sound = NULL;
}
