/* Endless encoders of MIDI: knobs without ends, whose messages tell how far they were turned and not where they stand.
 * There are three usual encodings. Which one a knob has, and if it is endless at all, is found out from several of its
 * movements. */
#ifndef APP_REMOTE_MIDI_ENDLESS_H
#define APP_REMOTE_MIDI_ENDLESS_H

#include <stdbool.h>

enum endless_mode {
  ENDLESS_NOT,    /* the value is a position, from 0 to 127 */
  ENDLESS_TWOS,   /* two's complement of 7 bits: 1 is a step to the right, 127 one to the left */
  ENDLESS_SIGN,   /* sign and magnitude: 1 to the right, 65 to the left */
  ENDLESS_OFFSET, /* 64 is no step: 65 to the right, 63 to the left */
  ENDLESS_MODES
};

/* Returns the steps that a value from 0 to 127 means, negative ones to the left; 0 for ENDLESS_NOT. */
int endless_steps(enum endless_mode mode, int value);

/* Returns the word for a mode in the file of bindings. */
const char *endless_word(enum endless_mode mode);
/* Finds the mode of a word. Returns false if there is none. */
bool endless_find(const char *word, enum endless_mode *mode);

/* Mode of a knob, as far as its movements have shown it. Zeros: a knob that is not endless. */
struct endless {
  enum endless_mode mode;
  unsigned possible; /* modes that are still possible, a bit for each; 0: the mode is known */
  int last, last_but_one;
  int signs; /* number of movements that an encoder makes and a knob with ends does not */
  int run;   /* number of the last movements by one in the same direction; negative: to the left */
  bool asked;
};

enum endless_news {
  ENDLESS_NOTHING,
  ENDLESS_FOUND, /* the mode has changed */
  ENDLESS_ASKS,  /* the knob is an encoder, and a turn the other way would tell its mode; returned once */
};

/* Begins to look for the mode of a knob that was just bound, with this value. */
void endless_begin(struct endless *endless, int value);
/* Takes one more value. */
enum endless_news endless_take(struct endless *endless, int value);
/* True if the value may be a small step of an encoder and this is not yet ruled out. The caller then does not act on it
 * yet. */
bool endless_holds(const struct endless *endless, int value);

#endif
