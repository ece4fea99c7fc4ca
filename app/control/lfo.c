#include "app/control/lfo.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/modulation.h"

/* Number added to the number of cycles before a wave's value is computed. At the time from beats_next_ns, the computed
 * beat may be a little below a whole number; without this addition, a wave that changes on the beat would change too
 * late. */
static const double cycle_rounding = 1e-9;

static double random_value(int64_t cycle, int number) {
  uint64_t mixed = ((uint64_t)cycle * 64 + (uint64_t)number + 1) * UINT64_C(0x9e3779b97f4a7c15);
  mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
  return (double)(mixed >> 11) / (double)(UINT64_C(1) << 52) - 1;
}

double lfo_value(enum lfo_wave wave, double cycles, int number) {
  double whole = floor(cycles), part = cycles - whole;
  switch (wave) {
  case LFO_SINE:
    return sin(2 * M_PI * part);
  case LFO_TRIANGLE:
    return part < 0.25 ? 4 * part : part < 0.75 ? 2 - 4 * part : 4 * part - 4;
  case LFO_SAW:
    return 2 * part - 1;
  case LFO_SQUARE:
    return part < 0.5 ? 1 : -1;
  case LFO_RANDOM:
    return random_value((int64_t)whole, number);
  }
  return 0;
}

/* --- parsing the text of the option --lfo --- */

static int refuse(const char *text, struct error *err) {
  return error_set(err, STATUS_USAGE,
                   "--lfo %.80s: PARAMETER=WAVE*AMOUNT@PERIOD, with b (beats) or s (seconds) behind the period, is "
                   "needed, and +PHASE may follow, as in strength=sine*0.2@4b+0.25",
                   text);
}

/* Reads a number at the beginning of `text`. Returns the rest of the text, or NULL if `text` does not begin with a
 * number. */
static const char *read_number(const char *text, double *number) {
  char *end;
  *number = strtod(text, &end);
  return isspace((unsigned char)*text) || end == text ? NULL : end;
}

static int set_word(struct parameters *values, enum parameter id, int number, const char *text, size_t length,
                    struct error *err) {
  char word[PARAMETER_NAME_MAX];
  snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), text);
  return parameters_parse(values, id, number, word, err);
}

/* Sets the numbers that follow the wave in the text: AMOUNT@PERIODb for a period in beats, or AMOUNT@PERIODs for one in
 * seconds; +PHASE may follow. Returns 0; 1 if the text has another form; or -1 with err set if a number is out of
 * range. */
static int set_numbers(struct parameters *values, int number, const char *rest, struct error *err) {
  double amount, period, phase = 0;
  rest = read_number(rest, &amount);
  rest = rest && *rest == '@' ? read_number(rest + 1, &period) : NULL;
  if (!rest || (*rest != 'b' && *rest != 's'))
    return 1;
  enum lfo_unit unit = *rest++ == 'b' ? LFO_BEATS : LFO_SECONDS;
  if (*rest == '+')
    rest = read_number(rest + 1, &phase);
  if (!rest || *rest)
    return 1;
  return parameters_set_number(values, PARAMETER_LFO_AMOUNT, number, amount, err) ||
                 parameters_set_number(values, PARAMETER_LFO_PERIOD, number, period, err) ||
                 parameters_set_number(values, PARAMETER_LFO_UNIT, number, unit, err) ||
                 parameters_set_number(values, PARAMETER_LFO_PHASE, number, phase, err)
             ? -1
             : 0;
}

int lfo_read(struct parameters *values, int number, const char *text, struct error *err) {
  const char *sign = strchr(text, '='), *star = sign ? strchr(sign, '*') : NULL;
  struct error why;
  enum parameter id;
  int index;
  if (!star || (size_t)(sign - text) >= PARAMETER_NAME_MAX)
    return refuse(text, err);
  int status = set_word(values, PARAMETER_LFO, number, text, (size_t)(sign - text), &why);
  if (!status)
    status = modulation_find(parameters_text(values, PARAMETER_LFO, number), &id, &index, &why);
  if (!status)
    status = set_word(values, PARAMETER_LFO_WAVE, number, sign + 1, (size_t)(star - sign - 1), &why);
  if (!status)
    status = set_numbers(values, number, star + 1, &why);
  if (status < 0)
    return error_set(err, STATUS_USAGE, "--lfo %.80s: %s", text, why.message);
  return status ? refuse(text, err) : 0;
}

int lfos_check(struct parameters *values, struct error *err) {
  enum parameter id;
  int index, status = 0;
  struct error why, ignored;
  for (int i = 1; i <= LFOS_MAX; i++) {
    const char *name = parameters_text(values, PARAMETER_LFO, i);
    if (!name || !*name || !modulation_find(name, &id, &index, &why))
      continue;
    status = error_set(err, STATUS_USAGE, "lfo[%d]: %s", i, why.message);
    parameters_set_text(values, PARAMETER_LFO, i, NULL, &ignored);
  }
  return status;
}

/* --- applying the oscillators to the parameters, frame by frame --- */

static void read_names(struct lfos *lfos, const struct parameters *values) {
  struct error ignored;
  for (int i = 0; i < LFOS_MAX; i++) {
    const char *name = parameters_text(values, PARAMETER_LFO, i + 1);
    if (!name || modulation_find(name, &lfos->entry[i].id, &lfos->entry[i].index, &ignored))
      lfos->entry[i].id = PARAMETER_NONE;
  }
  lfos->texts = values->texts;
}

bool lfos_follow(struct lfos *lfos, const struct parameters *values, const struct beats *beats, int64_t now_ns) {
  bool moves = false;
  if (lfos->texts != values->texts)
    read_names(lfos, values);
  for (int i = 0; i < LFOS_MAX; i++) {
    bool by_beat = values->lfo_unit[i] == LFO_BEATS;
    double now = by_beat ? beats_at(beats, now_ns) : (double)now_ns * 1e-9;
    double cycles = now / values->lfo_period[i] + values->lfo_phase[i] + cycle_rounding;
    bool swings = lfos->entry[i].id != PARAMETER_NONE && !(by_beat && beats->tempo <= 0);
    lfos->entry[i].offset =
        swings ? values->lfo_amount[i] * lfo_value((enum lfo_wave)values->lfo_wave[i], cycles, i) : 0;
    moves |= swings;
  }
  return moves;
}

void lfos_apply(const struct lfos *lfos, struct settings *settings) {
  for (int i = 0; i < LFOS_MAX; i++)
    if (lfos->entry[i].id != PARAMETER_NONE && lfos->entry[i].offset != 0)
      modulation_add(settings, lfos->entry[i].id, lfos->entry[i].index, lfos->entry[i].offset);
}
