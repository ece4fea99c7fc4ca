/* Prints the list of the models that are on this machine (catalog.h finds them). */
#ifndef APP_MODELS_INVENTORY_H
#define APP_MODELS_INVENTORY_H

#include <stdio.h>

#include "unet/base/error.h"

/* Prints a line for each model: name, family or kind, size of the weights, and path; or, if the model cannot be read,
 * the reason. Returns 0, or -1 with err. */
int inventory_print(FILE *out, struct error *err);

#endif
