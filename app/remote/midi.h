/* MIDI: knobs, pads and pedals set parameters and run commands, according to their bindings (midi_bind.h). It has a
 * thread of its own, which meets the window's thread in the hub alone.
 *
 * The parameter midi-learn names the target that the next moved knob is bound to: a name (knob_target_find), "last" for
 * the parameter that was changed last, or none. Bindings are saved in midi.json in the folder for configuration. */
#ifndef APP_REMOTE_MIDI_H
#define APP_REMOTE_MIDI_H

#include "app/remote/hub.h"
#include "unet/base/log.h"

struct midi;

struct midi_params {
  const char *source; /* as for midi_input_open; NULL: MIDI is off, and nothing is started */
  struct hub *hub;    /* hub and log must outlive struct midi */
  const struct log *log;
};

/* Loads the bindings, opens the source and starts the thread. Without a source *midi is NULL, and 0 is returned. */
int midi_start(struct midi **midi, const struct midi_params *params, struct error *err);
/* Stops the thread, waiting at most wait_ms. Returns false if it has not ended: everything stays as it is, the hub is
 * still in use, and midi_stop may be called again. Stores NULL; takes NULL. */
bool midi_stop(struct midi **midi, int wait_ms);

#endif
