#include "app/source/track.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/flow/errand.h"
#include "app/source/mono.h"
#include "app/source/tap_decoder.h"
#include "unet/base/platform.h"

/* ENTRIES: number of measurements that are kept, for 40 s; no file has its sound that far ahead of the pictures.
 * STEP_HZ: measurements a second. CHECK_MS: longest wait for a packet of sound, in ms, before the thread checks if it
 * has to end. */
enum { ENTRIES = 4096, STEP_HZ = 100, CHECK_MS = 50 };
/* heard_s: a picture gets the levels of the last sound before it if that sound ended less than this many seconds
 * earlier. late_ns: the sound of a stream may come late; the newest levels are then used if they were measured less
 * than this many ns ago. */
static const double heard_s = 0.3;
static const int64_t late_ns = 500000000;
/* A picture that stays on the screen for longer than this, in ns, gets no sound levels. */
static const int64_t stands_ns = 1000000000;

struct entry {
  double position; /* position, in seconds, of the end of the samples measured so far */
  float values[SOUND_VALUES];
  /* onsets: number of onsets so far; since_onset: seconds from the last onset to `position` */
  long onsets;
  float since_onset;
};

struct track {
  struct sound_tap *tap;
  struct errand errand;
  atomic_bool stop;

  /* The following fields are used by the track's own thread only. */
  struct tap_decoder decoder;
  struct mono mono;
  struct sound_levels levels;

  /* The following fields are used only by the thread that calls track_get and track_halt. */
  uint64_t serial; /* number of the frame whose sound levels were asked for last */
  bool asked;
  int64_t since_ns;
  long onsets; /* number of onsets (beginnings of sounds) so far, which track_get_onset returns */
  int64_t onset_ns;

  pthread_mutex_t lock;
  /* The following fields are protected by `lock`. first, next: numbers of the oldest stored entry (sound levels at one
   * position), and of the entry that comes next. at_ns: platform_now_ns when the newest entry was stored. */
  struct entry entry[ENTRIES]; /* a ring of the newest entries: number n is at index n modulo ENTRIES; later entries
                                * belong to later positions */
  unsigned long first, next;
  struct sound_limits limits; /* limits in Hz of the frequency bands, and how many seconds SOUND_ONSET stays 1 after an
                               * onset */
  unsigned sound_number;      /* number (sound_tap_describe) of the sound whose levels are in entry[] */
  int64_t at_ns;
};

/* --- the thread that measures the sound's levels --- */

static void add(struct track *track, double position, unsigned sound_number) {
  double values[SOUND_VALUES];
  struct sound_limits limits;
  sound_levels_get(&track->levels, values);
  pthread_mutex_lock(&track->lock);
  bool any = track->next > track->first;
  if (sound_number != track->sound_number || (any && position < track->entry[(track->next - 1) % ENTRIES].position))
    track->first = track->next;
  struct entry *entry = &track->entry[track->next++ % ENTRIES];
  if (track->next - track->first > ENTRIES)
    track->first = track->next - ENTRIES;
  entry->position = position;
  for (int i = 0; i < SOUND_VALUES; i++)
    entry->values[i] = (float)values[i];
  entry->onsets = track->levels.onsets.count;
  entry->since_onset = (float)track->levels.onsets.since;
  track->sound_number = sound_number;
  track->at_ns = platform_now_ns();
  limits = track->limits;
  limits.hold_s *= sound_tap_speed(track->tap); /* hold_s, for how long SOUND_ONSET stays 1 after an onset, is converted
                                                 * to seconds of the source's sound, which may be played at another
                                                 * speed */
  sound_levels_limit(&track->levels, &limits);
  pthread_mutex_unlock(&track->lock);
}

static void hear(struct track *track, double position) {
  const float *samples;
  int rate, count = mono_mix(&track->mono, track->decoder.frame, &samples, &rate);
  if (count > 0 && track->levels.rate != rate)
    sound_levels_begin(&track->levels, rate);
  for (int done = 0, part; done < count; done += part) {
    part = rate / STEP_HZ < 1 ? 1 : rate / STEP_HZ;
    part = part < count - done ? part : count - done;
    sound_levels_take(&track->levels, samples + done, part);
    add(track, position + (double)(done + part) / rate, track->decoder.sound_number);
  }
}

static void listen(void *opaque) {
  struct track *track = opaque;
  double position;
  while (!atomic_load(&track->stop)) {
    if (tap_decoder_next(&track->decoder, INFINITY, &position) > 0)
      hear(track, position);
    else
      sound_tap_wait(track->tap, &track->decoder.cursor, CHECK_MS);
  }
}

static void track_free(struct track *track) {
  tap_decoder_close(&track->decoder);
  mono_free(&track->mono);
  pthread_mutex_destroy(&track->lock);
  free(track);
}

int track_start(struct track **out, struct sound_tap *tap, const struct log *log, struct error *err) {
  struct track *track = calloc(1, sizeof *track);
  *out = NULL;
  if (!track)
    return error_set(err, STATUS_FAILED, "no memory for sound");
  track->tap = tap;
  track->limits = (struct sound_limits)SOUND_LIMITS_DEFAULTS;
  pthread_mutex_init(&track->lock, NULL);
  if (tap_decoder_open(&track->decoder, tap, log, err) || mono_init(&track->mono, err) ||
      errand_start(&track->errand, listen, track, "listens", err)) {
    track_free(track);
    return -1;
  }
  *out = track;
  return 0;
}

void track_stop(struct track **pointer) {
  struct track *track = *pointer;
  if (!track)
    return;
  atomic_store(&track->stop, true);
  errand_join(&track->errand);
  track_free(track);
  *pointer = NULL;
}

/* --- functions for the thread that asks for the sound's levels --- */

/* Returns the entry with the newest sound levels that belong to a position of at most `position`, in seconds of the
 * source; NULL: there are none. The caller holds the lock. */
static const struct entry *find(const struct track *track, double position) {
  unsigned long low = track->first, high = track->next;
  while (low < high) {
    unsigned long middle = low + (high - low) / 2;
    if (track->entry[middle % ENTRIES].position <= position)
      low = middle + 1;
    else
      high = middle;
  }
  return low > track->first ? &track->entry[(low - 1) % ENTRIES] : NULL;
}

/* True if this entry's sound levels are used for a picture at this position in the source. Their sound must be at most
 * heard_s before the picture, or they must be the newest ones, measured less than late_ns ago. The caller holds the
 * lock. */
static bool is_heard(const struct track *track, const struct entry *entry, double position, int64_t now_ns) {
  bool newest = entry == &track->entry[(track->next - 1) % ENTRIES];
  return position - entry->position < heard_s || (newest && now_ns - track->at_ns < late_ns);
}

static bool stands(struct track *track, const struct frame *frame, int64_t now_ns) {
  if (!track->asked || frame->serial != track->serial)
    track->since_ns = now_ns;
  track->asked = true;
  track->serial = frame->serial;
  return now_ns - track->since_ns > stands_ns;
}

void track_halt(struct track *track, int64_t now_ns) {
  track->since_ns = now_ns;
}

/* If there was a new onset (sudden rise of the sound) since the last call, stores the time at which it was heard.
 * entry: the sound's levels at the frame's time. position: the frame's time in the source, in seconds; the frame is
 * shown at time now_ns. The caller holds the lock. */
static void note_onset(struct track *track, const struct entry *entry, double position, int64_t now_ns) {
  double ago = (position - entry->position + (double)entry->since_onset) / sound_tap_speed(track->tap);
  if (entry->onsets != track->onsets)
    track->onset_ns = now_ns - (int64_t)(ago * 1e9);
  track->onsets = entry->onsets;
}

void track_limit(struct track *track, const struct sound_limits *limits) {
  pthread_mutex_lock(&track->lock);
  track->limits = *limits;
  pthread_mutex_unlock(&track->lock);
}

long track_get_onset(const struct track *track, int64_t *at_ns) {
  *at_ns = track->onset_ns;
  return track->onsets;
}

void track_get(struct track *track, const struct frame *frame, int64_t now_ns, double values[SOUND_VALUES]) {
  bool present;
  memset(values, 0, SOUND_VALUES * sizeof *values);
  if (!frame || stands(track, frame, now_ns))
    return;
  unsigned sound_number = sound_tap_number(track->tap, &present, NULL);
  double position = sound_tap_position(track->tap, frame->pts);
  pthread_mutex_lock(&track->lock);
  const struct entry *entry = present && sound_number == track->sound_number ? find(track, position) : NULL;
  if (entry && is_heard(track, entry, position, now_ns)) {
    note_onset(track, entry, position, now_ns);
    for (int i = 0; i < SOUND_VALUES; i++)
      values[i] = (double)entry->values[i];
  }
  pthread_mutex_unlock(&track->lock);
}
