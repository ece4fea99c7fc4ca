/* What the user may change while live runs: keys edit it, the engine thread follows it. */
#ifndef APP_CONTROL_SETTINGS_H
#define APP_CONTROL_SETTINGS_H

#include <stdbool.h>

#include "app/control/fade.h"

/* What the user may change at any time; the engine thread takes a copy before each frame. */
struct loop_settings {
  struct controls controls; /* prompt, prompt_to and blend come from fade */
  struct fade fade;
  int steps;       /* 0: as the engine was opened */
  bool paused;     /* no new frames; the last one is done again when a control changes */
  bool want_input; /* pictures come with the frame they were made from */
};

#endif
