/* A clock of beats: a tempo, and the beat at one moment. The beats at all other times follow from these. Taps of a key,
 * a MIDI clock, the sound input's beat or the user set the clock. Structs here are plain values. The functions read no
 * clock; they are given times in nanoseconds of platform_now_ns. */
#ifndef APP_CONTROL_BEATS_H
#define APP_CONTROL_BEATS_H

#include <stdbool.h>
#include <stdint.h>

/* The range of a tempo, in beats per minute. A tempo of 0 is also allowed: it means that there is no tempo, and the
 * beat does not advance. */
#define TEMPO_LEAST 20.0
#define TEMPO_MOST 400.0

/* The choices of the parameter tempo-from: what sets the clock, besides taps and the user. */
enum tempo_from { TEMPO_FROM_HAND, TEMPO_FROM_MIDI, TEMPO_FROM_SOUND };

/* A clock of beats. Initialise with zeros: there is no tempo. */
struct beats {
  double tempo; /* beats per minute; 0: there is no tempo */
  /* The beat at time at_ns, with its fraction: 4.5 is half a beat after beat 4 began. Beat 0 is the first one, and the
   * first of a bar. */
  double beat;
  int64_t at_ns;
  /* true: the beat does not advance although there is a tempo, for example after a MIDI clock's stop message */
  bool stopped;
};

/* Returns the beat, with its fraction, at the time now_ns, which may lie before at_ns; below 0 before the first
 * beat. */
double beats_at(const struct beats *beats, int64_t now_ns);
/* Returns true if the beat advances: there is a tempo, and the clock is not stopped. */
bool beats_run(const struct beats *beats);
/* Returns the fraction of the present bar that has passed at the time now_ns, from 0 up to but not including 1. a_bar:
 * beats in a bar, at least 1. */
double beats_bar_phase(const struct beats *beats, int a_bar, int64_t now_ns);
/* Returns the first time after now_ns (platform_now_ns) at which a beat begins whose number is a multiple of `step`
 * (at least 1: every beat counts); INT64_MAX if the beat does not advance. */
int64_t beats_next_ns(const struct beats *beats, int step, int64_t now_ns);

/* Sets the tempo from now_ns on (0: none). A tempo above 0 and outside the range becomes TEMPO_LEAST or TEMPO_MOST. The
 * beat continues without a jump. */
void beats_set_tempo(struct beats *beats, double tempo, int64_t now_ns);
/* Sets the position of the clock at now_ns: `beat` is the number of the beat and the fraction of it that has
 * passed. */
void beats_set_beat(struct beats *beats, double beat, int64_t now_ns);
/* Moves the beat, by as little as possible, so that at now_ns the fraction `phase` (0 to 1) of the bar has passed.
 * a_bar: beats in a bar. */
void beats_set_bar_phase(struct beats *beats, int a_bar, double phase, int64_t now_ns);

/* Fits a straight line, by least squares, to the times of `count` consecutive beats or clock ticks (count >= 2).
 * Returns the line's seconds per beat. Stores in *last the line's time of the last beat, in seconds after the measured
 * time at_ns[count - 1]. */
double beats_fit(const int64_t *at_ns, int count, double *last);

enum { TAPS_MAX = 8 };
/* The last taps of a key by which the user tells the tempo. Initialise with zeros. */
struct taps {
  int64_t at_ns[TAPS_MAX]; /* times of the taps, oldest first */
  int count;
};
/* Takes a tap, which says that a beat begins at now_ns. From the second tap on, the tempo follows from the last
 * TAPS_MAX taps. If a tap comes much earlier or later than the earlier taps predict, it begins a new series. Returns
 * true if *beats was set. */
bool taps_take(struct taps *taps, struct beats *beats, int64_t now_ns);

enum { ONSETS_MAX = 48 };
/* Onsets (beginnings) of sound, from which the tempo is found. Initialise with zeros. */
struct onsets {
  int64_t at_ns[ONSETS_MAX]; /* times of the last onsets, oldest first */
  int count;
};
/* Adds an onset of sound at now_ns, and looks for a beat in the onsets of the last 8 seconds. The tempo is taken to be
 * 80 to 160 beats per minute; otherwise half or twice the true tempo would also fit. Returns true if a steady beat was
 * found and *beats was set. The number of the beat continues from *beats. */
bool onsets_take(struct onsets *onsets, struct beats *beats, int64_t now_ns);

#endif
