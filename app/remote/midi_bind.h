/* Bindings of MIDI: each knob, pad or pedal is bound to a parameter or a command. Bindings are learnt from messages,
 * and are saved as text. These functions take a message and return what is to be done: they have no thread, device or
 * file. "Knob" stands for everything that is moved or struck. */
#ifndef APP_REMOTE_MIDI_BIND_H
#define APP_REMOTE_MIDI_BIND_H

#include "app/remote/knob_target.h"
#include "app/remote/midi_bytes.h"
#include "app/remote/midi_endless.h"

enum knob_kind {
  KNOB_NONE,
  KNOB_CC,   /* a controller with 7 bits */
  KNOB_FINE, /* the controllers number and number + 32 together, 14 bits */
  KNOB_NRPN, /* a non-registered parameter, 7 or 14 bits */
  KNOB_NOTE,
  KNOB_PROGRAM, /* a program change, which acts like a button */
  KNOB_PRESSURE,
  KNOB_BEND,
};

struct knob {
  enum knob_kind kind;
  int channel, number;
};

struct knob_binding {
  struct knob knob;
  struct knob_target target;
  double low, high;       /* the values at the ends of its range; an encoder stops there, too */
  struct endless endless; /* mode of an encoder, for KNOB_CC only */
  /* The present state; it is not saved. */
  bool pressed;
  bool caught; /* the knob has reached the parameter's value, so that moving it makes no jump */
  double at;   /* last position, 0 to 1; negative: not known */
  double set;  /* the value that it set last, and when */
  int64_t set_ns;
};

enum { KNOBS_MAX = 128, MIDI_CHANNELS = 16 };

/* Initialise with zeros. */
struct knobs {
  struct knob_binding binding[KNOBS_MAX];
  int count;
  bool learning;
  struct knob_target wanted; /* the target, while learning */
  /* The first halves of values with 14 bits, for each channel. */
  struct {
    uint8_t coarse[32];
    uint8_t nrpn[2], nrpn_coarse; /* number of the parameter, upper half first */
    bool nrpn_chosen;
  } channel[MIDI_CHANNELS];
  struct knob learnt; /* the knob that was bound last; it may turn out to be the upper half of a pair */
  int64_t learnt_ns;
};

enum knob_action_kind {
  KNOB_DOES_NOTHING,
  KNOB_SETS,
  KNOB_RUNS,
  KNOB_LEARNT,   /* the knob is now bound to target; the bindings have changed */
  KNOB_ENDLESS,  /* the knob's movements show that it is an encoder of this mode; the bindings have changed */
  KNOB_ASKS,     /* the knob is an encoder, and its mode will be known once it is turned the other way, too */
  KNOB_TOO_MANY, /* the knob cannot be bound, because there are KNOBS_MAX bindings */
};

struct knob_action {
  enum knob_action_kind kind;
  struct knob knob;
  struct knob_target target;
  double number; /* the number to set or to pass to the command; NaN: the command's own */
  bool waits;    /* KNOB_LEARNT: the knob sets nothing until it reaches the parameter's value */
  enum endless_mode mode;
};

/* Prints a knob as in "cc 21 of channel 1". Returns name. */
const char *knob_name(const struct knob *knob, char name[PARAMETER_NAME_MAX]);

/* The next knob that moves will be bound to target; NULL: learning ends. */
void knobs_learn(struct knobs *knobs, const struct knob_target *target);

/* Handles a message. values: the present values. Returns what the caller has to do. */
struct knob_action knobs_take(struct knobs *knobs, const struct midi_message *message, const struct parameters *values,
                              int64_t now_ns);

/* Bindings in a file that this version cannot read. */
struct knobs_unknown {
  int count;
  /* the target of the first of them, if the file names one; "": none of them names one */
  char sets[PARAMETER_NAME_MAX];
};

/* Reads bindings from the text of a file. Bindings that this version cannot read are left out and counted in *unknown.
 * On failure there are no bindings. */
int knobs_read(struct knobs *knobs, const char *text, struct knobs_unknown *unknown, struct error *err);
/* Returns the bindings as the text of a file. before: the file's text until now; entries that knobs_read cannot read
 * are copied from it. NULL: there was none. The caller frees the text. NULL: no memory. */
char *knobs_write(const struct knobs *knobs, const char *before);

#endif
