/* Endless encoders of MIDI: knobs without ends, whose messages say how far they were turned and not where they stand.
 * There are three usual ways to say it. Which one a knob has, and whether it is endless at all, is found out from
 * several of its moves. */
#ifndef APP_REMOTE_MIDI_ENDLESS_H
#define APP_REMOTE_MIDI_ENDLESS_H

#include <stdbool.h>

enum endless_mode {
  ENDLESS_NOT,    /* the value is a place, from 0 to 127 */
  ENDLESS_TWOS,   /* two's complement of 7 bits: 1 is a step to the right, 127 one to the left */
  ENDLESS_SIGN,   /* sign and magnitude: 1 to the right, 65 to the left */
  ENDLESS_OFFSET, /* 64 is no step: 65 to the right, 63 to the left */
  ENDLESS_MODES
};

/* Returns the steps that a value from 0 to 127 means, negative ones to the left; 0 for ENDLESS_NOT. */
int endless_steps(enum endless_mode mode, int value);

/* The mode's word in the file of bindings. */
const char *endless_word(enum endless_mode mode);
/* False: there is no mode of that word. */
bool endless_find(const char *word, enum endless_mode *mode);

/* A knob's mode, as far as it is known. Zero-initialise for one that is not endless. */
struct endless {
  enum endless_mode mode;
  unsigned possible; /* a bit a mode while others than the one above are possible; 0: it is known */
  int last, last_but_one;
  int signs; /* how many of the moves are an encoder's rather than a knob's with ends */
  int run;   /* how many of the last moves were by one, in one direction: negative to the left */
  bool asked;
};

enum endless_news {
  ENDLESS_NOTHING,
  ENDLESS_FOUND, /* the mode is another one now */
  ENDLESS_ASKS,  /* it is an encoder, and a turn the other way would tell which: said once */
};

/* The knob was just learnt, with this value: from now on its moves tell its mode. */
void endless_begin(struct endless *endless, int value);
/* One more value came. */
enum endless_news endless_take(struct endless *endless, int value);
/* True if the value may be an encoder's small step, and it is not known yet that it is none: what it asks for has to
 * wait. */
bool endless_holds(const struct endless *endless, int value);

#endif
