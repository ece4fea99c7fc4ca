#include "app/source/arrivals.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/flow/wait.h"
#include "app/source/ffmpeg_util.h"
#include "unet/base/platform.h"

/* Largest numbers of video and sound packets that wait to be taken. If more video packets wait, all are dropped, and
 * the decoder continues at a later key frame. 256 packets of sound are 5 s of AAC. */
enum { PACKETS_MAX = 512, SOUNDS_MAX = 256 };

struct arrival {
  AVPacket *packet;
  int64_t at_ns;
};

struct arrivals {
  pthread_t thread;
  AVFormatContext *input;
  int stream, sound;
  _Atomic int64_t *heard_ns;
  atomic_bool stop;

  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by `lock`. waiting, sounds: the packets of video and of sound that were not
   * taken yet, oldest first. */
  struct arrival waiting[PACKETS_MAX];
  int count;
  AVPacket *sounds[SOUNDS_MAX];
  int sound_count;
  /* true: packets of video before the first in `waiting` were dropped, and arrivals_take has not reported it yet */
  bool leapt;
  bool needs_key; /* true: all waiting packets were dropped, so new ones are dropped, too, until a key frame comes */
  int ended;      /* FFmpeg code with which reading ended; 0: reading continues */
};

/* Drops all packets of video that wait. The caller holds the lock. */
static void throw_all_away(struct arrivals *a) {
  a->leapt |= a->count > 0;
  while (a->count)
    av_packet_free(&a->waiting[--a->count].packet);
}

/* Adds a packet of video to those that wait; the packet then belongs to `a`. At a key frame, all packets of video
 * before it are dropped. */
static void add(struct arrivals *a, AVPacket *packet, int64_t at_ns) {
  bool is_key = packet->flags & AV_PKT_FLAG_KEY;
  pthread_mutex_lock(&a->lock);
  if (is_key || a->count == PACKETS_MAX) {
    a->needs_key |= !is_key;
    throw_all_away(a);
  }
  a->needs_key &= !is_key;
  if (!a->needs_key)
    a->waiting[a->count++] = (struct arrival){packet, at_ns};
  else
    av_packet_free(&packet);
  pthread_cond_signal(&a->changed);
  pthread_mutex_unlock(&a->lock);
}

/* Adds a packet of sound to those that wait; the packet then belongs to `a`. If there is no room, the oldest packet of
 * sound is dropped. */
static void add_sound(struct arrivals *a, AVPacket *packet) {
  pthread_mutex_lock(&a->lock);
  if (a->sound_count == SOUNDS_MAX) {
    av_packet_free(&a->sounds[0]);
    memmove(a->sounds, a->sounds + 1, (size_t)--a->sound_count * sizeof *a->sounds);
  }
  a->sounds[a->sound_count++] = packet;
  pthread_mutex_unlock(&a->lock);
}

/* Returns 0 if reading can go on after av_read_frame returned `code`, else the FFmpeg code with which reading ends. */
static int outcome_of(struct arrivals *a, int code) {
  int failure = ffmpeg_read_failure(a->input, code);
  if (failure)
    return failure;
  if (code != AVERROR(EAGAIN) && code != AVERROR_INVALIDDATA)
    return code;
  platform_sleep_ns(1000000);
  return 0;
}

static void *take_in(void *opaque) {
  struct arrivals *a = opaque;
  int ended = 0;
  while (!a->stop && !ended) {
    AVPacket *packet = av_packet_alloc();
    int code = packet ? av_read_frame(a->input, packet) : AVERROR(ENOMEM);
    bool is_wanted = code >= 0 && packet->stream_index == a->stream;
    if (is_wanted) {
      int64_t now_ns = platform_now_ns();
      atomic_store(a->heard_ns, now_ns);
      add(a, packet, now_ns);
    } else if (code >= 0 && packet->stream_index == a->sound) {
      add_sound(a, packet);
    } else {
      av_packet_free(&packet);
    }
    if (code < 0)
      ended = outcome_of(a, code);
  }
  pthread_mutex_lock(&a->lock);
  a->ended = ended;
  pthread_cond_signal(&a->changed);
  pthread_mutex_unlock(&a->lock);
  return NULL;
}

int arrivals_start(struct arrivals **out, AVFormatContext *input, int stream, int sound, _Atomic int64_t *heard_ns,
                   struct error *err) {
  struct arrivals *a = calloc(1, sizeof *a);
  if (!a)
    return error_set(err, STATUS_FAILED, "no memory for a stream");
  a->input = input;
  a->stream = stream;
  a->sound = sound;
  a->heard_ns = heard_ns;
  pthread_mutex_init(&a->lock, NULL);
  wait_init(&a->changed);
  int code = pthread_create(&a->thread, NULL, take_in, a);
  if (code) {
    free(a);
    return error_set(err, STATUS_FAILED, "cannot start a stream's thread: %s", strerror(code));
  }
  *out = a;
  return 0;
}

int arrivals_take(struct arrivals *a, AVPacket *packet, int64_t *arrived_ns, bool *leapt, int wait_ms) {
  struct timespec deadline = wait_deadline(platform_now_ns() + (int64_t)wait_ms * 1000000);
  int code = 0;
  pthread_mutex_lock(&a->lock);
  if (!a->count && !a->ended)
    pthread_cond_timedwait(&a->changed, &a->lock, &deadline);
  if (a->count) {
    struct arrival first = a->waiting[0];
    memmove(a->waiting, a->waiting + 1, (size_t)--a->count * sizeof *a->waiting);
    av_packet_move_ref(packet, first.packet);
    av_packet_free(&first.packet);
    *arrived_ns = first.at_ns;
    *leapt = a->leapt;
    a->leapt = false;
  } else {
    code = a->ended ? a->ended : AVERROR(EAGAIN);
  }
  pthread_mutex_unlock(&a->lock);
  return code;
}

bool arrivals_take_sound(struct arrivals *a, AVPacket *packet) {
  pthread_mutex_lock(&a->lock);
  bool got = a->sound_count > 0;
  if (got) {
    av_packet_move_ref(packet, a->sounds[0]);
    av_packet_free(&a->sounds[0]);
    memmove(a->sounds, a->sounds + 1, (size_t)--a->sound_count * sizeof *a->sounds);
  }
  pthread_mutex_unlock(&a->lock);
  return got;
}

bool arrivals_has_more(struct arrivals *a) {
  pthread_mutex_lock(&a->lock);
  bool more = a->count > 0;
  pthread_mutex_unlock(&a->lock);
  return more;
}

void arrivals_stop(struct arrivals **pointer) {
  struct arrivals *a = *pointer;
  *pointer = NULL;
  if (!a)
    return;
  a->stop = true;
  pthread_join(a->thread, NULL);
  throw_all_away(a);
  while (a->sound_count)
    av_packet_free(&a->sounds[--a->sound_count]);
  pthread_cond_destroy(&a->changed);
  pthread_mutex_destroy(&a->lock);
  free(a);
}
