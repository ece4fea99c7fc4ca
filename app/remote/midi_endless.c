#include "app/remote/midi_endless.h"

#include <stdlib.h>
#include <string.h>

enum {
  STEPS_MOST = 24, /* a value that means more steps than this does not come from an encoder of the mode in question */
  /* largest number of steps in one message while an endless encoder is turned slowly, as when a user tries it */
  SMALL_STEPS = 3,
  /* after this many movements that only endless encoders make (is_sign), ENDLESS_NOT (a knob with ends) is ruled out */
  SIGNS_ENOUGH = 2,
  /* after this many changes of the value by one in the same direction, the value counts as a position, and the knob is
   * not taken for an endless encoder any more */
  RUN_ENOUGH = 3,
  FAR = 60, /* a knob that is no endless encoder changes its value by less than this from message to message */
  EVERY_MODE = (1 << ENDLESS_MODES) - 1,
};

static const char *const words[ENDLESS_MODES] = {"absolute", "twos-complement", "sign-magnitude", "offset"};

int endless_steps(enum endless_mode mode, int value) {
  switch (mode) {
  case ENDLESS_TWOS:
    return value < 64 ? value : value - 128;
  case ENDLESS_SIGN:
    return value < 64 ? value : 64 - value;
  case ENDLESS_OFFSET:
    return value - 64;
  case ENDLESS_NOT:
  case ENDLESS_MODES:
    break;
  }
  return 0;
}

const char *endless_word(enum endless_mode mode) {
  return words[mode];
}

bool endless_find(const char *word, enum endless_mode *mode) {
  for (int i = 0; i < ENDLESS_MODES; i++)
    if (!strcmp(words[i], word)) {
      *mode = (enum endless_mode)i;
      return true;
    }
  return false;
}

/* Returns a bit (1 << mode) for each encoder mode in which the value means at least one and at most `most` steps. */
static unsigned encoders_of(int value, int most) {
  unsigned encoders = 0;
  for (int mode = ENDLESS_NOT + 1; mode < ENDLESS_MODES; mode++) {
    int steps = endless_steps((enum endless_mode)mode, value);
    encoders |= (unsigned)(steps && abs(steps) <= most) << mode;
  }
  return encoders;
}

static bool has(const struct endless *endless, enum endless_mode mode) {
  return endless->possible >> mode & 1;
}

void endless_begin(struct endless *endless, int value) {
  *endless = (struct endless){.possible = EVERY_MODE, .last = value, .last_but_one = -1};
  unsigned encoders = encoders_of(value, STEPS_MOST);
  endless->possible = encoders ? encoders | 1 << ENDLESS_NOT : 0;
}

/* True if only an encoder would send this value after the previous one. An encoder that is turned slowly sends the same
 * value again and again, and a very different one when it is turned the other way. A knob with ends changes its value
 * gradually. */
static bool is_sign(const struct endless *endless, int value) {
  unsigned small = encoders_of(value, SMALL_STEPS) & encoders_of(endless->last, SMALL_STEPS) & endless->possible;
  bool returns = value == endless->last_but_one && abs(value - endless->last) == 2 && endless->last + value == 128;
  return small && (value == endless->last || abs(value - endless->last) >= FAR || returns);
}

/* Updates the set of a knob's possible modes with one more value; called as long as ENDLESS_NOT (a knob with ends) is
 * in the set. */
static void search(struct endless *endless, int value) {
  int by = value - endless->last;
  unsigned encoders = endless->possible & encoders_of(value, STEPS_MOST);
  endless->signs += is_sign(endless, value);
  endless->run = abs(by) != 1 ? 0 : by * endless->run >= 0 ? endless->run + by : by;
  if (!encoders || abs(endless->run) >= RUN_ENOUGH)
    endless->possible = 0;
  else
    endless->possible = encoders | (unsigned)(endless->signs < SIGNS_ENOUGH) << ENDLESS_NOT;
}

/* Returns the knob's mode if it is known. Also returns a possible mode if all possible ones give the same steps for the
 * values so far: steps to the right are equal in ENDLESS_TWOS and ENDLESS_SIGN. Otherwise returns ENDLESS_NOT. */
static enum endless_mode agreed(const struct endless *endless) {
  if (has(endless, ENDLESS_NOT))
    return ENDLESS_NOT;
  if (has(endless, ENDLESS_TWOS))
    return ENDLESS_TWOS;
  if (has(endless, ENDLESS_SIGN) && has(endless, ENDLESS_OFFSET))
    return ENDLESS_NOT;
  return has(endless, ENDLESS_SIGN) ? ENDLESS_SIGN : ENDLESS_OFFSET;
}

static bool asks(struct endless *endless) {
  bool now = endless->possible && !has(endless, ENDLESS_NOT) && endless->mode == ENDLESS_NOT && !endless->asked;
  endless->asked |= now;
  return now;
}

enum endless_news endless_take(struct endless *endless, int value) {
  enum endless_mode before = endless->mode;
  if (!endless->possible)
    return ENDLESS_NOTHING;
  unsigned left = endless->possible & encoders_of(value, STEPS_MOST);
  if (has(endless, ENDLESS_NOT))
    search(endless, value);
  else if (left)
    endless->possible = left;
  endless->last_but_one = endless->last;
  endless->last = value;
  if (!endless->possible)
    return ENDLESS_NOTHING;
  endless->mode = agreed(endless);
  if (!(endless->possible & (endless->possible - 1))) /* only one mode is left in the set: it is the knob's */
    endless->possible = 0;
  return endless->mode != before ? ENDLESS_FOUND : asks(endless) ? ENDLESS_ASKS : ENDLESS_NOTHING;
}

bool endless_holds(const struct endless *endless, int value) {
  return endless->possible && endless->mode == ENDLESS_NOT &&
         (!has(endless, ENDLESS_NOT) || encoders_of(value, SMALL_STEPS) & endless->possible);
}
