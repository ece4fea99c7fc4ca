/* Opens the sound that moves values and the sound for recordings, and adds the former's offsets to the values of
 * frames. */
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
  if (options->sound && !options->modulate.count)
    return error_set(err, STATUS_USAGE, "--sound: --modulate says what it moves, as in strength=bass*0.3");
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
  midi_alsa_hush(); /* keeps ALSA, which FFmpeg may use, from printing to the terminal */
  return listener_start(listener, &params, err);
}

/* If --sound and --record-sound name the same input, it is opened only once. */
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
}

/* Called while the video is paused: the source's sound stops, and values keep the offsets that they have. */
static void halt(struct live *live, int64_t now_ns) {
  if (live->track)
    track_halt(live->track, now_ns);
}

bool live_modulate(struct live *live, struct settings *settings, const struct frame *frame, int64_t now_ns) {
  double values[SOUND_VALUES];
  if (!live->listener && !live->track)
    return false;
  if (settings->values.pause) {
    halt(live, now_ns);
  } else {
    if (live->track)
      track_get(live->track, frame, now_ns, values);
    else
      listener_get(live->listener, values);
    modulations_follow(&live->modulations, values, now_ns);
  }
  modulations_apply(&live->modulations, settings);
  return true;
}

/* The user is told only once of a source without sound, even if it is opened again. The source's name comes from
 * live->tap, because the source on screen may already be another one. */
void live_follow_sound(struct live *live, int64_t now_ns) {
  bool present = false;
  char name[SOUND_NAME_MAX];
  unsigned number = live->track ? sound_tap_number(live->tap, &present, name) : 0;
  if (number == live->track_told)
    return;
  live->track_told = number;
  if (!present && strcmp(name, live->silent_told) != 0) {
    live_tell(live, LOG_WARNING, now_ns, "--sound source: %.120s has no sound; nothing is moved", name);
  }
  snprintf(live->silent_told, sizeof live->silent_told, "%s", present ? "" : name);
}
