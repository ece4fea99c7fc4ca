/* Bindings of MIDI: each knob, pad or pedal is bound to a parameter or a command. They are made from received messages
 * (the next moved knob is bound) and are saved as JSON. These functions take a message and return what the caller has
 * to do; they use no thread, device or file. "Knob" stands for every control that a MIDI message describes. */
#ifndef APP_REMOTE_MIDI_BIND_H
#define APP_REMOTE_MIDI_BIND_H

#include "app/remote/knob_target.h"
#include "app/remote/midi_bytes.h"
#include "app/remote/midi_endless.h"

enum knob_kind {
  KNOB_NONE,
  KNOB_CC,       /* a controller with 7 bits */
  KNOB_FINE,     /* the controllers number and number + 32 together, 14 bits */
  KNOB_NRPN,     /* a non-registered parameter (NRPN), 7 or 14 bits */
  KNOB_NOTE,     /* a key or pad; the velocity is the position */
  KNOB_PROGRAM,  /* a program change, which acts like a button */
  KNOB_PRESSURE, /* channel pressure */
  KNOB_BEND,     /* the pitch bend wheel, 14 bits */
};

struct knob {
  enum knob_kind kind;
  int channel, number; /* channel: 1 to 16; number: that of the controller, note or program, from 0 */
};

struct knob_binding {
  struct knob knob;
  struct knob_target target;
  /* the parameter's values at the lowest and highest position; an endless encoder stops at them, too */
  double low, high;
  struct endless endless; /* how an endless encoder of kind KNOB_CC sends its steps */
  /* State of the running program, which is not saved. */
  bool pressed;
  /* the knob has passed the parameter's value since it was bound or the value was changed otherwise, and may set it */
  bool caught;
  double at;  /* the last position, 0 to 1; negative: unknown */
  double set; /* the value that this knob set last, and the time (platform_now_ns) */
  int64_t set_ns;
};

enum { KNOBS_MAX = 128, MIDI_CHANNELS = 16 };

/* Bindings and the state of reading messages. Initialise with zeros. One thread uses it. */
struct knobs {
  struct knob_binding binding[KNOBS_MAX];
  int count;
  bool learning;             /* the next knob that is moved is bound to `wanted` */
  struct knob_target wanted; /* the target of the next binding, while learning is true */
  /* For each channel, what is known of values with 14 bits whose second message has not come yet. */
  struct {
    uint8_t coarse[32];
    uint8_t nrpn[2], nrpn_coarse; /* the selected non-registered parameter, and the upper 7 bits of its value */
    bool nrpn_chosen;
  } channel[MIDI_CHANNELS];
  struct knob learnt; /* the knob that was bound last; a following message may show that it has 14 bits */
  int64_t learnt_ns;
};

enum knob_action_kind {
  KNOB_DOES_NOTHING,
  KNOB_SETS,     /* the caller sets the target's parameter to `number` */
  KNOB_RUNS,     /* the caller runs the target's command with `number` */
  KNOB_LEARNT,   /* the knob was bound to target; the caller saves the bindings */
  KNOB_ENDLESS,  /* the knob was found to be an endless encoder of this mode; the caller saves the bindings */
  KNOB_ASKS,     /* the knob is an endless encoder of unknown mode; the caller asks the user to turn it the other way */
  KNOB_TOO_MANY, /* the knob cannot be bound, because there are KNOBS_MAX bindings already */
};

struct knob_action {
  enum knob_action_kind kind;
  struct knob knob;
  struct knob_target target;
  double number; /* the value to set, or to pass to the command; NaN: the value in the table of commands */
  bool waits;    /* for KNOB_LEARNT: the knob sets nothing until it has been moved past the parameter's value */
  enum endless_mode mode; /* for KNOB_ENDLESS */
};

/* Writes a knob for people, such as "cc 21 of channel 1". Returns name. */
const char *knob_name(const struct knob *knob, char name[PARAMETER_NAME_MAX]);

/* Binds the next knob that is moved to target. NULL: stops waiting for a knob. */
void knobs_learn(struct knobs *knobs, const struct knob_target *target);

/* Handles a message. values: the present values of all parameters. now_ns: platform_now_ns. Returns what the caller has
 * to do. */
struct knob_action knobs_take(struct knobs *knobs, const struct midi_message *message, const struct parameters *values,
                              int64_t now_ns);

/* Entries of a file of bindings that this version of the program cannot read. */
struct knobs_unknown {
  int count;
  /* the name of the first one's target, for a message; "": the entries name none */
  char sets[PARAMETER_NAME_MAX];
};

/* Reads bindings from the text of a file. Entries that this version cannot read are left out and described in *unknown.
 * Returns 0, or -1 with err set; then there are no bindings. */
int knobs_read(struct knobs *knobs, const char *text, struct knobs_unknown *unknown, struct error *err);
/* Returns the bindings as text for the file; the caller frees it. before: the present text of the file, from which
 * entries that knobs_read cannot read are copied; NULL: there is no file. Returns NULL if memory is short. */
char *knobs_write(const struct knobs *knobs, const char *before);

#endif
