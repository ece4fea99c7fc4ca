/* Prints the models of the catalogue. */
#ifndef APP_MODELS_INVENTORY_H
#define APP_MODELS_INVENTORY_H

#include <stdio.h>

#include "unet/base/error.h"

/* Prints a line for each model: name, family or kind, size of the weights, and path; or the reason why it cannot be
 * read. Returns 0, or -1 with err. */
int inventory_print(FILE *out, struct error *err);

#endif
