/* MIDI: knobs, pads and pedals set parameters and run commands by their bindings (midi_bind.h), and a MIDI clock sets
 * tempo and beat. A thread of its own reads the messages; it sets and reads values only through the hub.
 *
 * If somebody sets the parameter midi-learn, the next knob that is moved is bound: to the parameter or command that the
 * text names (knob_target_find), or for "last" to the parameter that was changed last. Bindings are saved in midi.json
 * in the folder for configuration. If a target is given, it is sent the values of what is bound (midi_feedback.h). */
#ifndef APP_REMOTE_MIDI_H
#define APP_REMOTE_MIDI_H

#include "app/remote/hub.h"
#include "unet/base/log.h"

struct midi;

struct midi_params {
  /* the source of MIDI messages, in the form that midi_input_open accepts: "", a path, or an ALSA port; NULL: MIDI is
   * not used */
  const char *source;
  /* target to which the values of bound parameters are sent, in the form that midi_output_open accepts; NULL: values
   * are not sent */
  const char *target;
  /* the bindings, as the text that midi.json would have; the file midi.json is then neither read nor written. NULL:
   * they are read from midi.json and written to it */
  const char *bindings;
  struct hub *hub; /* the hub (through which values are set and read); like `log`, it is borrowed and must outlive
                    * *midi */
  const struct log *log;
};

/* Loads the bindings, opens source and target of MIDI messages and starts the thread. If params->source and
 * params->target are NULL, *midi becomes NULL and 0 is returned. Returns 0, or -1 with err set. */
int midi_start(struct midi **midi, const struct midi_params *params, struct error *err);
/* Ends the thread, waits at most wait_ms for that, frees *midi and sets it to NULL. Returns false if the thread has not
 * ended in time: it still uses the hub, nothing is freed, and the caller may try again. Does nothing if *midi is
 * NULL. */
bool midi_stop(struct midi **midi, int wait_ms);

#endif
