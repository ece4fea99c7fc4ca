/* Keeps the beat clock (beats.h) in struct live_state and the parameters tempo, beat and bar-phase equal. The clock
 * adopts values that somebody sets; the parameters then show the clock's values. Main thread only. */
#ifndef APP_CONTROL_LIVE_BEATS_H
#define APP_CONTROL_LIVE_BEATS_H

#include "app/control/live_state.h"

/* Sets the beat clock to the values of tempo, beat and bar-phase that somebody has set since the last call. Called in
 * each pass of the main loop before the values are sent to the engine's thread. That thread does not get beat and
 * bar-phase. */
void live_take_beats(struct live_state *state, int64_t now_ns);
/* Copies to the clock of beats what a MIDI clock says, if the parameter tempo-from asks for MIDI. */
void live_take_midi_beats(struct live_state *state, const struct beats *beats);
/* Takes an onset (beginning of a sound) of the sound input at the time at_ns, from which the tempo is found, if the
 * parameter tempo-from asks for sound. */
void live_take_onset(struct live_state *state, int64_t at_ns);
/* Sets the parameter tempo to the clock's tempo if the two differ by more than 0.05 beats per minute, and beat and
 * bar-phase to their values at the beginning of the present beat. Called in each pass of the main loop after the
 * engine's thread has sent its values. */
void live_show_beats(struct live_state *state, int64_t now_ns);
/* Returns true for the parameters that the clock of beats itself changes (beat, bar-phase), so that a changed value
 * does not mean that somebody has set it. */
bool live_beats_move(enum parameter id);

#endif
