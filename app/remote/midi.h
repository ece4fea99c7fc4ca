/* MIDI: knobs, pads and pedals set parameters and run commands, according to their bindings (midi_bind.h). A thread of
 * its own reads the messages; it sets and reads values only through the hub.
 *
 * The parameter midi-learn starts binding a knob: the next knob that is moved is bound to the parameter or command that
 * it names (knob_target_find), or with "last" to the parameter that was changed last. Bindings are saved in midi.json
 * in the folder for configuration. */
#ifndef APP_REMOTE_MIDI_H
#define APP_REMOTE_MIDI_H

#include "app/remote/hub.h"
#include "unet/base/log.h"

struct midi;

struct midi_params {
  const char *source; /* what midi_input_open opens: "", a path, or an ALSA port; NULL: MIDI is not used */
  struct hub *hub;    /* hub and log are borrowed and must outlive *midi */
  const struct log *log;
};

/* Loads the bindings, opens the source and starts the thread. If there is no source, *midi becomes NULL and 0 is
 * returned. Returns 0, or -1 with err set. */
int midi_start(struct midi **midi, const struct midi_params *params, struct error *err);
/* Ends the thread, waiting for it at most wait_ms, and frees *midi. Returns false if the thread has not ended in time:
 * nothing is freed, the thread still uses the hub, and midi_stop may be called again. Stores NULL on success; accepts
 * NULL. */
bool midi_stop(struct midi **midi, int wait_ms);

#endif
