/* Bindings of MIDI: each knob, pad or pedal is bound to a parameter or a command. A binding is made from a received
 * message: the next knob that is moved is bound. Bindings are saved as JSON. These functions take a message and return
 * what the caller has to do; they use no thread, device or file. "Knob" stands for every control that a MIDI message
 * describes. */
#ifndef APP_REMOTE_MIDI_BIND_H
#define APP_REMOTE_MIDI_BIND_H

#include "app/remote/knob_target.h"
#include "app/remote/midi_bytes.h"
#include "app/remote/midi_endless.h"

enum knob_kind {
  KNOB_NONE,
  KNOB_CC, /* a MIDI controller whose value has 7 bits */
  /* two controllers that together send 14 bits: `number` has the upper 7 bits, number + 32 the lower 7 */
  KNOB_FINE,
  KNOB_NRPN,     /* a non-registered parameter (NRPN), 7 or 14 bits */
  KNOB_NOTE,     /* a key or pad; its velocity counts as the knob's position */
  KNOB_PROGRAM,  /* a program change message, which acts like a button */
  KNOB_PRESSURE, /* channel pressure */
  KNOB_BEND,     /* the pitch bend wheel, 14 bits */
};

struct knob {
  enum knob_kind kind;
  int channel, number; /* channel: MIDI channel, 1 to 16; number: number of the controller, note or program, from 0 */
};

struct knob_binding {
  struct knob knob;
  struct knob_target target;
  /* the parameter's values at the knob's lowest and highest position; an endless encoder changes the value within these
   * limits */
  double low, high;
  struct endless endless; /* how an endless encoder of kind KNOB_CC sends its steps */
  /* The following fields are not saved in the file of bindings; they change as the knob is used. */
  bool pressed;
  /* true: the knob may set the parameter; false: its position has not passed the parameter's value yet since the knob
   * was bound, or since something else changed that value */
  bool caught;
  double at; /* the knob's last position, 0 to 1; negative: unknown */
  /* set: the parameter's value when this knob last set it, or when the knob was bound; set_ns: the time when the
   * knob last set it (platform_now_ns) */
  double set;
  int64_t set_ns;
  /* moved_ns: the time when this knob was moved last (platform_now_ns), 0: never; heard: the position, 0 to 1, to
   * which it was moved then */
  int64_t moved_ns;
  double heard;
};

enum { KNOBS_MAX = 128, MIDI_CHANNELS = 16 };

/* All bindings, and what must be remembered from one MIDI message to the next. Initialise with zeros. One thread uses
 * it. */
struct knobs {
  struct knob_binding binding[KNOBS_MAX];
  int count;
  bool learning; /* true: the next knob that is moved is bound to `wanted` */
  /* the parameter or command to which the next knob will be bound, while `learning` is true */
  struct knob_target wanted;
  /* A 14-bit value comes in two messages. For each channel, this struct keeps what the first messages said until the
   * second ones come. */
  struct {
    uint8_t coarse[32];
    /* nrpn: upper and lower 7 bits of the number of the selected non-registered parameter; nrpn_coarse: upper 7 bits of
     * its value */
    uint8_t nrpn[2], nrpn_coarse;
    bool nrpn_chosen;
  } channel[MIDI_CHANNELS];
  struct knob learnt; /* the knob that was bound last; the next message may show that this knob sends 14 bits */
  int64_t learnt_ns;
};

enum knob_action_kind {
  KNOB_DOES_NOTHING,
  KNOB_SETS,     /* the caller sets the target's parameter to `number` */
  KNOB_RUNS,     /* the caller runs the target's command with `number` */
  KNOB_LEARNT,   /* the knob was bound to target; the caller saves the bindings */
  KNOB_ENDLESS,  /* the knob was found to be an endless encoder of this mode; the caller saves the bindings */
  KNOB_ASKS,     /* the knob is an endless encoder of unknown mode; the user must be asked to turn it in the other
                  * direction */
  KNOB_TOO_MANY, /* the knob cannot be bound, because there are KNOBS_MAX bindings already */
};

struct knob_action {
  enum knob_action_kind kind;
  struct knob knob;
  struct knob_target target;
  double number; /* the value to set, or to pass to the command; NaN: the value in the table of commands is used */
  bool waits;    /* for KNOB_LEARNT: true: the knob sets nothing until it has been moved past the parameter's value */
  enum endless_mode mode; /* for KNOB_ENDLESS: how the encoder sends its steps */
};

/* Writes the name of a knob for users, such as "cc 21 of channel 1", into `name`, and returns `name`. */
const char *knob_name(const struct knob *knob, char name[PARAMETER_NAME_MAX]);

/* Returns the position, 0 to 1, at which the knob sets its parameter to this value. */
double knob_place(const struct knob_binding *binding, double value);

/* Starts to wait for a knob: knobs_take binds the next one that is moved to `target`. target NULL: stops waiting for a
 * knob. */
void knobs_learn(struct knobs *knobs, const struct knob_target *target);

/* Handles a MIDI message. values: the present values of all parameters. now_ns: time of platform_now_ns. Returns what
 * the caller has to do. */
struct knob_action knobs_take(struct knobs *knobs, const struct midi_message *message, const struct parameters *values,
                              int64_t now_ns);

/* Describes the entries of a file of bindings that this version of the program cannot read, or that exceed
 * KNOBS_MAX. */
struct knobs_unknown {
  int count;
  /* for a message to the user: the first name of a parameter or command in the file's unreadable entries; "": none has
   * a name */
  char sets[PARAMETER_NAME_MAX];
};

/* Reads bindings from the text of a file. Entries that this version cannot read are left out and described in *unknown.
 * Returns 0, or -1 with err set and no bindings. */
int knobs_read(struct knobs *knobs, const char *text, struct knobs_unknown *unknown, struct error *err);
/* Returns the bindings as text for the bindings file; the caller frees it. `before`: the file's present text, or NULL
 * if there is no file; its entries that knobs_read cannot read are copied to the new text. Returns NULL if memory is
 * short or `before` is not JSON. */
char *knobs_write(const struct knobs *knobs, const char *before);

#endif
