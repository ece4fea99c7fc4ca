/* Sizes of pictures that keep the shape of the one that was asked for. Sides are even. Pure. */
#ifndef APP_CONTROL_PICTURE_SIZE_H
#define APP_CONTROL_PICTURE_SIZE_H

#include <stdbool.h>

#include "app/control/parameters.h"

struct picture_size_wish {
  struct parameter_size asked;
  int multiple;     /* the engine's, of the sides that its networks make whole; no side is shorter. 0: any will do */
  double scale;     /* the found size is near this part of what was asked for, and is another one */
  double reach;     /* and no further from it than this part of itself */
  int floor_pixels; /* and has no fewer pixels; 0: any number */
};

/* Finds the best size. Those whose shorter side is a multiple come first, as nothing of that side is made in vain; then
 * those that keep the shape best and lie nearest. False, with *found as it was: there is none. */
bool picture_size_find(const struct picture_size_wish *wish, struct parameter_size *found);
/* Whether two sizes have the same shape, as far as the smaller one's even sides let it. */
bool picture_size_alike(const struct parameter_size *a, const struct parameter_size *b);

#endif
