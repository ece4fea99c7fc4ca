/* The order in which windows and pages list parameters, from the columns `group`, `order` and `rank` of the table of
 * parameters. Any thread may call these functions. */
#ifndef APP_CONTROL_PARAMETER_ORDER_H
#define APP_CONTROL_PARAMETER_ORDER_H

#include "app/control/parameters.h"

/* Returns the heading of a group, such as "Picture". */
const char *parameter_group_label(enum parameter_group group);
/* Stores all parameters in `ids`, sorted by group and, within a group, by parameter_row.order. Returns their number. */
int parameters_in_order(enum parameter ids[PARAMETERS]);
/* Stores the parameters that have a rank, those that matter most first. Returns their number. */
int parameters_by_rank(enum parameter ids[PARAMETERS]);

#endif
