/* What a knob can be bound to, by its name. */
#ifndef APP_REMOTE_KNOB_TARGET_H
#define APP_REMOTE_KNOB_TARGET_H

#include "app/control/keys.h"

struct knob_target {
  enum parameter id; /* PARAMETER_NONE: the command */
  int index;
  const struct command_entry *command; /* NULL: the parameter */
  double value;                        /* for the command; NaN: its own */
};

/* From a name of the table or of a command: "strength", "lora[1].weight", "new-seed", "prompt=3" (a command and its
 * number); what both have is the parameter, "command/help" the command. Refuses what no knob can set. */
int knob_target_find(struct knob_target *target, const char *text, struct error *err);
/* What knob_target_find takes back. */
const char *knob_target_name(const struct knob_target *target, char name[PARAMETER_NAME_MAX]);
#endif
