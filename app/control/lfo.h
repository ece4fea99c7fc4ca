/* LFOs (low-frequency oscillators): waves that are added to a parameter's value, in time with the beat or with the
 * clock. Parameters describe each LFO: lfo[] names the parameter that it changes, and lfo[].wave, .period, .unit,
 * .phase and .amount define the wave. As with sound (modulation.h), the value that users see and save stays the same.
 * The functions read no clock. */
#ifndef APP_CONTROL_LFO_H
#define APP_CONTROL_LFO_H

#include "app/control/beats.h"
#include "app/control/settings.h"

/* The choices of the parameter lfo[].wave: all go from -1 to 1 and back in a cycle. A sine and a triangle begin at 0
 * and rise, a saw rises from -1 and falls at the end, a square is 1 in its first half. LFO_RANDOM has another value in
 * each cycle. */
enum lfo_wave { LFO_SINE, LFO_TRIANGLE, LFO_SAW, LFO_SQUARE, LFO_RANDOM };
/* The choices of the parameter lfo[].unit: the unit of lfo[].period. */
enum lfo_unit { LFO_BEATS, LFO_SECONDS };

/* Returns the value of a wave, from -1 to 1, after this many cycles. number: number of the LFO, from 0, so that two
 * LFOs with LFO_RANDOM differ. */
double lfo_value(enum lfo_wave wave, double cycles, int number);

/* Parses the text of an option --lfo, such as strength=sine*0.2@4b+0.25, into the values of LFO `number` (from 1).
 * Returns 0, or -1 with err set if the text is wrong. */
int lfo_read(struct parameters *values, int number, const char *text, struct error *err);
/* Checks that each lfo[] names a parameter that an LFO can change, and removes the names that do not. Returns 0, or -1
 * with err, which is about the last name removed. */
int lfos_check(struct parameters *values, struct error *err);

/* The LFOs' parameters and present offsets. Initialise with zeros. */
struct lfos {
  struct {
    enum parameter id; /* the parameter that the LFO changes; PARAMETER_NONE: none */
    int index;
    double offset; /* number that is added to the parameter's value */
  } entry[LFOS_MAX];
  uint64_t texts; /* the version of the parameters' texts (parameters.texts) from which `id` and `index` were read */
};

/* Computes the LFOs' offsets at time now_ns. An LFO that follows the beat has the offset 0 while there is no tempo.
 * Returns true if any LFO changes a parameter. */
bool lfos_follow(struct lfos *lfos, const struct parameters *values, const struct beats *beats, int64_t now_ns);
/* Adds the present offsets of the LFOs to the parameters' values in *settings, which is a copy for one frame. */
void lfos_apply(const struct lfos *lfos, struct settings *settings);

#endif
