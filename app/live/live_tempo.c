/* Passes data between two threads. Onsets of the sound go from the loop's thread, which knows each onset's picture, to
 * the clock of beats on the main thread. The clock of beats goes from the main thread to the loop's thread, where LFOs
 * follow it. */
#include "app/control/live_beats.h"
#include "app/live/live_impl.h"

void live_open_tempo(struct live *live) {
  pthread_mutex_init(&live->tempo_lock, NULL);
}

void live_close_tempo(struct live *live) {
  pthread_mutex_destroy(&live->tempo_lock);
}

void live_note_onset(struct live *live) {
  int64_t at_ns;
  long onsets = live->track ? track_get_onset(live->track, &at_ns) : listener_get_onset(live->listener, &at_ns);
  pthread_mutex_lock(&live->tempo_lock);
  live->onsets = onsets;
  live->onset_ns = at_ns;
  pthread_mutex_unlock(&live->tempo_lock);
}

void live_note_meter(struct live *live) {
  pthread_mutex_lock(&live->tempo_lock);
  live->meter_shown = live->meter;
  pthread_mutex_unlock(&live->tempo_lock);
}

void live_get_meter(struct live *live, struct meter *meter) {
  pthread_mutex_lock(&live->tempo_lock);
  *meter = live->meter_shown;
  pthread_mutex_unlock(&live->tempo_lock);
}

/* Passes the limits of the frequency bands (sound_bass, sound_treble, in Hz), and the time for which an onset lasts
 * (onset_hold, in seconds), to the threads that measure sound. */
static void limit_sound(struct live *live) {
  const struct parameters *values = &live->state.settings.values;
  const struct sound_limits limits = {values->sound_bass, values->sound_treble, values->onset_hold};
  if (live->listener)
    listener_limit(live->listener, &limits);
  if (live->track)
    track_limit(live->track, &limits);
}

void live_get_beats(struct live *live, struct beats *beats) {
  pthread_mutex_lock(&live->tempo_lock);
  *beats = live->beats;
  pthread_mutex_unlock(&live->tempo_lock);
}

static void check_lfos(struct live *live, int64_t now_ns) {
  struct parameters *values = &live->state.settings.values;
  struct error err;
  if (values->texts != live->lfos_told && lfos_check(values, &err))
    live_tell(live, LOG_WARNING, now_ns, "%s", err.message);
  live->lfos_told = values->texts;
}

void live_follow_tempo(struct live *live, int64_t now_ns) {
  check_lfos(live, now_ns);
  limit_sound(live);
  live_take_beats(&live->state, now_ns);
  pthread_mutex_lock(&live->tempo_lock);
  long onsets = live->onsets;
  int64_t onset_ns = live->onset_ns;
  pthread_mutex_unlock(&live->tempo_lock);
  if (onsets != live->onsets_told)
    live_take_onset(&live->state, onset_ns);
  live->onsets_told = onsets;
  pthread_mutex_lock(&live->tempo_lock);
  live->beats = live->state.beats;
  pthread_mutex_unlock(&live->tempo_lock);
}
