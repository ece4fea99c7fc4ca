/* What knobs, pads and pedals of MIDI do: each is bound to a parameter or a command, learns what it is bound to, and is
 * kept in a text. Messages go in and what is to be done comes out: no thread, no device, no file. A knob is whatever
 * is moved or struck. */
#ifndef APP_REMOTE_MIDI_BIND_H
#define APP_REMOTE_MIDI_BIND_H

#include "app/remote/knob_target.h"
#include "app/remote/midi_bytes.h"
#include "app/remote/midi_endless.h"

enum knob_kind {
  KNOB_NONE,
  KNOB_CC,   /* a controller of 7 bits */
  KNOB_FINE, /* the controllers number and number + 32, 14 bits */
  KNOB_NRPN, /* a non-registered parameter, 7 or 14 bits */
  KNOB_NOTE,
  KNOB_PROGRAM, /* one program, as a button */
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
  double low, high;       /* the values at its ends, or that an endless encoder goes to */
  struct endless endless; /* of a KNOB_CC */
  /* How it is now */
  bool pressed;
  bool caught; /* the parameter has its value: moving it makes no jump */
  double at;   /* where it was last, 0 to 1; negative: not known */
  double set;  /* what it set last, and when */
  int64_t set_ns;
};

enum { KNOBS_MAX = 128, MIDI_CHANNELS = 16 };

/* Zero-initialise to start. */
struct knobs {
  struct knob_binding binding[KNOBS_MAX];
  int count;
  bool learning;
  struct knob_target wanted; /* while learning */
  /* What comes in two halves, for each channel */
  struct {
    uint8_t coarse[32];
    uint8_t nrpn[2], nrpn_coarse; /* number, upper half first */
    bool nrpn_chosen;
  } channel[MIDI_CHANNELS];
  struct knob learnt; /* the last one learnt, which may turn out to be the upper half of a pair */
  int64_t learnt_ns;
};

enum knob_action_kind {
  KNOB_DOES_NOTHING,
  KNOB_SETS,
  KNOB_RUNS,
  KNOB_LEARNT,   /* is bound now to target: bindings have changed */
  KNOB_ENDLESS,  /* is an endless encoder of this mode, as its moves have told: bindings have changed */
  KNOB_ASKS,     /* is an endless encoder, and is to be turned the other way, too, to tell of which mode */
  KNOB_TOO_MANY, /* cannot be learnt */
};

struct knob_action {
  enum knob_action_kind kind;
  struct knob knob;
  struct knob_target target;
  double number; /* to set, or for the command; NaN: the command's own */
  bool waits;    /* KNOB_LEARNT: it sets nothing before it comes by the value that is set */
  enum endless_mode mode;
};

/* "cc 21 of channel 1" */
const char *knob_name(const struct knob *knob, char name[PARAMETER_NAME_MAX]);

/* The next knob that is moved is bound to target; NULL: none is. */
void knobs_learn(struct knobs *knobs, const struct knob_target *target);

/* What a message asks for, with the values as they are now. */
struct knob_action knobs_take(struct knobs *knobs, const struct midi_message *message, const struct parameters *values,
                              int64_t now_ns);

/* Bindings that say nothing to this version. */
struct knobs_unknown {
  int count;
  char sets[PARAMETER_NAME_MAX]; /* what the first of them is to set, as far as it says; "": none does */
};

/* Reads bindings from a text of knobs_write. What is there of another version is left out. On failure there
 * are none. */
int knobs_read(struct knobs *knobs, const char *text, struct knobs_unknown *unknown, struct error *err);
/* The bindings as a text, with what knobs_read left out of the text before (NULL: none) still in it. The caller frees
 * it; NULL: no memory. */
char *knobs_write(const struct knobs *knobs, const char *before);

#endif
