/* Opens the sound that changes parameters (--sound, --modulate) and the sound for recordings (--record-sound). For each
 * frame, adds to the parameters the offsets computed from the first sound's levels and from LFOs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/live/live_impl.h"
#include "app/platform/app_platform.h"
#include "app/remote/midi_input.h"
#include "app/run/setup.h"
#include "app/source/protocols.h"

static int read_modulations(struct live *live, struct error *err) {
  const struct options *options = live->options;
  struct modulations *modulations = &live->modulations;
  for (int i = 0; i < options->modulate.count; i++)
    if (modulation_read(&modulations->entry[modulations->count++], options->modulate.text[i], err))
      return -1;
  if (options->modulate.count && !options->sound)
    return error_set(err, STATUS_USAGE, "--modulate: --sound INPUT names what is listened to");
  return 0;
}

static bool is_of_source(const char *sound) {
  return sound && !strcmp(sound, SOUND_OF_SOURCE);
}

static bool is_input(const char *sound) {
  return sound && strcmp(sound, SOUND_OF_SOURCE) != 0 && strcmp(sound, SOUND_NONE) != 0;
}

static int listen(struct live *live, struct listener **listener, const char *input, const char *option,
                  struct sound_tap *tap, struct error *err) {
  const struct listener_params params = {input, live->options->read_timeout, &live->log, option, tap};
  struct platform_entry entry;
  if (protocols_is_file(input) && platform_look(&entry, input))
    return error_set(err, STATUS_INPUT, "%s %.300s: %s", option, input, strerror(errno));
  midi_alsa_hush(); /* keeps the library ALSA, which FFmpeg may use, from printing messages to the terminal */
  return listener_start(listener, &params, err);
}

/* If --sound and --record-sound name the same input, it is opened only once, because a sound card may allow no more. */
int live_open_sound(struct live *live, struct error *err) {
  const struct options *options = live->options;
  const char *sound = options->sound, *record = options->record_sound;
  if (read_modulations(live, err))
    return -1;
  if (is_of_source(sound) && !setup_needs_input(options) && !options->control_source)
    return error_set(err, STATUS_USAGE, "--sound %s: text to image has no source", SOUND_OF_SOURCE);
  if (is_input(record) && sound_tap_open(&live->heard, err))
    return -1;
  bool same = is_input(record) && sound && !strcmp(sound, record);
  if (sound && !is_of_source(sound) && listen(live, &live->listener, sound, "--sound", same ? live->heard : NULL, err))
    return -1;
  return is_input(record) && !same ? listen(live, &live->microphone, record, "--record-sound", live->heard, err) : 0;
}

struct sound_tap *live_recorded_sound(const struct live *live) {
  const char *record = live->options->record_sound;
  if (live->heard)
    return live->heard;
  return record && !strcmp(record, SOUND_NONE) ? NULL : live->tap;
}

int live_open_track(struct live *live, struct error *err) {
  if (!is_of_source(live->options->sound))
    return 0;
  return track_start(&live->track, live->tap, &live->log, err);
}

void live_close_sound(struct live *live) {
  listener_stop(&live->listener);
  listener_stop(&live->microphone);
  sound_tap_close(&live->heard);
  track_stop(&live->track);
  playlist_free(&live->silent);
}

/* Measures the sound that belongs to the frame. While the video is paused the source's sound stops, and parameters keep
 * the offsets that the sound gave them last. */
static void hear(struct live *live, const struct frame *frame, bool paused, int64_t now_ns) {
  double *values = live->meter.values;
  live->meter.heard = true;
  if (paused) {
    if (live->track)
      track_halt(live->track, now_ns);
    return;
  }
  if (live->track)
    track_get(live->track, frame, now_ns, values);
  else
    listener_get(live->listener, values);
  live_note_onset(live);
  modulations_follow(&live->modulations, values, now_ns);
}

/* Advances the LFOs (oscillators that change values) to now_ns, unless the video is paused. Returns true if any of them
 * changes a value. */
static bool swing(struct live *live, const struct parameters *values, int64_t now_ns) {
  struct beats beats;
  if (values->pause)
    return false;
  live_get_beats(live, &beats);
  return lfos_follow(&live->lfos, values, &beats, now_ns);
}

bool live_modulate(struct live *live, struct settings *settings, const struct frame *frame, int64_t now_ns) {
  const struct parameters *values = &settings->values;
  bool heard = live->listener || live->track, swings = swing(live, values, now_ns);
  if (heard)
    hear(live, frame, values->pause, now_ns);
  meter_begin(&live->meter, &live->modulations, &live->lfos, values);
  if (values->modulation) {
    modulations_apply(&live->modulations, settings);
    lfos_apply(&live->lfos, settings);
  }
  meter_finish(&live->meter, values);
  live_note_meter(live);
  return heard || (swings && values->modulation);
}

/* True if the user was told before that the source of this name has no sound. If not, the name is noted. */
static bool was_silent(struct live *live, const char *name) {
  struct error ignored;
  for (int i = 0; i < live->silent.count; i++)
    if (!strcmp(live->silent.entries[i].name, name))
      return true;
  playlist_insert(&live->silent, live->silent.count, name, false, &ignored);
  return false;
}

/* Tells the user that the source has no sound: once for each source, even if it is shown again. The source's name is
 * taken from live->tap (the buffer of its sound), because the source on screen may already be the next one. */
void live_follow_sound(struct live *live, int64_t now_ns) {
  bool present = false;
  char name[SOUND_NAME_MAX];
  unsigned number = live->track ? sound_tap_number(live->tap, &present, name) : 0;
  if (number == live->track_told)
    return;
  live->track_told = number;
  if (!present && !was_silent(live, name))
    live_tell(live, LOG_WARNING, now_ns, "--sound source: %.120s has no sound; nothing is moved", name);
  snprintf(live->silent_now, sizeof live->silent_now, "%s", present ? "" : name);
}
