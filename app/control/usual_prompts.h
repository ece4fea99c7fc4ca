/* Fills the prompts that the command line leaves out with usual styles, so that each of the keys 1 to 9 shows
 * something. */
#ifndef APP_CONTROL_USUAL_PROMPTS_H
#define APP_CONTROL_USUAL_PROMPTS_H

#include "app/control/parameters.h"

/* Sets each prompt behind the given ones, which are the first, to a usual style. Styles that a given prompt already
 * names are used only if no other is left. Returns 0, or -1 with err set. */
int usual_prompts_add(struct parameters *values, struct error *err);

#endif
