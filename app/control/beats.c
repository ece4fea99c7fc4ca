#include "app/control/beats.h"

#include <math.h>
#include <string.h>

/* --- the clock: tempo and beat at a given time --- */

/* For exactly the time at which beat n begins, the computed beat may be a little below n because of rounding: by less
 * than this number of beats. */
static const double beat_rounding = 1e-9;

bool beats_run(const struct beats *beats) {
  return beats->tempo > 0 && !beats->stopped;
}

double beats_at(const struct beats *beats, int64_t now_ns) {
  return beats->beat + (beats_run(beats) ? (double)(now_ns - beats->at_ns) * 1e-9 * beats->tempo / 60 : 0);
}

double beats_bar_phase(const struct beats *beats, int a_bar, int64_t now_ns) {
  double bars = beats_at(beats, now_ns) / a_bar, phase = bars - floor(bars);
  return phase < 1 ? phase : 0;
}

int64_t beats_next_ns(const struct beats *beats, int step, int64_t now_ns) {
  if (!beats_run(beats))
    return INT64_MAX;
  double next = (floor((beats_at(beats, now_ns) + beat_rounding) / step) + 1) * step;
  return beats->at_ns + (int64_t)ceil((next - beats->beat) * 60e9 / beats->tempo);
}

void beats_set_beat(struct beats *beats, double beat, int64_t now_ns) {
  beats->beat = beat;
  beats->at_ns = now_ns;
}

void beats_set_tempo(struct beats *beats, double tempo, int64_t now_ns) {
  beats_set_beat(beats, beats_at(beats, now_ns), now_ns);
  beats->tempo = tempo > 0 ? fmin(fmax(tempo, TEMPO_LEAST), TEMPO_MOST) : 0;
}

void beats_set_bar_phase(struct beats *beats, int a_bar, double phase, int64_t now_ns) {
  double beat = beats_at(beats, now_ns);
  beats_set_beat(beats, a_bar * (round(beat / a_bar - phase) + phase), now_ns);
}

/* Returns the seconds from the time from_ns to the time at_ns. */
static double seconds_since(int64_t from_ns, int64_t at_ns) {
  return (double)(at_ns - from_ns) * 1e-9;
}

double beats_fit(const int64_t *at_ns, int count, double *last) {
  double middle = (count - 1) / 2.0, mean = 0, product = 0, square = 0;
  int64_t from_ns = at_ns[count - 1];
  for (int i = 0; i < count; i++)
    mean += seconds_since(from_ns, at_ns[i]) / count;
  for (int i = 0; i < count; i++) {
    product += (i - middle) * (seconds_since(from_ns, at_ns[i]) - mean);
    square += (i - middle) * (i - middle);
  }
  *last = mean + product / square * (count - 1 - middle);
  return product / square;
}

/* Appends a time to a list of at most `most` times; if the list is full, its oldest time is removed first. */
static void append(int64_t *at_ns, int *count, int most, int64_t now_ns) {
  if (*count == most) {
    *count -= 1;
    memmove(at_ns, at_ns + 1, (size_t)*count * sizeof *at_ns);
  }
  at_ns[(*count)++] = now_ns;
}

/* Sets the clock so that it has this tempo and a beat begins at at_ns. beat: what the clock says at that time; it is
 * rounded to a whole number. */
static void set_beginning(struct beats *beats, double tempo, int64_t at_ns, double beat) {
  *beats = (struct beats){.tempo = tempo, .beat = round(beat), .at_ns = at_ns};
}

/* --- setting the clock by taps of a key --- */

/* A tap is a press of the key by which the user gives the tempo. The time since the last tap is compared with the time
 * between the two taps before: a tap outside these two multiples of it begins a new series. */
static const double tap_least = 0.6, tap_most = 1.6;

static bool continues(const struct taps *taps, int64_t now_ns) {
  if (!taps->count)
    return false;
  double since = (double)(now_ns - taps->at_ns[taps->count - 1]) * 1e-9;
  if (since < 60 / TEMPO_MOST || since > 60 / TEMPO_LEAST)
    return false;
  if (taps->count < 2)
    return true;
  double before = (double)(taps->at_ns[taps->count - 1] - taps->at_ns[taps->count - 2]) * 1e-9;
  return since > tap_least * before && since < tap_most * before;
}

bool taps_take(struct taps *taps, struct beats *beats, int64_t now_ns) {
  double last;
  if (!continues(taps, now_ns))
    taps->count = 0;
  append(taps->at_ns, &taps->count, TAPS_MAX, now_ns);
  if (taps->count < 2)
    return false;
  double tempo = 60 / beats_fit(taps->at_ns, taps->count, &last);
  int64_t at_ns = now_ns + (int64_t)(last * 1e9);
  /* if the clock had no tempo before, the first tap (press of the key) of this series of taps counts as beat 0, the
   * first beat of a bar */
  set_beginning(beats, tempo, at_ns, beats_run(beats) ? beats_at(beats, at_ns) : taps->count - 1);
  return true;
}

/* --- setting the clock of beats by onsets (beginnings of sounds) --- */

/* onset_age_s: age beyond which an onset (the beginning of a sound) is forgotten; period_least_s, period_most_s:
 * shortest and longest time between two beats in the search for the tempo; all in seconds */
static const double onset_age_s = 8, period_least_s = 60 / 160.0, period_most_s = 60 / 80.0;
/* The search for the tempo tries one period (time between two beats) after another, from the shortest to the longest.
 * Each period is the one before it multiplied by this number. */
static const double period_step = 1.004;
/* on_beat_s: an onset counts as on the beat if it is at most this many seconds from it. compared_most: onsets more than
 * this many beats apart are not compared, because a small error of the period would add up. */
static const double on_beat_s = 0.025, compared_most = 4;
/* The onsets have a steady beat if at least STEADY_LEAST beats have an onset, and these are at least the fraction
 * steady_share of all beats since the first onset. */
static const double steady_share = 0.6;
enum { STEADY_LEAST = 4 };

/* Counts the pairs of onsets whose distance is a whole number of periods. A pair counts 1 if its distance fits exactly,
 * and less, down to 0, the more it differs. */
static double count_pairs(const double *seconds, int count, double period) {
  double sum = 0;
  for (int i = 0; i < count; i++)
    for (int j = i + 1; j < count; j++) {
      double apart = (seconds[j] - seconds[i]) / period, off = (apart - round(apart)) * period / on_beat_s;
      if (apart > compared_most)
        break;
      if (round(apart) > 0)
        sum += fmax(0, 1 - off * off);
    }
  return sum;
}

static double find_period(const double *seconds, int count) {
  double best = 0, found = 0;
  for (double period = period_least_s; period <= period_most_s; period *= period_step) {
    double pairs = count_pairs(seconds, count, period);
    if (pairs > best) {
      best = pairs;
      found = period;
    }
  }
  return found;
}

/* The beat that was found in a series of onsets: the time between two beats, the time of the last beat (both in
 * seconds), and how many beats have an onset. */
struct found {
  double period, last;
  int on_beat;
};

/* Improves the beat `from`: fits a straight line by least squares through the times of the onsets that lie on its
 * beats. */
static struct found refine(const double *seconds, int count, const struct found *from) {
  double sum = 0, sum_beats = 0, product = 0, square = 0;
  struct found refined = {.on_beat = 0};
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < count; i++) {
      double beat = round((seconds[i] - from->last) / from->period);
      if (fabs(seconds[i] - from->last - beat * from->period) > 2 * on_beat_s)
        continue;
      if (!pass) {
        sum += seconds[i];
        sum_beats += beat;
        refined.on_beat++;
      } else {
        product += (beat - sum_beats / refined.on_beat) * (seconds[i] - sum / refined.on_beat);
        square += (beat - sum_beats / refined.on_beat) * (beat - sum_beats / refined.on_beat);
      }
    }
  refined.period = square > 0 ? product / square : from->period;
  refined.last = refined.on_beat ? (sum - refined.period * sum_beats) / refined.on_beat : from->last;
  return refined;
}

/* Finds the beat (time between two beats, and time of the last one) in `count` onsets. seconds: the times of the onsets
 * in seconds, relative to the last one, whose time is 0. Tries each onset in turn as the time of a beat, and returns
 * the result with which most onsets lie on beats. */
static struct found find_beat(const double *seconds, int count) {
  struct found best = {.period = find_period(seconds, count)};
  for (int i = count - 1; best.period > 0 && i >= 0; i--) {
    struct found from = {best.period, seconds[i], 0}, now = refine(seconds, count, &from);
    if (now.on_beat > best.on_beat)
      best = (struct found){best.period, now.last, now.on_beat};
  }
  return best.on_beat ? refine(seconds, count, &best) : best;
}

bool onsets_take(struct onsets *onsets, struct beats *beats, int64_t now_ns) {
  double seconds[ONSETS_MAX];
  if (onsets->count && now_ns <= onsets->at_ns[onsets->count - 1])
    /* time went back because the sound was restarted at another position; the onsets found so far no longer count */
    onsets->count = 0;
  append(onsets->at_ns, &onsets->count, ONSETS_MAX, now_ns);
  while ((double)(now_ns - onsets->at_ns[0]) * 1e-9 > onset_age_s)
    memmove(onsets->at_ns, onsets->at_ns + 1, (size_t)--onsets->count * sizeof *onsets->at_ns);
  for (int i = 0; i < onsets->count; i++)
    seconds[i] = seconds_since(now_ns, onsets->at_ns[i]);
  struct found found = find_beat(seconds, onsets->count);
  if (found.on_beat < STEADY_LEAST || found.on_beat < steady_share * -seconds[0] / found.period)
    return false;
  double last = found.last - floor(found.last / found.period) * found.period - found.period;
  int64_t at_ns = now_ns + (int64_t)(last * 1e9);
  set_beginning(beats, 60 / found.period, at_ns, beats_at(beats, at_ns));
  return true;
}
