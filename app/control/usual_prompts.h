/* The prompts of the numbers that the command line gives none for. */
#ifndef APP_CONTROL_USUAL_PROMPTS_H
#define APP_CONTROL_USUAL_PROMPTS_H

#include "app/control/parameters.h"

/* Keeps the prompts that are there, which are the first ones, and gives each number behind them a usual style. A style
 * that one of these prompts asks for already is used only where no other is left. */
int usual_prompts_add(struct parameters *values, struct error *err);

#endif
