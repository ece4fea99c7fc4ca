/* The target of a knob, to which it is bound: a parameter or a command, found by its name. */
#ifndef APP_REMOTE_KNOB_TARGET_H
#define APP_REMOTE_KNOB_TARGET_H

#include "app/control/keys.h"

struct knob_target {
  enum parameter id; /* the parameter; PARAMETER_NONE: the target is the command */
  int index;
  const struct command_entry *command; /* NULL: the target is the parameter */
  double value;                        /* value for the command; NaN: its own */
};

/* Finds the target of a name: a parameter ("strength", "lora[1].weight"), or a command, with a number if it takes one
 * ("new-seed", "prompt=3"). A name that both have is the parameter's; "command/help" is the command's. Returns -1 with
 * err set if there is none or a knob cannot set it. */
int knob_target_find(struct knob_target *target, const char *text, struct error *err);
/* Prints the name that knob_target_find reads. Returns name. */
const char *knob_target_name(const struct knob_target *target, char name[PARAMETER_NAME_MAX]);
#endif
