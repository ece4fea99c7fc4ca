/* Decides which MIDI messages show the values of bound parameters on a controller, by motor faders and the lights of
 * pads. A knob gets the message that it is bound by, with the position for its parameter's value. A pad gets a note
 * with velocity 127 while its switch is on or its prompt is shown; otherwise 0, which ends the note.
 *
 * A value that a knob has set is not sent back at once, because a motor fader would work against the user's hand. So
 * nothing is sent to a knob for a third of a second after it was moved (a pad: a tenth of a second after it was
 * struck), nor if it already shows the value. Messages with which a controller answers are recognised. These functions
 * use no thread, device or file. */
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
/* Returns true if a received message only repeats what was sent to its knob in the last tenth of a second, and the knob
 * was not moved since. */
bool midi_feedback_is_echo(const struct midi_feedback *feedback, const struct knobs *knobs,
                           const struct midi_message *message, int64_t now_ns);

#endif
