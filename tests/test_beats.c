/* Tests the clock of beats: set by hand, by taps, by a MIDI clock with jitter, and by onsets of sound. No test waits:
 * times are numbers. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>

#include "app/control/beats.h"
#include "app/control/live_beats.h"
#include "app/control/midi_clock.h"

static const int64_t second_ns = 1000000000;

static int64_t at(double seconds) {
  return second_ns + (int64_t)llround(seconds * 1e9);
}

/* Returns a pseudo-random number from 0 to 1. */
static double chance(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 8) / (double)(1 << 24);
}

static void assert_near(double number, double wanted, double most, const char *what) {
  if (!(fabs(number - wanted) <= most))
    fail_msg("%s: %.6f, wanted %.6f within %g", what, number, wanted, most);
}

/* Checks the tempo, in beats a minute, and the distance from the whole beat that should be at begin_s. */
static void assert_clock(const struct beats *beats, double tempo, double tempo_most, double begin_s,
                         double phase_most_s) {
  double beat = beats_at(beats, at(begin_s));
  assert_near(beats->tempo, tempo, tempo_most, "tempo");
  assert_near((beat - round(beat)) * 60 / tempo, 0, phase_most_s, "phase in seconds");
}

static void beats_go_on(void **state) {
  (void)state;
  struct beats beats = {0};
  assert_near(beats_at(&beats, at(5)), 0, 0, "no tempo");
  assert_true(beats_next_ns(&beats, 1, at(5)) == INT64_MAX);
  beats_set_tempo(&beats, 120, at(0));
  assert_near(beats_at(&beats, at(2.25)), 4.5, 1e-9, "beat");
  assert_near(beats_bar_phase(&beats, 4, at(2.25)), 0.125, 1e-9, "phase");
  assert_near(beats_bar_phase(&beats, 3, at(-0.5)), 2 / 3.0, 1e-9, "phase before the first beat");
  assert_true(beats_next_ns(&beats, 1, at(2.25)) == at(2.5));
  assert_true(beats_next_ns(&beats, 4, at(2.25)) == at(4));
  assert_true(beats_next_ns(&beats, 4, at(4)) == at(6));
  beats_set_tempo(&beats, 60, at(2.25));
  assert_near(beats_at(&beats, at(3.25)), 5.5, 1e-9, "the beat goes on at another tempo");
  beats_set_beat(&beats, 16, at(4));
  assert_near(beats_at(&beats, at(4.5)), 16.5, 1e-9, "a beat that was set");
  beats_set_bar_phase(&beats, 4, 0, at(4.5));
  assert_near(beats_at(&beats, at(4.5)), 16, 1e-9, "the nearest beginning of a bar");
  beats_set_bar_phase(&beats, 4, 0.75, at(4.5));
  assert_near(beats_at(&beats, at(4.5)), 15, 1e-9, "the nearest fourth beat");
  beats.stopped = true;
  assert_near(beats_at(&beats, at(9)), 15, 1e-9, "a clock that is stopped");
}

/* Four taps that are up to 5 ms off give the tempo within 1 %, at usual tempos. */
static void four_taps_make_a_tempo(void **state) {
  (void)state;
  uint32_t seed = 7;
  for (double tempo = 70; tempo <= 180; tempo += 10) {
    struct taps taps = {0};
    struct beats beats = {0};
    for (int i = 0; i < 4; i++)
      assert_int_equal(taps_take(&taps, &beats, at(i * 60 / tempo + 0.01 * (chance(&seed) - 0.5))), i > 0);
    assert_clock(&beats, tempo, tempo / 100, 4 * 60 / tempo, 0.015);
    assert_near(beats_at(&beats, at(180 / tempo)), 3, 0.05, "the first tap is the first beat");
  }
}

static void taps_begin_anew(void **state) {
  (void)state;
  struct taps taps = {0};
  struct beats beats = {0};
  for (int i = 0; i < 4; i++)
    taps_take(&taps, &beats, at(i * 0.5));
  assert_false(taps_take(&taps, &beats, at(10))); /* much later: a new series, which has no tempo yet */
  assert_near(beats.tempo, 120, 1e-6, "the tempo stays");
  assert_true(taps_take(&taps, &beats, at(10.6)));
  assert_near(beats.tempo, 100, 1e-6, "the new series counts alone");
  assert_near(beats_at(&beats, at(10.6)), 21, 1e-6, "the nearest beat"); /* at the tempo before it would be 21.2 */
  assert_true(taps_take(&taps, &beats, at(11.2)));
  assert_false(taps_take(&taps, &beats, at(11.25))); /* too soon after the last tap: a key that bounces */
}

struct sequencer {
  struct midi_clock clock;
  struct beats beats;
  uint32_t seed;
  double jitter_s; /* seconds by which each message may come late */
};

static bool send(struct sequencer *from, enum midi_clock_message message, int song, double seconds) {
  return midi_clock_take(&from->clock, message, song, &from->beats, at(seconds + from->jitter_s * chance(&from->seed)));
}

/* Sends the ticks of a tempo from `from_s` on, `count` of them, and returns the time of the one that would follow. */
static double play(struct sequencer *from, double tempo, int count, double from_s) {
  for (int i = 0; i < count; i++)
    send(from, MIDI_CLOCK_TICK, 0, from_s + i * 60 / tempo / MIDI_CLOCKS_A_BEAT);
  return from_s + count * 60 / tempo / MIDI_CLOCKS_A_BEAT;
}

/* After two beats of a jittering MIDI clock the tempo is right within 0.1 beats a minute, and the beat within 5 ms. */
static void a_midi_clock_that_jitters(void **state) {
  static const double tempos[] = {72, 90, 100, 120, 128};
  (void)state;
  for (uint32_t seed = 1; seed <= 8; seed++)
    for (size_t i = 0; i < sizeof tempos / sizeof *tempos; i++) {
      struct sequencer from = {.seed = seed, .jitter_s = 0.002};
      double tempo = tempos[i], now = play(&from, tempo, 2 * MIDI_CLOCKS_A_BEAT + 1, 0);
      assert_clock(&from.beats, tempo, 0.1, 120 / tempo, 0.005);
      now = play(&from, tempo, 14 * MIDI_CLOCKS_A_BEAT, now);
      assert_clock(&from.beats, tempo, 0.02, 16 * 60 / tempo, 0.003);
      assert_near(beats_at(&from.beats, at(now)), 16 + 1.0 / 24, 0.01, "the number of the beat");
    }
}

static void a_song_starts_stops_and_goes_on(void **state) {
  (void)state;
  struct sequencer from = {.seed = 1};
  double now = play(&from, 120, 100, 0);
  assert_true(send(&from, MIDI_CLOCK_START, 0, now));
  assert_false(beats_run(&from.beats));
  now = play(&from, 120, 49, now + 0.01);
  assert_near(beats_at(&from.beats, at(now)), 49 / 24.0, 0.03, "beats since the start");
  assert_true(send(&from, MIDI_CLOCK_STOP, 0, now));
  assert_near(beats_at(&from.beats, at(now + 3)), 49 / 24.0, 1e-9, "the beat stands");
  now = play(&from, 120, 30, now); /* a sequencer that is stopped may go on to send ticks */
  assert_near(beats_at(&from.beats, at(now)), 49 / 24.0, 1e-9, "the beat stands while ticks come");
  assert_true(send(&from, MIDI_CLOCK_SONG, 64, now));
  assert_near(beats_at(&from.beats, at(now)), 16, 1e-9, "sixteen beats are 64 sixteenths");
  send(&from, MIDI_CLOCK_CONTINUE, 0, now);
  now = play(&from, 120, 25, now + 0.005);
  assert_near(beats_at(&from.beats, at(now)), 17 + 1 / 24.0, 0.03, "the song goes on from there");
}

static void a_midi_clock_changes_its_tempo(void **state) {
  (void)state;
  struct sequencer from = {.seed = 3, .jitter_s = 0.001};
  double now = play(&from, 120, 10 * 24, 0);
  now = play(&from, 140, 2 * 24, now);
  assert_near(from.beats.tempo, 140, 0.7, "two beats after a change of tempo");
  now = play(&from, 140, 3 * 24, now + 5); /* the device was unplugged for five seconds */
  assert_clock(&from.beats, 140, 0.2, now, 0.005);
  struct sequencer fast = {.seed = 1};
  play(&fast, 900, 48, 0);
  assert_near(fast.beats.tempo, 0, 0, "a tempo beyond all music is not taken");
  struct sequencer slow = {.seed = 1};
  play(&slow, 15, 4, 0);
  assert_near(slow.beats.tempo, TEMPO_LEAST, 0, "a clock that is too slow");
}

/* Clicks at 90 to 150 a minute, whose onsets are found to within 5 ms as by sound_levels.h: after 8 s the tempo is
 * right within 1 %, and the beat within 30 ms. */
static void clicks_have_a_beat(void **state) {
  (void)state;
  for (double tempo = 90; tempo <= 150; tempo += 2.5) {
    struct onsets onsets = {0};
    struct beats beats = {0};
    uint32_t seed = 5;
    bool found = false;
    int clicks = (int)(8 * tempo / 60);
    for (int i = 0; i < clicks; i++)
      found = onsets_take(&onsets, &beats, at(3 + i * 60 / tempo + 0.01 * (chance(&seed) - 0.5)));
    assert_true(found);
    assert_clock(&beats, tempo, tempo / 100, 3 + clicks * 60 / tempo, 0.03);
  }
}

/* Eighths that are as loud as the beat, and beats that are left out, do not change the tempo. */
static void a_beat_among_other_onsets(void **state) {
  (void)state;
  struct onsets eighths = {0}, gaps = {0}, noise = {0};
  struct beats beats = {0}, other = {0}, none = {0};
  uint32_t seed = 2;
  for (int i = 0; i < 32; i++)
    onsets_take(&eighths, &beats, at(i * 0.25));
  assert_near(beats.tempo, 120, 1.2, "eighths");
  for (int i = 0; i < 16; i++)
    if (i % 4 != 2)
      onsets_take(&gaps, &other, at(i * 0.6));
  assert_clock(&other, 100, 1, 16 * 0.6, 0.03);
  bool found = false;
  for (double now = 0; now < 20; now += 0.15 + 2.5 * chance(&seed))
    found |= onsets_take(&noise, &none, at(now));
  assert_false(found); /* onsets of speech are no beat */
}

/* --- the parameters --- */

static struct live_state fresh(void) {
  struct live_state state = {.ready = true};
  struct parameters values;
  parameters_init(&values);
  settings_begin(&state.settings, &values);
  return state;
}

static void set(struct live_state *state, enum parameter id, double number) {
  assert_int_equal(parameters_set_number(&state->settings.values, id, 0, number, NULL), 0);
}

/* Does what one pass of the window's loop does. */
static const struct parameters *turn(struct live_state *state, double now) {
  live_take_beats(state, at(now));
  parameters_clear_marks(&state->settings.values);
  live_show_beats(state, at(now));
  return &state->settings.values;
}

static void parameters_set_the_clock(void **unused) {
  (void)unused;
  struct live_state state = fresh();
  assert_near(turn(&state, 0)->beat, 0, 0, "no tempo");
  set(&state, PARAMETER_TEMPO, 120);
  turn(&state, 0);
  assert_near(turn(&state, 2.6)->beat, 5, 0, "the beat that has begun");
  assert_near(turn(&state, 2.6)->bar_phase, 0.25, 1e-9, "the second beat of a bar");
  /* a value that moves by itself is not marked as set by the user */
  assert_false(parameters_any_marked(turn(&state, 3)));
  set(&state, PARAMETER_BEAT, 64.5);
  state.beat_set_ns = at(3); /* a client set it a tenth of a second before this pass */
  turn(&state, 3.1);
  assert_near(beats_at(&state.beats, at(3.5)), 65.5, 1e-9, "a beat of the moment at which it was set");
  set(&state, PARAMETER_BAR_PHASE, 0);
  assert_near(turn(&state, 3.6)->bar_phase, 0, 1e-9, "a bar begins");
  assert_near(beats_at(&state.beats, at(3.6)), 64, 1e-9, "the nearest bar");
  set(&state, PARAMETER_BAR_BEATS, 3);
  assert_near(turn(&state, 4.2)->bar_phase, 2 / 3.0, 1e-9, "65 is the third beat of a bar of three");
  set(&state, PARAMETER_TEMPO, 3);
  assert_near(turn(&state, 4.2)->tempo, TEMPO_LEAST, 0, "the slowest tempo");
  set(&state, PARAMETER_TEMPO, 120);
  turn(&state, 4.2);
  set(&state, PARAMETER_TEMPO, 0);
  turn(&state, 5);
  assert_near(turn(&state, 50)->beat, 66, 0, "without a tempo the beat stands");
}

/* A MIDI clock has an effect only if the parameter asks for it; its jitter changes no value, and the beat does not go
 * back and forth. */
static void a_midi_clock_sets_the_parameters(void **unused) {
  (void)unused;
  struct live_state state = fresh();
  struct beats beats = {.tempo = 128.004, .beat = 8, .at_ns = at(0)};
  set(&state, PARAMETER_TEMPO_FROM, TEMPO_FROM_HAND);
  live_take_midi_beats(&state, &beats);
  assert_near(turn(&state, 0)->tempo, 0, 0, "by hand");
  set(&state, PARAMETER_TEMPO_FROM, TEMPO_FROM_MIDI);
  live_take_midi_beats(&state, &beats);
  assert_near(turn(&state, 0)->tempo, 128, 0.0051, "rounded");
  beats.tempo = 128.04;
  live_take_midi_beats(&state, &beats);
  assert_near(turn(&state, 0.1)->tempo, 128, 0.0051, "jitter");
  beats = (struct beats){.tempo = 130, .beat = 8.99, .at_ns = at(1)};
  live_take_midi_beats(&state, &beats);
  assert_near(turn(&state, 1.02)->beat, 9, 0, "a new beat");
  beats.at_ns = at(1.01);
  live_take_midi_beats(&state, &beats);
  assert_near(turn(&state, 1.012)->beat, 9, 0, "set back a little");
  beats.beat = 0;
  live_take_midi_beats(&state, &beats);
  assert_near(turn(&state, 1.02)->beat, 0, 0, "the song starts");
  assert_near(state.settings.values.tempo, 130, 0, "a new tempo");
  turn(&state, 1.03); /* the tempo that is shown from a MIDI clock does not set the clock by hand */
  assert_near(state.beats.tempo, 130, 0, "the clock's own tempo");
  beats = (struct beats){.tempo = 120, .beat = 16, .at_ns = at(2), .stopped = true};
  live_take_midi_beats(&state, &beats);
  assert_near(turn(&state, 5)->beat, 16, 0, "the song was stopped");
  set(&state, PARAMETER_TEMPO_FROM, TEMPO_FROM_HAND);
  turn(&state, 6);
  assert_near(turn(&state, 8.1)->beat, 20, 0, "a stop of MIDI does not hold a clock that is set by hand");
}

static void onsets_set_the_parameters(void **unused) {
  (void)unused;
  struct live_state state = fresh();
  for (int i = 0; i < 12; i++)
    live_take_onset(&state, at(i * 0.5));
  assert_near(turn(&state, 6)->tempo, 0, 0, "not asked for");
  set(&state, PARAMETER_TEMPO_FROM, TEMPO_FROM_SOUND);
  for (int i = 12; i < 24; i++)
    live_take_onset(&state, at(i * 0.5));
  assert_near(turn(&state, 12)->tempo, 120, 1.2, "asked for");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(beats_go_on),
      cmocka_unit_test(four_taps_make_a_tempo),
      cmocka_unit_test(taps_begin_anew),
      cmocka_unit_test(a_midi_clock_that_jitters),
      cmocka_unit_test(a_song_starts_stops_and_goes_on),
      cmocka_unit_test(a_midi_clock_changes_its_tempo),
      cmocka_unit_test(clicks_have_a_beat),
      cmocka_unit_test(a_beat_among_other_onsets),
      cmocka_unit_test(parameters_set_the_clock),
      cmocka_unit_test(a_midi_clock_sets_the_parameters),
      cmocka_unit_test(onsets_set_the_parameters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
