/* Applies the value of an option. */
#ifndef APP_OPTIONS_OPTION_VALUES_H
#define APP_OPTIONS_OPTION_VALUES_H

#include "app/options/options_table.h"

/* Sets err to a mistake in the command line, with STATUS_USAGE. Returns -1. */
PRINTF_LIKE(2, 3) int usage_error(struct error *err, const char *format, ...);

/* Parses text and stores the result in options or request. text is ignored if the option takes no value. */
int option_apply(const struct option *option, struct options *options, struct options_request *request,
                 const char *text, struct error *err);

#endif
