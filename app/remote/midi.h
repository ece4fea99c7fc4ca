/* MIDI: knobs, pads and pedals set parameters and run commands, as they have learnt to (midi_bind.h). A thread of its
 * own; it meets the window's thread in the hub alone.
 *
 * The parameter midi-learn says what the next knob that is moved is bound to: a name (knob_target_find), "last" for the
 * parameter that was changed last, or none. Bindings are kept in midi.json in the folder of configuration. */
#ifndef APP_REMOTE_MIDI_H
#define APP_REMOTE_MIDI_H

#include "app/remote/hub.h"
#include "unet/base/log.h"

struct midi;

struct midi_params {
  const char *source; /* as midi_input_open has it; NULL: there is no MIDI, and nothing is started */
  struct hub *hub;    /* outlives it, as does the log */
  const struct log *log;
};

int midi_start(struct midi **midi, const struct midi_params *params, struct error *err);
/* Waits so long at most for its thread. Returns false where that does not come back, which leaves all as it is: the
 * hub is still in use, and this may be called once more. Stores NULL; takes NULL. */
bool midi_stop(struct midi **midi, int wait_ms);

#endif
