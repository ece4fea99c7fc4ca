/* Endless encoders: MIDI knobs without ends. Their values tell by how many steps they were turned, and not a position.
 * There are three usual encodings (modes). The functions find out from several values if a knob is an encoder, and of
 * which mode. */
#ifndef APP_REMOTE_MIDI_ENDLESS_H
#define APP_REMOTE_MIDI_ENDLESS_H

#include <stdbool.h>

enum endless_mode {
  ENDLESS_NOT,    /* the value is a position, from 0 to 127 */
  ENDLESS_TWOS,   /* two's complement of 7 bits: 1 is a step to the right, 127 one to the left */
  ENDLESS_SIGN,   /* sign and magnitude: 1 is a step to the right, 65 one to the left */
  ENDLESS_OFFSET, /* 64 is no step, 65 one to the right, 63 one to the left */
  ENDLESS_MODES
};

/* Returns the number of steps that a value (0 to 127) means, negative to the left; 0 for ENDLESS_NOT. */
int endless_steps(enum endless_mode mode, int value);

/* Returns the word that stands for a mode in the file of bindings, a string constant. */
const char *endless_word(enum endless_mode mode);
/* Finds the mode that a word stands for. Returns false if the word is unknown. */
bool endless_find(const char *word, enum endless_mode *mode);

/* What is known of a knob's mode. Zeros: the knob is not endless, and no further values are examined. */
struct endless {
  enum endless_mode mode;
  unsigned possible;      /* set of the modes that are still possible (bit 1 << mode); 0: the mode is final */
  int last, last_but_one; /* the last two values, 0 to 127; -1: there was none */
  int signs;              /* number of values so far that only an encoder would send */
  int run;    /* how many times in a row the value has changed by one in the same direction; negative: downwards */
  bool asked; /* ENDLESS_ASKS was returned */
};

enum endless_news {
  ENDLESS_NOTHING,
  ENDLESS_FOUND, /* endless->mode has changed */
  /* the knob is an encoder, but its mode is known only after a turn the other way; returned once for each knob */
  ENDLESS_ASKS,
};

/* Begins to look for the mode of a knob that was bound just now. value: the one it sent then. */
void endless_begin(struct endless *endless, int value);
/* Examines one more value. Returns what is new. */
enum endless_news endless_take(struct endless *endless, int value);
/* True if the value may be a step of an encoder while the mode is not known. The caller then must not use it as a
 * position. */
bool endless_holds(const struct endless *endless, int value);

#endif
