/* What parameters.c, parameters_text.c and parameter_table.c share. */
#ifndef APP_CONTROL_PARAMETERS_IMPL_H
#define APP_CONTROL_PARAMETERS_IMPL_H

#include "app/control/parameters.h"

/* One row for each, at its id. */
extern const struct parameter_row parameter_table[PARAMETERS];

int parameter_check_index(enum parameter id, int index, struct error *err);
bool parameter_is_valid(const struct parameter_row *row, double number);
/* given: the value as the user wrote it. Returns -1. */
int parameter_refuse(enum parameter id, int index, const char *given, struct error *err);

/* Of a parameter that is a size. */
const struct parameter_size *parameters_size(const struct parameters *values, enum parameter id, int index);

#endif
