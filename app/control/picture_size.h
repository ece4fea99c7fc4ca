/* Finds sizes of pictures that keep the shape of the size that was asked for. Sides are even. The functions have no
 * state. */
#ifndef APP_CONTROL_PICTURE_SIZE_H
#define APP_CONTROL_PICTURE_SIZE_H

#include <stdbool.h>

#include "app/control/parameters.h"

struct picture_size_wish {
  struct parameter_size asked;
  int multiple;     /* the networks make sides that are multiples of this; no side is shorter. 0: any side will do */
  double scale;     /* the size found is near asked times this, and is not asked itself */
  double reach;     /* the longer side differs from that by at most this part of it */
  int floor_pixels; /* least number of pixels; 0: any number */
};

/* Finds the best size. Sizes whose shorter side is a multiple are preferred, because no part of them is made and cut
 * off; then those that keep the shape best and lie nearest. Returns false and leaves *found as it is if there is
 * none. */
bool picture_size_find(const struct picture_size_wish *wish, struct parameter_size *found);
/* Returns true if two sizes have the same shape, as closely as even sides allow. */
bool picture_size_alike(const struct parameter_size *a, const struct parameter_size *b);

#endif
