/* Fills the prompts that the command line does not give. They get common styles such as "oil painting", so that each of
 * the keys 1 to 9 shows something. */
#ifndef APP_CONTROL_USUAL_PROMPTS_H
#define APP_CONTROL_USUAL_PROMPTS_H

#include "app/control/parameters.h"

/* Fills each prompt after the given ones, which come first, with a common style such as "oil painting". Styles that a
 * given prompt already names are used only if no other style is left. Returns 0, or -1 with err set. */
int usual_prompts_add(struct parameters *values, struct error *err);

#endif
