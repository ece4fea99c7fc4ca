/* The target of a MIDI knob: the parameter that it sets or the command that it runs, found by name. */
#ifndef APP_REMOTE_KNOB_TARGET_H
#define APP_REMOTE_KNOB_TARGET_H

#include "app/control/keys.h"

struct knob_target {
  enum parameter id;                   /* the parameter that the knob sets; PARAMETER_NONE: it runs a command */
  int index;                           /* instance of the parameter, from 1; 0: it has none */
  const struct command_entry *command; /* the command that the knob runs; NULL: it sets a parameter */
  double value; /* the value with which the command is run; NaN: the value in the table of commands is used */
};

/* Finds a knob's target by its name: a parameter ("strength", "lora[1].weight") or a command, with "=NUMBER" if it
 * takes a number ("new-seed", "prompt=3"). If both exist, such as help, "help" is the parameter and "command/help" the
 * command. Returns 0, or -1 with err set if there is no such name, or a knob cannot set it. */
int knob_target_find(struct knob_target *target, const char *text, struct error *err);
/* Writes the target's name in the form that knob_target_find reads. Returns name. */
const char *knob_target_name(const struct knob_target *target, char name[PARAMETER_NAME_MAX]);
#endif
