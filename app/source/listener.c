#include "app/source/listener.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavcodec/avcodec.h>
#include <libavutil/time.h>

#include "app/flow/errand.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/mono.h"
#include "app/source/sound_tap.h"
#include "unet/base/address.h"
#include "unet/base/platform.h"

enum { CHUNK_HZ = 100, SLEEP_NS = 5000000, PROBE_US = 500000 };
static const int64_t again_least_ns = 250000000, again_most_ns = 5000000000;
/* longest time that listener_stop waits for the listener's thread, because an input that does not answer may block that
 * thread */
static const int64_t leave_ns = 2000000000;
/* Time for which the sound's levels measured last are valid, in nanoseconds; after that they are 0. */
static const int64_t heard_ns = 300000000;
/* largest time for opening an input, as a multiple of params.read_timeout */
static const double patience_to_open = 5;
/* Packets sometimes come late and in groups, but never early. So if a packet comes later than expected, only this
 * fraction of the difference is added to its expected time. */
static const double late_share = 0.02;
static const double age_most_s = 2;
/* A packet that is at least this many seconds late comes after a gap, and is taken to begin at the time of its
 * arrival. */
static const double gap_s = 1;
/* If a file is read this many nanoseconds too late, it is not played faster to catch up; the times of its next packets
 * are counted from the current time. */
static const int64_t behind_ns = 500000000;

struct listener {
  struct listener_params params;
  struct errand errand;
  atomic_bool stop;

  /* The following fields are used by the listener's thread only. Times are those of platform_now_ns. */
  AVFormatContext *input;
  AVCodecContext *decoder;
  struct mono mono;
  AVFrame *frame;
  AVPacket *packet;
  int stream;
  bool device, paced;
  int64_t until_ns; /* time at which a call that blocks will be aborted; 0: never */
  int64_t due_ns;   /* for a file, read at the speed of its sound: time until which the next packet waits; 0: it does
                     * not wait */
  int64_t came_ns;  /* time when data came last from the input */
  double begins_s;  /* expected begin of the next packet, in seconds of platform_now_ns; 0: unknown */
  bool heard;       /* true: the input has given sound since it was opened */
  bool told;        /* true: a log line has said that the input is gone */
  bool told_end;
  int64_t again_ns;
  struct sound_levels levels;

  pthread_mutex_t lock;
  /* The following fields are protected by `lock`. at_ns: platform_now_ns when values were measured. */
  struct sound_limits limits; /* limits in Hz of the frequency bands, and how many seconds SOUND_ONSET stays 1 after an
                               * onset */
  double values[SOUND_VALUES];
  int64_t at_ns;
  long onsets; /* number of onsets of the sound since the listener was started */
  int64_t onset_ns;
  char away[LISTENER_REASON_MAX]; /* why nothing is heard; "": something is heard */
};

static int is_interrupted(void *opaque) {
  const struct listener *listener = opaque;
  return atomic_load(&listener->stop) || (listener->until_ns && platform_now_ns() > listener->until_ns);
}

static void be_patient(struct listener *listener, double factor) {
  double seconds = listener->params.read_timeout * factor;
  listener->until_ns = seconds > 0 ? platform_now_ns() + (int64_t)(seconds * 1e9) : 0;
}

static const char *option(const struct listener *listener) {
  return listener->params.option ? listener->params.option : "--sound";
}

static int refuse(const struct listener *listener, int code, struct error *err) {
  char reason[128];
  if (listener->until_ns && platform_now_ns() > listener->until_ns)
    return error_set(err, STATUS_INPUT, "%s: nothing came in time", listener->params.input);
  return error_set(err, STATUS_INPUT, "%s: %s", listener->params.input, ffmpeg_reason(code, reason));
}

/* Returns params.tap, the buffer for packets of sound, or NULL after the listener was told to stop: the buffer may be
 * freed by then. */
static struct sound_tap *tap_of(const struct listener *listener) {
  return atomic_load(&listener->stop) ? NULL : listener->params.tap;
}

/* --- opening and closing the input and its decoder --- */

static void close_input(struct listener *listener) {
  struct sound_tap *tap = tap_of(listener);
  if (tap && listener->input)
    sound_tap_leave(tap, listener->input);
  avcodec_free_context(&listener->decoder);
  avformat_close_input(&listener->input);
}

static int open_decoder(struct listener *listener, const AVCodec *codec, struct error *err) {
  const AVCodecParameters *sound = listener->input->streams[listener->stream]->codecpar;
  listener->decoder = codec ? avcodec_alloc_context3(codec) : NULL;
  if (!codec)
    return error_set(err, STATUS_INPUT, "%s: FFmpeg here does not decode %s", listener->params.input,
                     avcodec_get_name(sound->codec_id));
  if (!listener->decoder)
    return error_set(err, STATUS_FAILED, "no memory for sound");
  int code = avcodec_parameters_to_context(listener->decoder, sound);
  if (code >= 0)
    code = avcodec_open2(listener->decoder, codec, NULL);
  return code < 0 ? refuse(listener, code, err) : 0;
}

static int find_sound(struct listener *listener, struct error *err) {
  AVFormatContext *input = listener->input;
  const AVCodec *codec = NULL;
  input->max_analyze_duration = PROBE_US;
  int code = listener->device ? 0 : avformat_find_stream_info(input, NULL);
  if (code < 0)
    return refuse(listener, code, err);
  listener->stream = av_find_best_stream(input, AVMEDIA_TYPE_AUDIO, -1, -1, &codec, 0);
  if (listener->stream == AVERROR_STREAM_NOT_FOUND)
    return error_set(err, STATUS_INPUT, "%s: there is no sound in it", listener->params.input);
  if (listener->stream < 0)
    return refuse(listener, listener->stream, err);
  for (unsigned i = 0; i < input->nb_streams; i++)
    input->streams[i]->discard = (int)i == listener->stream ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
  return open_decoder(listener, codec, err);
}

static int open_input(struct listener *listener, struct error *err) {
  const struct listener_params *params = &listener->params;
  const struct source_options options = {.live = true, .read_timeout = params->read_timeout, .log = params->log};
  const AVIOInterruptCB interrupt = {is_interrupted, listener};
  be_patient(listener, patience_to_open);
  if (ffmpeg_open_input(&listener->input, params->input, &options, &interrupt, NULL, err))
    return is_interrupted(listener) ? refuse(listener, AVERROR_EXIT, err) : -1;
  listener->device = ffmpeg_is_device(listener->input->iformat);
  listener->paced = !listener->device && !ffmpeg_is_stream(listener->input, params->input);
  listener->heard = false;
  listener->begins_s = 0;
  if (find_sound(listener, err))
    return -1;
  const AVStream *sound = listener->input->streams[listener->stream];
  const struct shown name = address_name(params->input);
  const struct sound_origin origin = {listener->input, name.text, sound->codecpar, sound->time_base, 1e-9};
  struct sound_tap *tap = tap_of(listener);
  if (tap)
    sound_tap_begin(tap, &origin, true);
  return 0;
}

/* --- decoding and measuring the sound, and giving its packets to the tap (the buffer for recordings) --- */

/* Stores the sound's levels and the last onset, for listener_get and listener_get_onset. rest_s: seconds of sound that
 * arrived but are not measured yet, so the levels are that old. */
static void publish(struct listener *listener, double rest_s) {
  double values[SOUND_VALUES];
  long onsets = listener->levels.onsets.count;
  sound_levels_get(&listener->levels, values);
  pthread_mutex_lock(&listener->lock);
  if (onsets != listener->onsets)
    listener->onset_ns = platform_now_ns() - (int64_t)((rest_s + listener->levels.onsets.since) * 1e9);
  listener->onsets = onsets;
  sound_levels_limit(&listener->levels, &listener->limits);
  memcpy(listener->values, values, sizeof values);
  listener->at_ns = platform_now_ns();
  pthread_mutex_unlock(&listener->lock);
}

static void sleep_unless_stopped(const struct listener *listener, int64_t ns) {
  for (; ns > 0 && !atomic_load(&listener->stop); ns -= SLEEP_NS)
    platform_sleep_ns(ns < SLEEP_NS ? ns : SLEEP_NS);
}

static void keep_pace(struct listener *listener, double seconds) {
  int64_t now_ns = platform_now_ns();
  if (!listener->paced)
    return;
  if (now_ns - listener->due_ns > behind_ns)
    listener->due_ns = now_ns;
  sleep_unless_stopped(listener, listener->due_ns - now_ns);
  listener->due_ns += (int64_t)(seconds * 1e9);
}

static void set_away(struct listener *listener, const char *why) {
  pthread_mutex_lock(&listener->lock);
  snprintf(listener->away, sizeof listener->away, "%.*s", LISTENER_REASON_MAX - 1, why);
  pthread_mutex_unlock(&listener->lock);
}

static void say_back(struct listener *listener) {
  if (listener->heard)
    return;
  set_away(listener, "");
  if (listener->told && !atomic_load(&listener->stop))
    log_line(listener->params.log, LOG_WARNING, "%s: %s is heard again", option(listener), listener->params.input);
  listener->heard = true;
  listener->told = false;
  listener->again_ns = 0;
}

/* Measures samples at the given rate, a hundredth of a second at a time, so that a file's levels change smoothly. */
static void hear(struct listener *listener, const float *samples, int count, int rate) {
  if (listener->levels.rate != rate)
    sound_levels_begin(&listener->levels, rate);
  int most = rate / CHUNK_HZ > 0 ? rate / CHUNK_HZ : 1;
  say_back(listener);
  while (count > 0 && !atomic_load(&listener->stop)) {
    int part = count < most ? count : most;
    keep_pace(listener, (double)part / rate);
    sound_levels_take(&listener->levels, samples, part);
    samples += part;
    count -= part;
    publish(listener, listener->paced ? 0 : (double)count / rate);
  }
}

static int mix(struct listener *listener) {
  const float *samples;
  int rate, count = mono_mix(&listener->mono, listener->frame, &samples, &rate);
  if (count > 0)
    hear(listener, samples, count, rate);
  return count;
}

/* Decodes a packet. Damaged packets are skipped, and so is the empty packet at the end of a truncated file, for which a
 * decoder would report a wrong call. Returns 0 or an FFmpeg error code. */
static int decode(struct listener *listener, const AVPacket *packet) {
  if (packet && !packet->size)
    return 0;
  int code = avcodec_send_packet(listener->decoder, packet);
  while (code >= 0 && avcodec_receive_frame(listener->decoder, listener->frame) >= 0) {
    code = mix(listener);
    av_frame_unref(listener->frame);
  }
  return code == AVERROR_INVALIDDATA || code == AVERROR(EAGAIN) ? 0 : code;
}

/* Returns the seconds since the sound of the packet was captured, computed from the packet's timestamp; 0: unknown.
 * Only ALSA's timestamps are times of capture. */
static double stamped_age(const struct listener *listener) {
  double age = (double)(av_gettime() - listener->packet->pts) * 1e-6;
  bool stamps = !strcmp(listener->input->iformat->name, "alsa") && listener->packet->pts != AV_NOPTS_VALUE;
  return stamps && age > 0 && age < age_most_s ? age : 0;
}

/* Returns when the sound of a packet that lasts `seconds` began, in seconds of platform_now_ns. A packet's own
 * timestamp is not used for this: the input's clock drifts, and its packets come in groups. */
static double place(struct listener *listener, double seconds) {
  int64_t now_ns = platform_now_ns(), due_ns = listener->due_ns;
  double age = stamped_age(listener);
  if (listener->paced)
    return (double)(due_ns > now_ns - behind_ns ? due_ns : now_ns) * 1e-9;
  if (age > 0)
    return (double)now_ns * 1e-9 - age;
  double at = (double)now_ns * 1e-9 - seconds, off = at - listener->begins_s;
  if (listener->begins_s > 0 && off > 0 && off < gap_s)
    at = listener->begins_s + off * late_share;
  listener->begins_s = at + seconds;
  return at;
}

static void give(struct listener *listener, AVPacket *packet) {
  const AVStream *sound = listener->input->streams[listener->stream];
  double tick = av_q2d(sound->time_base), seconds = (double)packet->duration * tick;
  struct sound_tap *tap = tap_of(listener);
  if (!tap)
    return;
  if (seconds <= 0 && sound->codecpar->sample_rate > 0)
    seconds = (double)sound->codecpar->frame_size / sound->codecpar->sample_rate;
  double at = place(listener, seconds);
  if (packet->pts == AV_NOPTS_VALUE)
    packet->pts = packet->dts != AV_NOPTS_VALUE ? packet->dts : llrint(at / tick);
  sound_tap_put(tap, listener->input, packet, at - (double)packet->pts * tick);
}

/* Called after a read that gave no packet, which is usual for devices: waits for 5 ms. Returns 0, or -1 with err if no
 * packet has come for params.read_timeout. */
static int wait_for_more(struct listener *listener, struct error *err) {
  double silent_s = (double)(platform_now_ns() - listener->came_ns) * 1e-9, most_s = listener->params.read_timeout;
  if (most_s > 0 && silent_s > most_s)
    return error_set(err, STATUS_INPUT, "%s: nothing came in time", listener->params.input);
  sleep_unless_stopped(listener, SLEEP_NS);
  return 0;
}

/* Reads the sound input and measures its levels. Returns 0 when the input ends or the listener is to stop, or -1 with
 * err when the input fails. */
static int listen(struct listener *listener, struct error *err) {
  int code = 0;
  listener->came_ns = platform_now_ns();
  while (code >= 0 && !atomic_load(&listener->stop)) {
    be_patient(listener, 1);
    code = av_read_frame(listener->input, listener->packet);
    if (code == AVERROR(EAGAIN)) {
      code = 0;
      if (wait_for_more(listener, err))
        return -1;
      continue;
    }
    listener->came_ns = platform_now_ns();
    bool wanted = code >= 0 && listener->packet->stream_index == listener->stream;
    if (wanted && !atomic_load(&listener->stop)) {
      give(listener, listener->packet);
      code = decode(listener, listener->packet);
    }
    av_packet_unref(listener->packet);
  }
  if (code == AVERROR_EOF && !atomic_load(&listener->stop))
    decode(listener, NULL);
  return code < 0 && code != AVERROR_EOF ? refuse(listener, code, err) : 0;
}

/* --- the listener's thread: opens the input, and opens it again if it fails --- */

/* Logs once that the input has failed, with the reason. why NULL: the input has ended and will be opened again, which
 * is also logged once. From now on listener_is_away is true, except after the end of a file. */
static void tell(struct listener *listener, const struct error *why) {
  if (why)
    set_away(listener, why->message);
  else if (!listener->paced)
    set_away(listener, address_shown(listener->params.input).text);
  bool *told = why ? &listener->told : &listener->told_end;
  if (*told || atomic_load(&listener->stop))
    return;
  *told = true;
  if (why)
    log_line(listener->params.log, LOG_WARNING, "%s: %s; it is tried again%s", option(listener), why->message,
             listener->params.tap ? ", and recordings are silent until then" : "");
  else
    log_line(listener->params.log, listener->paced ? LOG_INFO : LOG_WARNING, "%s: %s has ended; it is opened again",
             option(listener), listener->params.input);
}

/* Waits before the input is opened again. The pause doubles, up to 5 s, as long as the input gives no sound. A file
 * that gave sound is repeated at once, without a pause. */
static void wait_a_while(struct listener *listener) {
  int64_t twice = 2 * listener->again_ns;
  bool at_once = listener->heard && listener->paced;
  listener->again_ns = twice < again_least_ns ? again_least_ns : twice > again_most_ns ? again_most_ns : twice;
  if (!at_once)
    sleep_unless_stopped(listener, listener->again_ns);
}

static void listen_on(void *opaque) {
  struct listener *listener = opaque;
  while (!atomic_load(&listener->stop)) {
    struct error err;
    listener->heard = false;
    bool failed = open_input(listener, &err) || listen(listener, &err);
    close_input(listener);
    tell(listener, failed ? &err : NULL);
    wait_a_while(listener);
  }
}

static void listener_free(void *opaque) {
  struct listener *listener = opaque;
  av_frame_free(&listener->frame);
  mono_free(&listener->mono);
  av_packet_free(&listener->packet);
  pthread_mutex_destroy(&listener->lock);
  free(listener);
}

int listener_start(struct listener **out, const struct listener_params *params, struct error *err) {
  struct listener *listener = calloc(1, sizeof *listener);
  *out = NULL;
  if (!listener)
    return error_set(err, STATUS_FAILED, "no memory for sound");
  listener->params = *params;
  listener->limits = (struct sound_limits)SOUND_LIMITS_DEFAULTS;
  platform_lock_init(&listener->lock);
  listener->frame = av_frame_alloc();
  listener->packet = av_packet_alloc();
  bool memory = listener->frame && listener->packet;
  if (!memory)
    error_set(err, STATUS_FAILED, "no memory for sound");
  if (!memory || mono_init(&listener->mono, err) ||
      errand_start(&listener->errand, listen_on, listener, "listens", err)) {
    listener_free(listener);
    return -1;
  }
  *out = listener;
  return 0;
}

void listener_get(struct listener *listener, double values[SOUND_VALUES]) {
  pthread_mutex_lock(&listener->lock);
  bool there = listener->at_ns && platform_now_ns() - listener->at_ns < heard_ns;
  for (int i = 0; i < SOUND_VALUES; i++)
    values[i] = there ? listener->values[i] : 0;
  pthread_mutex_unlock(&listener->lock);
}

void listener_limit(struct listener *listener, const struct sound_limits *limits) {
  pthread_mutex_lock(&listener->lock);
  listener->limits = *limits;
  pthread_mutex_unlock(&listener->lock);
}

long listener_get_onset(struct listener *listener, int64_t *at_ns) {
  pthread_mutex_lock(&listener->lock);
  long onsets = listener->onsets;
  *at_ns = listener->onset_ns;
  pthread_mutex_unlock(&listener->lock);
  return onsets;
}

bool listener_is_away(struct listener *listener, char reason[LISTENER_REASON_MAX]) {
  pthread_mutex_lock(&listener->lock);
  bool away = *listener->away != 0;
  snprintf(reason, LISTENER_REASON_MAX, "%s", listener->away);
  pthread_mutex_unlock(&listener->lock);
  return away;
}

void listener_stop(struct listener **pointer) {
  struct listener *listener = *pointer;
  if (!listener)
    return;
  *pointer = NULL;
  atomic_store(&listener->stop, true);
  /* a call to a sound server may block the listener's thread for ever, so the wait for its end is limited */
  errand_leave(&listener->errand, leave_ns, listener_free);
}
