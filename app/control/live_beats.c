#include "app/control/live_beats.h"

#include <math.h>

/* MIDI clocks and taps are never quite even. So the parameter tempo changes only if the clock's tempo differs by more
 * than tempo_least beats per minute, and the parameter beat goes back only if the clock is more than back_least beats
 * behind it. */
static const double tempo_least = 0.05, back_least = 0.1;

static bool take_mark(struct parameters *values, enum parameter id) {
  bool marked = parameters_marked(values, id, 0);
  values->marks[id] = 0;
  return marked;
}

/* Ends the state after MIDI's stop message, in which the beat does not advance. Called while the clock of beats does
 * not follow MIDI. */
static void leave_stop(struct beats *beats, int64_t now_ns) {
  if (beats->stopped)
    beats_set_beat(beats, beats->beat, now_ns);
  beats->stopped = false;
}

void live_take_beats(struct live_state *state, int64_t now_ns) {
  struct parameters *values = &state->settings.values;
  int64_t set_ns = state->beat_set_ns ? state->beat_set_ns : now_ns;
  if (values->tempo_from != TEMPO_FROM_MIDI)
    leave_stop(&state->beats, now_ns);
  if (values->tempo != state->tempo_told)
    beats_set_tempo(&state->beats, values->tempo, now_ns);
  state->tempo_told = values->tempo;
  if (take_mark(values, PARAMETER_BEAT))
    beats_set_beat(&state->beats, values->beat, set_ns);
  if (take_mark(values, PARAMETER_BAR_PHASE))
    beats_set_bar_phase(&state->beats, (int)values->bar_beats, values->bar_phase, set_ns);
  state->beat_set_ns = 0;
}

void live_take_midi_beats(struct live_state *state, const struct beats *beats) {
  if (state->settings.values.tempo_from == TEMPO_FROM_MIDI)
    state->beats = *beats;
}

void live_take_onset(struct live_state *state, int64_t at_ns) {
  if (state->settings.values.tempo_from == TEMPO_FROM_SOUND)
    onsets_take(&state->onsets, &state->beats, at_ns);
}

void live_show_beats(struct live_state *state, int64_t now_ns) {
  struct parameters *values = &state->settings.values;
  struct error ignored;
  double beat = beats_at(&state->beats, now_ns), whole = fmax(0, floor(beat));
  if (fabs(state->beats.tempo - state->tempo_told) > tempo_least) {
    state->tempo_told = round(state->beats.tempo * 100) / 100;
    parameters_set_number(values, PARAMETER_TEMPO, 0, state->tempo_told, &ignored);
  }
  if (whole != state->beat_told - 1 || beat < state->beat_told - back_least)
    state->beat_told = whole;
  values->beat = fmin(state->beat_told, parameter_row(PARAMETER_BEAT)->max);
  values->bar_phase = fmod(values->beat, (double)values->bar_beats) / (double)values->bar_beats;
}

bool live_beats_move(enum parameter id) {
  return id == PARAMETER_BEAT || id == PARAMETER_BAR_PHASE;
}
