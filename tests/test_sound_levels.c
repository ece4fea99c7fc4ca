/* Tests level, bands and beat of sound with known content, at every usual sample rate. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdlib.h>

#include "app/control/beats.h"
#include "app/source/sound_levels.h"

static const int rates[] = {8000, 11025, 48000, 96000};
enum { RATES = sizeof rates / sizeof *rates, PART = 441 };

/* Returns the sample at this time, in seconds. */
typedef double sound_at(double seconds, void *opaque);

static double sine(double seconds, void *opaque) {
  return 0.3 * sin(2 * M_PI * *(double *)opaque * seconds);
}

static double silence(double seconds, void *opaque) {
  (void)seconds, (void)opaque;
  return 0;
}

/* A click of 5 ms every half second. */
static double clicks(double seconds, void *opaque) {
  (void)opaque;
  return fmod(seconds, 0.5) < 0.005 ? 0.8 : 0;
}

/* Decaying thumps every half second, with a constant bass and a constant high tone. */
static double music(double seconds, void *opaque) {
  (void)opaque;
  double at = fmod(seconds, 0.5);
  return 0.5 * exp(-at / 0.05) * sin(2 * M_PI * 60 * at) + 0.1 * sin(2 * M_PI * 110 * seconds) +
         0.1 * sin(2 * M_PI * 1000 * seconds);
}

static double noise(double seconds, void *opaque) {
  unsigned *state = opaque;
  (void)seconds;
  *state = *state * 1664525u + 1013904223u;
  return 0.4 * ((*state >> 8) / (double)(1 << 23) - 1);
}

/* Analyses sound from `from` to `to`. Returns how many beats were found. */
static long hear(struct sound_levels *levels, sound_at *at, void *opaque, double from, double seconds) {
  long before = levels->beats.count, count = lrint(seconds * levels->rate), done = 0;
  float part[PART];
  while (done < count) {
    int size = count - done < PART ? (int)(count - done) : PART;
    for (int i = 0; i < size; i++)
      part[i] = (float)at(from + (double)(done + i) / levels->rate, opaque);
    sound_levels_take(levels, part, size);
    done += size;
  }
  return levels->beats.count - before;
}

static void sines_lie_in_their_bands(void **state) {
  static const struct {
    double frequency;
    enum sound_value band;
  } tones[] = {{40, SOUND_BASS}, {80, SOUND_BASS}, {500, SOUND_MID}, {900, SOUND_MID}, {7000, SOUND_TREBLE}};
  (void)state;
  for (int r = 0; r < RATES; r++)
    for (int i = 0; i < 5; i++) {
      struct sound_levels levels;
      double values[SOUND_VALUES], frequency = fmin(tones[i].frequency, 0.47 * rates[r]);
      sound_levels_begin(&levels, rates[r]);
      hear(&levels, sine, &frequency, 0, 3);
      sound_levels_get(&levels, values);
      assert_in_range(lrint(100 * values[SOUND_LEVEL]), 85, 100);
      for (enum sound_value band = SOUND_BASS; band <= SOUND_TREBLE; band++)
        if (band == tones[i].band ? values[band] < 0.85 : values[band] > 0.4)
          fail_msg("%g Hz at %d: band %d is %g", frequency, rates[r], (int)band, values[band]);
    }
}

static void silence_is_zero(void **state) {
  (void)state;
  for (int r = 0; r < RATES; r++) {
    struct sound_levels levels;
    double values[SOUND_VALUES], frequency = 100;
    sound_levels_begin(&levels, rates[r]);
    for (int round = 0; round < 2; round++) { /* silence at the start, and silence after sound */
      assert_int_equal(hear(&levels, silence, NULL, 0, 1.5), 0);
      sound_levels_get(&levels, values);
      for (int i = 0; i < SOUND_VALUES; i++)
        assert_true(values[i] == 0);
      hear(&levels, sine, &frequency, 0, 1);
    }
  }
}

static void beats_are_found(void **state) {
  (void)state;
  for (int r = 0; r < RATES; r++) {
    struct sound_levels levels;
    double values[SOUND_VALUES];
    sound_levels_begin(&levels, rates[r]);
    assert_int_equal(hear(&levels, clicks, NULL, 0, 10), 20); /* 120 beats a minute */
    hear(&levels, clicks, NULL, 0, 0.03);
    sound_levels_get(&levels, values);
    assert_true(values[SOUND_BEAT] > 0.7);
    hear(&levels, clicks, NULL, 0.03, 0.4);
    sound_levels_get(&levels, values);
    assert_true(values[SOUND_BEAT] < 0.1);
    sound_levels_begin(&levels, rates[r]);
    hear(&levels, music, NULL, 0, 2);
    assert_int_equal(hear(&levels, music, NULL, 2, 8), 16);
  }
}

/* A metronome's click: 15 ms of 1 kHz, without bass. */
static double metronome(double seconds, void *opaque) {
  double at = fmod(seconds, 60 / *(double *)opaque);
  return at < 0.015 ? 0.5 * sin(2 * M_PI * 1000 * at) : 0;
}

/* Clicks at 90 to 150 a minute are found, and after 8 s the tempo is right within 1 %, and the beat within 30 ms. */
static void a_metronome_has_a_tempo(void **state) {
  (void)state;
  const int64_t begin_ns = 5000000000;
  for (double tempo = 90; tempo <= 150; tempo += 20) {
    struct sound_levels levels;
    struct onsets onsets = {0};
    struct beats beats = {0};
    long before = 0;
    sound_levels_begin(&levels, 48000);
    for (int i = 0; i < 800; i++) {
      hear(&levels, metronome, &tempo, i * 0.01, 0.01);
      int64_t onset_ns = begin_ns + (int64_t)(((i + 1) * 0.01 - levels.onsets.since) * 1e9);
      if (levels.onsets.count != before)
        onsets_take(&onsets, &beats, onset_ns);
      before = levels.onsets.count;
    }
    /* beat number at the time of the tenth click */
    double beat = beats_at(&beats, begin_ns + (int64_t)(600e9 / tempo));
    if (fabs(beats.tempo - tempo) > tempo / 100 || fabs(beat - round(beat)) * 60 / tempo > 0.03)
      fail_msg("%g a minute: tempo %g, beat %g", tempo, beats.tempo, beat);
  }
}

/* The bands' limits change while sound is analysed, and an onset is held for the given time. */
static void limits_can_be_set(void **state) {
  (void)state;
  struct sound_limits limits = {.bass_below = 30, .treble_above = 300, .hold_s = 0.3};
  struct sound_levels levels;
  double values[SOUND_VALUES], frequency = 80;
  sound_levels_begin(&levels, 48000);
  hear(&levels, silence, NULL, 0, 1);
  sound_levels_get(&levels, values);
  assert_true(values[SOUND_ONSET] == 0);
  hear(&levels, sine, &frequency, 0, 2);
  sound_levels_get(&levels, values);
  assert_true(values[SOUND_BASS] > 0.85 && values[SOUND_MID] < 0.4 && values[SOUND_ONSET] == 0);
  sound_levels_limit(&levels, &limits);
  hear(&levels, sine, &frequency, 2, 20);
  sound_levels_get(&levels, values);
  assert_true(values[SOUND_BASS] < 0.4 && values[SOUND_MID] > 0.85 && values[SOUND_TREBLE] < 0.4);
  limits.bass_below = limits.treble_above = 30; /* no frequency is left between bass and treble */
  sound_levels_limit(&levels, &limits);
  hear(&levels, sine, &frequency, 22, 20);
  sound_levels_get(&levels, values);
  assert_true(values[SOUND_TREBLE] > 0.85);
  hear(&levels, silence, NULL, 0, 5);
  hear(&levels, sine, &frequency, 0, 0.28);
  sound_levels_get(&levels, values);
  assert_true(values[SOUND_ONSET] == 1);
  hear(&levels, sine, &frequency, 0.28, 0.05);
  sound_levels_get(&levels, values);
  assert_true(values[SOUND_ONSET] == 0);
}

/* A tone that begins and stays has one onset. */
static void tones_set_in_once(void **state) {
  (void)state;
  for (double frequency = 50; frequency < 170; frequency += 15) {
    struct sound_levels levels;
    sound_levels_begin(&levels, 8000);
    hear(&levels, silence, NULL, 0, 1);
    assert_int_equal(hear(&levels, sine, &frequency, 0, 2), 1);
    assert_int_equal(levels.onsets.count, 1);
  }
}

static void noise_is_steady(void **state) {
  (void)state;
  for (int r = 0; r < RATES; r++) {
    struct sound_levels levels;
    unsigned seed = 1;
    double values[SOUND_VALUES], least = 1, most = 0;
    sound_levels_begin(&levels, rates[r]);
    hear(&levels, noise, &seed, 0, 3);
    long beats = levels.beats.count;
    for (int i = 0; i < 200; i++) {
      hear(&levels, noise, &seed, 0, 0.025);
      sound_levels_get(&levels, values);
      least = fmin(least, values[SOUND_LEVEL]);
      most = fmax(most, values[SOUND_LEVEL]);
    }
    assert_true(least > 0.75 && most - least < 0.25);
    assert_in_range(levels.beats.count - beats, 0, 1);
  }
}

/* A processor takes some thirty times as long for subnormal numbers, to which filters decay in silence. */
static void silence_leaves_no_subnormal_numbers(void **state) {
  (void)state;
  for (int i = 0; i < RATES; i++) {
    struct sound_levels levels;
    unsigned random = 1;
    sound_levels_begin(&levels, rates[i]);
    hear(&levels, noise, &random, 0, 1);
    for (int part = 0; part < 100; part++) {
      hear(&levels, silence, NULL, 0, 0.3);
      for (int j = 0; j < SOUND_FILTERS; j++)
        assert_true(fpclassify(levels.filter[j].z1) != FP_SUBNORMAL && fpclassify(levels.filter[j].z2) != FP_SUBNORMAL);
      for (int j = 0; j < SOUND_BANDS; j++)
        assert_true(fpclassify(levels.power[j]) != FP_SUBNORMAL);
      assert_true(fpclassify(levels.beats.power) != FP_SUBNORMAL);
      assert_true(fpclassify(levels.onsets.power) != FP_SUBNORMAL);
    }
  }
}

/* The same music gives the same values at any loudness except near silence; the gain follows a louder sound at once, a
 * quieter one slowly. */
static void gain_follows(void **state) {
  (void)state;
  struct sound_levels levels;
  float loud[PART], quiet[PART];
  double values[SOUND_VALUES];
  for (int i = 0; i < PART; i++) {
    loud[i] = (float)(0.8 * sin(2 * M_PI * i * 10 / PART));
    quiet[i] = loud[i] / 10;
  }
  sound_levels_begin(&levels, 44100);
  for (int i = 0; i < 300; i++)
    sound_levels_take(&levels, quiet, PART);
  sound_levels_get(&levels, values);
  assert_true(values[SOUND_LEVEL] > 0.9);
  for (int i = 0; i < 300; i++)
    sound_levels_take(&levels, loud, PART);
  for (int i = 0; i < 100; i++)
    sound_levels_take(&levels, quiet, PART);
  sound_levels_get(&levels, values);
  assert_true(values[SOUND_LEVEL] < 0.2);
  for (int i = 0; i < 10000; i++)
    sound_levels_take(&levels, quiet, PART);
  sound_levels_get(&levels, values);
  assert_true(values[SOUND_LEVEL] > 0.8);
  for (int i = 0; i < PART; i++)
    quiet[i] = loud[i] / 8000;
  for (int i = 0; i < 15000; i++)
    sound_levels_take(&levels, quiet, PART);
  sound_levels_get(&levels, values);
  assert_true(values[SOUND_LEVEL] < 0.05);
}

static void damage_does_no_harm(void **state) {
  (void)state;
  static const float bad[] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f};
  struct sound_levels levels;
  double values[SOUND_VALUES], frequency = 80;
  sound_levels_begin(&levels, 8000);
  for (int i = 0; i < 1000; i++)
    sound_levels_take(&levels, bad, 5);
  hear(&levels, silence, NULL, 0, 2);
  hear(&levels, sine, &frequency, 0, 1);
  sound_levels_get(&levels, values);
  for (int i = 0; i < SOUND_VALUES; i++)
    assert_true(values[i] >= 0 && values[i] <= 1);
  assert_true(values[SOUND_BASS] > 0.1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sines_lie_in_their_bands), cmocka_unit_test(silence_is_zero),
      cmocka_unit_test(beats_are_found),          cmocka_unit_test(a_metronome_has_a_tempo),
      cmocka_unit_test(limits_can_be_set),        cmocka_unit_test(tones_set_in_once),
      cmocka_unit_test(noise_is_steady),          cmocka_unit_test(gain_follows),
      cmocka_unit_test(damage_does_no_harm),      cmocka_unit_test(silence_leaves_no_subnormal_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
