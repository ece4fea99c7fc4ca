#include "app/source/sound_tap.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/flow/wait.h"
#include "unet/base/platform.h"

/* Greatest number of packets kept: about 20 s of AAC, more than any file has between a picture and the sound of the
 * same time. */
enum { PACKETS = 1024 };

struct entry {
  AVPacket *packet;
  double position;
};

struct sound_tap {
  pthread_mutex_t lock;
  pthread_cond_t arrived;
  /* The following fields are protected by `lock`. sounds: how many sources have owned the tap (the buffer) so far.
   * present: the current owner has sound. */
  struct entry entry[PACKETS]; /* packet number n is at n modulo PACKETS */
  unsigned long put;           /* number of packets of sound put into the tap (the buffer) so far, which is also the
                                * number of the next packet */
  unsigned long begun;         /* number of the present owner's first packet; the numbering continues from one owner to
                                * the next */
  const void *owner;
  char name[SOUND_NAME_MAX];
  AVCodecParameters *codec;
  AVRational time_base;
  double tick, speed;
  unsigned sounds;
  bool present;
};

int sound_tap_open(struct sound_tap **result, struct error *err) {
  struct sound_tap *tap = *result = calloc(1, sizeof *tap);
  if (!tap)
    return error_set(err, STATUS_FAILED, "no memory for sound");
  platform_lock_init(&tap->lock);
  wait_init(&tap->arrived);
  tap->speed = 1;
  tap->codec = avcodec_parameters_alloc();
  bool whole = tap->codec != NULL;
  for (int i = 0; i < PACKETS && whole; i++)
    whole = (tap->entry[i].packet = av_packet_alloc()) != NULL;
  if (whole)
    return 0;
  sound_tap_close(result);
  return error_set(err, STATUS_FAILED, "no memory for sound");
}

void sound_tap_close(struct sound_tap **pointer) {
  struct sound_tap *tap = *pointer;
  if (!tap)
    return;
  for (int i = 0; i < PACKETS; i++)
    av_packet_free(&tap->entry[i].packet);
  avcodec_parameters_free(&tap->codec);
  pthread_cond_destroy(&tap->arrived);
  pthread_mutex_destroy(&tap->lock);
  free(tap);
  *pointer = NULL;
}

void sound_tap_begin(struct sound_tap *tap, const struct sound_origin *origin, bool takes_over) {
  pthread_mutex_lock(&tap->lock);
  if (tap->owner != origin->owner && (takes_over || !tap->owner)) {
    tap->owner = origin->owner;
    snprintf(tap->name, sizeof tap->name, "%s", origin->name);
    tap->present = origin->codec && avcodec_parameters_copy(tap->codec, origin->codec) >= 0;
    tap->sounds++;
    tap->begun = tap->put;
    tap->time_base = origin->time_base;
    tap->tick = origin->tick;
  }
  pthread_mutex_unlock(&tap->lock);
}

void sound_tap_put(struct sound_tap *tap, const void *owner, const AVPacket *packet, double shift) {
  int64_t time = packet->pts != AV_NOPTS_VALUE ? packet->pts : packet->dts;
  pthread_mutex_lock(&tap->lock);
  if (tap->owner == owner && tap->present && packet->size && time != AV_NOPTS_VALUE) {
    struct entry *entry = &tap->entry[tap->put % PACKETS];
    av_packet_unref(entry->packet);
    entry->position = (double)time * av_q2d(tap->time_base) + shift;
    tap->put += av_packet_ref(entry->packet, packet) >= 0;
    pthread_cond_broadcast(&tap->arrived);
  }
  pthread_mutex_unlock(&tap->lock);
}

void sound_tap_leave(struct sound_tap *tap, const void *owner) {
  pthread_mutex_lock(&tap->lock);
  if (tap->owner == owner)
    tap->owner = NULL;
  pthread_mutex_unlock(&tap->lock);
}

int sound_tap_take(struct sound_tap *tap, struct sound_cursor *cursor, double until, AVPacket *packet,
                   double *position) {
  int got = 0;
  pthread_mutex_lock(&tap->lock);
  unsigned long oldest = tap->put > PACKETS ? tap->put - PACKETS : 0;
  oldest = oldest > tap->begun ? oldest : tap->begun;
  if (!cursor->begun || cursor->next < oldest)
    cursor->next = oldest;
  cursor->begun = true;
  const struct entry *entry = &tap->entry[cursor->next % PACKETS];
  if (cursor->next < tap->put && entry->position <= until && av_packet_ref(packet, entry->packet) >= 0) {
    *position = entry->position;
    cursor->next++;
    got = 1;
  }
  pthread_mutex_unlock(&tap->lock);
  return got;
}

void sound_tap_wait(struct sound_tap *tap, const struct sound_cursor *cursor, int wait_ms) {
  struct timespec deadline = wait_deadline(platform_now_ns() + wait_ms * INT64_C(1000000));
  pthread_mutex_lock(&tap->lock);
  if (cursor->next >= tap->put)
    pthread_cond_timedwait(&tap->arrived, &tap->lock, &deadline);
  pthread_mutex_unlock(&tap->lock);
}

unsigned sound_tap_number(struct sound_tap *tap, bool *present, char name[SOUND_NAME_MAX]) {
  pthread_mutex_lock(&tap->lock);
  unsigned number = tap->sounds;
  *present = tap->present;
  if (name)
    memcpy(name, tap->name, sizeof tap->name);
  pthread_mutex_unlock(&tap->lock);
  return number;
}

unsigned sound_tap_describe(struct sound_tap *tap, AVCodecParameters *codec, AVRational *time_base) {
  pthread_mutex_lock(&tap->lock);
  unsigned sound = tap->present && avcodec_parameters_copy(codec, tap->codec) >= 0 ? tap->sounds : 0;
  *time_base = tap->time_base;
  pthread_mutex_unlock(&tap->lock);
  return sound;
}

bool sound_tap_has_sound(struct sound_tap *tap) {
  pthread_mutex_lock(&tap->lock);
  bool present = tap->present;
  pthread_mutex_unlock(&tap->lock);
  return present;
}

void sound_tap_set_speed(struct sound_tap *tap, double speed) {
  pthread_mutex_lock(&tap->lock);
  tap->speed = speed;
  pthread_mutex_unlock(&tap->lock);
}

double sound_tap_speed(struct sound_tap *tap) {
  pthread_mutex_lock(&tap->lock);
  double speed = tap->speed;
  pthread_mutex_unlock(&tap->lock);
  return speed;
}

double sound_tap_position(struct sound_tap *tap, int64_t pts) {
  pthread_mutex_lock(&tap->lock);
  double position = (double)pts * tap->tick;
  pthread_mutex_unlock(&tap->lock);
  return position;
}
