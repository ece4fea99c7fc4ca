#include "app/sink/sound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>

#include "app/source/ffmpeg_util.h"
#include "app/sink/sound_encoder.h"
#include "app/sink/sound_fits.h"
#include "app/sink/sound_gaps.h"
#include "app/sink/sound_reader.h"
#include "app/sink/tags.h"

struct sound {
  AVFormatContext *input, *output;
  struct sound_reader reader;
  AVPacket *packet;
  struct sound_encoder **encoders; /* an element for each input stream; NULL: it is copied or left out */
  /* an element for each input stream: index of its stream in the output; -1: it is left out */
  int *target;
  /* an element for each input stream: true if it has gaps, which the container cannot store */
  bool *gaps;
  /* `packet` has been read and is not written yet, because it begins later than the caller asked for */
  bool waiting;
  const struct log *log;
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
  if (!is_of_another_programme(sound->input, sound->reader.video, stream))
    return true;
  log_line(options->log, LOG_WARNING,
           "sound: track %d belongs to another programme and is left out; --sound-track %d takes it alone", number,
           number);
  return false;
}

static void use_stream(struct sound *sound, int index, const AVStream *to) {
  sound->target[index] = to->index;
  sound->input->streams[index]->discard = AVDISCARD_DEFAULT;
  sound->reader.tracks[index].wanted = true;
}

/* Adds input stream number `index` to the output, encoded again with this codec. Returns 1; or a negative FFmpeg code
 * if it cannot be encoded. */
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

/* Adds a stream that does not fit into the container as it is, encoded again. Returns the number of streams added: 1,
 * or 0 if it is left out; -1: out of memory. */
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

/* True for PCM, which stays the same to the bit when it is encoded again. */
static bool is_pcm(const AVStream *stream) {
  return !strncmp(avcodec_get_name(stream->codecpar->codec_id), "pcm_", 4);
}

/* If the output's container cannot store gaps, adds a stream that has some or is PCM, encoded again with silence in the
 * gaps. If it cannot store short packets, adds a stream of PCM in packets of the encoder's length. Returns the number
 * of streams added: 1, or 0 if it is to be copied or left out; -1: out of memory. */
static int add_filled(struct sound *sound, const struct sink_options *options, int index) {
  AVStream *from = sound->input->streams[index];
  const AVOutputFormat *container = sound->output->oformat;
  const char *was = avcodec_get_name(from->codecpar->codec_id);
  bool counts = muxer_counts_sound(container), pcm = is_pcm(from);
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
             "sound: %s has gaps, for which %s has no times, and is encoded again with silence, as %s", was,
             container->name, avcodec_get_name(codec));
  return added > 0;
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
  int filled = add_filled(sound, options, index);
  if (filled)
    return filled;
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
  for (int i = 0; i < sound->reader.streams; i++) {
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

static int open_input(AVFormatContext **input, const struct sink_options *options, struct error *err) {
  char reason[128];
  struct source_options plain = *options->sound_options;
  plain.width = plain.height = 0;
  plain.fps = 0;
  if (ffmpeg_open_input(input, options->sound, &plain, NULL, NULL, err))
    return -1;
  int code = avformat_find_stream_info(*input, NULL);
  return code < 0 ? error_set(err, code == AVERROR(ENOMEM) ? STATUS_FAILED : STATUS_INPUT, "%s: %s", options->sound,
                              ffmpeg_reason(code, reason))
                  : 0;
}

/* Opens the input and seeks to options' start; if the input cannot seek, it is opened again and stays at its beginning.
 * Returns 0, or -1 with err. */
static int open_at_start(AVFormatContext **input, const struct sink_options *options, struct error *err) {
  double start = options->sound_options->start;
  if (open_input(input, options, err))
    return -1;
  if (start <= 0 || options->no_sound || sound_reader_seek(*input, start) >= 0)
    return 0;
  avformat_close_input(input);
  return open_input(input, options, err);
}

static int say_track_missing(const struct sink_options *options, int tracks, struct error *err) {
  if (!tracks)
    return error_set(err, STATUS_USAGE, "--sound-track %d: %s has no sound", options->sound_track, options->sound);
  return error_set(err, STATUS_USAGE, "--sound-track %d: %s has %d track%s of sound", options->sound_track,
                   options->sound, tracks, tracks == 1 ? "" : "s");
}

/* True if the input must be read once in advance to find the gaps in its sound. */
static bool has_to_look(const struct sound *sound) {
  bool compressed = false;
  for (unsigned i = 0; i < sound->input->nb_streams; i++) {
    const AVStream *stream = sound->input->streams[i];
    compressed |= stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO && !is_pcm(stream);
  }
  return compressed && muxer_counts_sound(sound->output->oformat) && !muxer_needs_sound(sound->output->oformat);
}

/* Finds the gaps of each track by reading the input once. Read errors are ignored here: they occur again later and are
 * reported then. */
static int find_gaps(struct sound *sound, const struct sink_options *options) {
  const struct sound_part part = {.origin = sound->origin, .duration = sound->duration, .stop = options->stop};
  AVFormatContext *input = NULL;
  struct error ignored;
  int code = 0;
  if (!has_to_look(sound))
    return 0;
  if (!open_at_start(&input, options, &ignored) && input->nb_streams <= sound->input->nb_streams)
    code = sound_gaps_find(input, &part, sound->gaps);
  avformat_close_input(&input);
  return code;
}

/* Opens the input for `sound`, and adds the streams to copy to the output. Returns how many the output gets, or -1 with
 * err. */
static int prepare(struct sound *sound, const struct sink_options *options, struct error *err) {
  double start = options->sound_options->start;
  int tracks = 0;
  sound->log = options->log;
  sound->duration = options->sound_options->duration;
  if (open_at_start(&sound->input, options, err))
    return -1;
  int video = av_find_best_stream(sound->input, AVMEDIA_TYPE_VIDEO, -1, -1, NULL, 0);
  tags_copy(sound->output, sound->input, video < 0 ? NULL : sound->input->streams[video], start, options->log);
  if (options->no_sound)
    return 0;
  sound->packet = av_packet_alloc();
  sound->target = calloc((size_t)sound->input->nb_streams + 1, sizeof *sound->target);
  sound->encoders = calloc((size_t)sound->input->nb_streams + 1, sizeof(struct sound_encoder *));
  sound->gaps = calloc((size_t)sound->input->nb_streams + 1, sizeof *sound->gaps);
  sound->origin = ffmpeg_origin(sound->input, start);
  if (!sound->packet || !sound->target || !sound->encoders || !sound->gaps || find_gaps(sound, options) ||
      sound_reader_begin(&sound->reader, sound->input))
    return no_memory(options, err);
  int added = choose_streams(sound, options, &tracks);
  if (added < 0)
    return no_memory(options, err);
  if (options->sound_track > tracks)
    return say_track_missing(options, tracks, err);
  return added;
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
  if (copied < 0 && reason.status != STATUS_INPUT) {
    *err = reason;
    return -1;
  }
  if (copied < 0)
    log_line(options->log, LOG_WARNING, "sound: cannot be read and is left out: %s", reason.message);
  return 0;
}

static bool next_packet(struct sound *sound) {
  if (!sound->waiting)
    sound->waiting = sound_reader_next(&sound->reader, sound->packet);
  return sound->waiting;
}

int sound_check(const struct sound *sound, long refused, struct error *err) {
  char reason[128];
  if (!sound)
    return 0;
  const struct sound_reader *reader = &sound->reader;
  if (reader->damaged)
    log_line(sound->log, LOG_WARNING, "sound: damaged in %d place%s, skipped", reader->damaged,
             reader->damaged == 1 ? "" : "s");
  if (reader->failure)
    return error_set(err, STATUS_INPUT, "sound: cannot be read to its end, and what follows is missing: %s",
                     ffmpeg_reason(reader->failure, reason));
  if (refused)
    return error_set(err, STATUS_INPUT,
                     "sound: %ld packet%s left out: damaged, or of another codec than the track began with", refused,
                     refused == 1 ? " is" : "s are");
  if (reader->unplaced)
    return error_set(
        err, STATUS_INPUT,
        "sound: %ld packet%s left out, since the times in the input step back there and the pictures' do not",
        reader->unplaced, reader->unplaced == 1 ? " is" : "s are");
  return 0;
}

/* Converts a packet's times from the input's clock to the output's. */
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

/* Writes the packet that was read and not written yet (`waiting`). */
static int write_packet(struct sound *sound, struct muxer *muxer) {
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

/* Returns when the packet that was read and not written yet begins, in seconds of the output. */
static double begin_of(const struct sound *sound) {
  const AVPacket *packet = sound->packet;
  const AVStream *from = sound->input->streams[packet->stream_index];
  int64_t shift = av_rescale_q(sound->origin, AV_TIME_BASE_Q, from->time_base);
  int64_t stamp = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  return stamp == AV_NOPTS_VALUE ? 0 : (double)(stamp - shift) * av_q2d(from->time_base);
}

/* True if the waiting packet is not to be written: it lies after the wanted part of the input, ends before its start,
 * or begins before the first time that the container can store. Encoders get also packets before the start, because a
 * decoder may need them. */
static bool is_outside(const struct sound *sound, const struct muxer *muxer, double begin) {
  int stream = sound->packet->stream_index;
  const AVStream *from = sound->input->streams[stream];
  if (sound->duration > 0 && begin >= sound->duration)
    return true;
  if (sound->encoders[stream] || begin >= 0)
    return false;
  double end = begin + (double)sound->packet->duration * av_q2d(from->time_base);
  return (sound->origin && end <= 0) ||
         muxer_is_too_early(muxer, sound->output->streams[sound->target[stream]], begin, end);
}

/* Writes silence where sound is missing, for containers whose muxer otherwise holds back all pictures until sound of
 * their time has come. Sound that is badly interleaved may come this many seconds late. */
static int fill_behind(struct sound *sound, struct muxer *muxer, double time) {
  static const double patience_seconds = 10;
  int code = 0;
  for (int i = 0; muxer_needs_sound(sound->output->oformat) && code >= 0 && i < sound->reader.streams; i++)
    if (sound->encoders[i] && isfinite(time))
      code = sound_encoder_pad(sound->encoders[i], muxer, time - patience_seconds);
  return code;
}

static int write_before(struct sound *sound, struct muxer *muxer, double time) {
  while (next_packet(sound)) {
    double begin = begin_of(sound);
    if (begin >= time)
      return 0;
    if (is_outside(sound, muxer, begin)) {
      sound->waiting = false;
      av_packet_unref(sound->packet);
      continue;
    }
    int code = write_packet(sound, muxer);
    if (code < 0)
      return code;
  }
  return 0;
}

int sound_write_until(struct sound *sound, struct muxer *muxer, double time) {
  int code = sound ? write_before(sound, muxer, time) : 0;
  return sound && code >= 0 ? fill_behind(sound, muxer, time) : code;
}

int sound_send_ahead(struct sound *sound, struct muxer *muxer) {
  if (!sound || !next_packet(sound) || is_outside(sound, muxer, begin_of(sound)))
    return 0;
  int stream = sound->packet->stream_index;
  bool copied = !sound->encoders[stream];
  return copied && muxer_lacks(muxer, sound->target[stream]) ? write_packet(sound, muxer) : 0;
}

int sound_finish(struct sound *sound, struct muxer *muxer, double end, double pictures_end) {
  /* Too short sound is filled with silence until this long after the pictures' end, which is longer than one picture
   * lasts. The muxer cuts off what is too much. */
  static const double tail_seconds = 0.1;
  int code = 0;
  for (int i = 0; sound && code >= 0 && i < sound->reader.streams; i++)
    if (sound->encoders[i])
      code = sound_encoder_finish(sound->encoders[i], muxer, end,
                                  muxer_needs_sound(sound->output->oformat) ? pictures_end + tail_seconds : 0);
  return code;
}

bool sound_has_more(const struct sound *sound) {
  return sound && !sound->reader.ended;
}

void sound_close(struct sound **sound) {
  if (*sound) {
    av_packet_free(&(*sound)->packet);
    for (int i = 0; (*sound)->encoders && i < (*sound)->reader.streams; i++)
      sound_encoder_close(&(*sound)->encoders[i]);
    free((*sound)->encoders);
    sound_reader_free(&(*sound)->reader);
    avformat_close_input(&(*sound)->input);
    free((*sound)->target);
    free((*sound)->gaps);
    free(*sound);
  }
  *sound = NULL;
}
