/* Decides which MIDI messages bring the values of bound parameters back to a controller, so that its motor faders stand
 * where the values are and the lights of its pads show what is on. A knob gets the message by which it is bound, at the
 * position that its parameter's value has. A pad gets a note, whose velocity tells the state: 127 while the switch is
 * on or while the prompt that the pad selects is shown; otherwise 0, which ends the note.
 *
 * A value that comes from a knob must not be sent back to it at once, since a motor fader would then work against the
 * hand that moves it. Therefore nothing is sent to a knob for a third of a second after it was moved (to a pad: for a
 * tenth of a second after it was struck), and nothing to a knob that stands where the value is. What a controller sends
 * back in answer to a message is recognised. These functions use no thread, device or file. */
#ifndef APP_REMOTE_MIDI_FEEDBACK_H
#define APP_REMOTE_MIDI_FEEDBACK_H

#include <stddef.h>

#include "app/remote/midi_bind.h"

/* What one knob of the controller shows. */
struct feedback_told {
  struct knob knob;
  int level;        /* position that the knob shows, in units of its messages; -1: unknown */
  int64_t heard_ns; /* when the knob was moved last (knob_binding.moved_ns); 0: never */
  int64_t sent_ns;  /* when a message was last sent to the knob */
};

/* What the knobs of the MIDI controller show, as far as it is known. Initialise with midi_feedback_forget. */
struct midi_feedback {
  struct feedback_told told[KNOBS_MAX]; /* what each knob shows, at the index of its binding */
  int next;                             /* index of the binding with which the next call of midi_feedback_make begins */
};

/* Records that it is unknown what each knob of the controller shows. Called at the start, and when the controller was
 * replaced or connected again. */
void midi_feedback_forget(struct midi_feedback *feedback, const struct knobs *knobs);
/* Stores the messages that are due now in `bytes`, as many whole messages as fit into `size` bytes; the next call
 * begins with the remaining ones. The caller calls this function again and again; `size` and the time between two calls
 * limit the rate. Returns the number of bytes. */
size_t midi_feedback_make(struct midi_feedback *feedback, const struct knobs *knobs, const struct parameters *values,
                          int64_t now_ns, uint8_t *bytes, size_t size);
/* Returns true if a message that has come only repeats what its knob was sent in the last tenth of a second, and the
 * knob was not moved since. */
bool midi_feedback_is_echo(const struct midi_feedback *feedback, const struct knobs *knobs,
                           const struct midi_message *message, int64_t now_ns);

#endif
