/* Parses the value of a command-line option and stores it. */
#ifndef APP_OPTIONS_OPTION_VALUES_H
#define APP_OPTIONS_OPTION_VALUES_H

#include "app/options/options_table.h"

/* Fills err with a message about a mistake in the command line, and STATUS_USAGE. Returns -1. */
PRINTF_LIKE(2, 3) int usage_error(struct error *err, const char *format, ...);

/* Parses the text that was given as the option's value, and stores the result in `options` or `request`. `text` is
 * ignored if the option takes no value; of a switch it is "yes" or "no", or NULL, which means yes. Returns 0, or -1
 * with err. */
int option_apply(const struct option *option, struct options *options, struct options_request *request,
                 const char *text, struct error *err);

#endif
