/* Declarations that parameters.c, parameters_text.c and parameter_table.c share. */
#ifndef APP_CONTROL_PARAMETERS_IMPL_H
#define APP_CONTROL_PARAMETERS_IMPL_H

#include "app/control/parameters.h"

/* The table of parameters, indexed by enum parameter. */
extern const struct parameter_row parameter_table[PARAMETERS];

/* Returns 0 if the parameter has the instance `index`, otherwise -1 with err set. */
int parameter_check_index(enum parameter id, int index, struct error *err);
/* Returns true if the number is within the parameter's range and of its type, such as an integer for TYPE_WHOLE. */
bool parameter_is_valid(const struct parameter_row *row, double number);
/* Sets err to a message that names the parameter and the values that it accepts. given: the refused value as the user
 * wrote it. Returns -1. */
int parameter_refuse(enum parameter id, int index, const char *given, struct error *err);

/* Returns the value of a parameter whose type is TYPE_SIZE. */
const struct parameter_size *parameters_size(const struct parameters *values, enum parameter id, int index);

#endif
