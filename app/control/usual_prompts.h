/* Gives usual prompts to the numbers for which the command line has none. */
#ifndef APP_CONTROL_USUAL_PROMPTS_H
#define APP_CONTROL_USUAL_PROMPTS_H

#include "app/control/parameters.h"

/* Keeps the prompts that are given, which are the first ones, and gives each number behind them a usual style. A style
 * that one of the given prompts asks for already is used only if no other is left. */
int usual_prompts_add(struct parameters *values, struct error *err);

#endif
