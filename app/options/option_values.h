/* What is done with an option's value. */
#ifndef APP_OPTIONS_OPTION_VALUES_H
#define APP_OPTIONS_OPTION_VALUES_H

#include "app/options/options_table.h"

/* What is wrong with the command line, as STATUS_USAGE; returns -1. */
PRINTF_LIKE(2, 3) int usage_error(struct error *err, const char *format, ...);

/* Reads the option's text into its place in the options or the request; text is not used where it takes none. */
int option_apply(const struct option *option, struct options *options, struct options_request *request,
                 const char *text, struct error *err);

#endif
