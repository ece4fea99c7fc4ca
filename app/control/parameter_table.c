/* Defines the array of which parameter_row returns entries, from the rows in parameter_table.h. */
#include "app/control/parameters_impl.h"
#include "app/source/playlist.h"
#include "unet/base/guidance.h"
#include "unet/base/maps.h"
#include "unet/base/samplers.h"

#define ONE(field) .offset = offsetof(struct parameters, field), .size = sizeof(((struct parameters *)0)->field)
#define EACH(field, number)                                                                                            \
  .first = 1, .count = (number), .offset = offsetof(struct parameters, field),                                         \
  .size = sizeof(*((struct parameters *)0)->field)

const struct parameter_row parameter_table[PARAMETERS] = {
#define PARAMETER(TYPE, ID, NAME, NEED, GROUP, LABEL, ...)                                                             \
  [PARAMETER_##ID] = {NAME, TYPE_##TYPE, NEED_##NEED, .group = PARAMETER_GROUP_##GROUP, .label = (LABEL), __VA_ARGS__},
#include "app/control/parameter_table.h"
};
