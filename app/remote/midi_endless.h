/* Endless encoders: MIDI knobs that turn without end. They send by how many steps they were turned, not a position.
 * Three encodings (modes) are usual. From several values of a knob, the functions find out if it is an endless encoder,
 * and its mode. */
#ifndef APP_REMOTE_MIDI_ENDLESS_H
#define APP_REMOTE_MIDI_ENDLESS_H

#include <stdbool.h>

enum endless_mode {
  ENDLESS_NOT,    /* the knob has ends, and its value is a position from 0 to 127 */
  ENDLESS_TWOS,   /* two's complement of 7 bits: 1 is a step to the right, 127 one to the left */
  ENDLESS_SIGN,   /* sign and magnitude: 1 is a step to the right, 65 one to the left */
  ENDLESS_OFFSET, /* offset: 64 means no step, 65 a step to the right, 63 one to the left */
  ENDLESS_MODES
};

/* Returns the number of steps that an endless encoder's value (0 to 127) means in this mode, negative to the left; 0
 * for ENDLESS_NOT. */
int endless_steps(enum endless_mode mode, int value);

/* Returns the word that stands for a mode in the file of bindings, a string constant. */
const char *endless_word(enum endless_mode mode);
/* Finds the mode (encoding of steps) for which a word stands in the file of bindings. Returns false if the word is
 * unknown. */
bool endless_find(const char *word, enum endless_mode *mode);

/* What is known about how a knob encodes turns (its mode). Zeros: it is known that the knob has ends (ENDLESS_NOT), so
 * the values that it sends are not examined any more. */
struct endless {
  enum endless_mode mode;
  /* set of the modes that the knob may still have (bit 1 << mode); 0: the knob's mode is known for certain */
  unsigned possible;
  int last, last_but_one; /* the last two values that the knob has sent, 0 to 127; -1: there was none */
  int signs;              /* number of values received so far that only an endless encoder would send */
  int run;    /* how many times in a row the value has changed by one in the same direction; negative: downwards */
  bool asked; /* true: endless_take has returned ENDLESS_ASKS, so that the user was asked to turn the knob back */
};

enum endless_news {
  ENDLESS_NOTHING,
  ENDLESS_FOUND, /* the knob's mode (endless->mode) is another one than before */
  /* the knob is an endless encoder whose mode is known only after the user turns it in the other direction; returned
   * once for each knob */
  ENDLESS_ASKS,
};

/* Begins to find out the mode of a knob that was bound just now. value: the value that the knob sent when it was
 * bound. */
void endless_begin(struct endless *endless, int value);
/* Examines one more value of the knob, and returns what it shows about the knob's mode. */
enum endless_news endless_take(struct endless *endless, int value);
/* True if the knob's mode is not known and the value may be a step of an endless encoder. The caller then must not use
 * the value as a position. */
bool endless_holds(const struct endless *endless, int value);

#endif
