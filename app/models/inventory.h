/* What the models of the catalogue are. */
#ifndef APP_MODELS_INVENTORY_H
#define APP_MODELS_INVENTORY_H

#include <stdio.h>

#include "unet/base/error.h"

/* A line each: name, family or kind, size of the weights, where; of what cannot be read, why. */
int inventory_print(FILE *out, struct error *err);

#endif
