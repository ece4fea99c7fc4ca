/* Sound that is listened to, and what it moves. */
#include <errno.h>
#include <string.h>

#include "app/control/midi_input.h"
#include "app/live/live_impl.h"
#include "app/platform/app_platform.h"
#include "app/source/protocols.h"

int live_open_sound(struct live *live, struct error *err) {
  const struct options *options = live->options;
  const struct listener_params params = {options->sound, options->read_timeout, &live->log};
  struct modulations *modulations = &live->modulations;
  for (int i = 0; i < options->modulate.count; i++)
    if (modulation_read(&modulations->entry[modulations->count++], options->modulate.text[i], err))
      return -1;
  if (options->modulate.count && !options->sound)
    return error_set(err, STATUS_USAGE, "--modulate: --sound INPUT names what is listened to");
  if (options->sound && !options->modulate.count)
    return error_set(err, STATUS_USAGE, "--sound: --modulate says what it moves, as in strength=bass*0.3");
  if (!options->sound)
    return 0;
  struct platform_entry entry;
  if (protocols_is_file(options->sound) && platform_look(&entry, options->sound))
    return error_set(err, STATUS_INPUT, "--sound %.300s: %s", options->sound, strerror(errno));
  midi_alsa_hush(); /* FFmpeg may use it */
  return listener_start(&live->listener, &params, err);
}

void live_modulate(struct live *live, struct settings *settings, int64_t now_ns) {
  double values[SOUND_VALUES];
  if (!live->listener)
    return;
  listener_get(live->listener, values);
  if (!settings->values.pause) /* the picture stands */
    modulations_follow(&live->modulations, values, now_ns);
  modulations_apply(&live->modulations, settings);
}
