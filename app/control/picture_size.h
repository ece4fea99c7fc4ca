/* Finds picture sizes that keep the aspect ratio of the size that was asked for. All sides are even. The functions have
 * no state. */
#ifndef APP_CONTROL_PICTURE_SIZE_H
#define APP_CONTROL_PICTURE_SIZE_H

#include <stdbool.h>

#include "app/control/parameters.h"

/* Describes the wanted size. "asked" is the size that the user asked for, in pixels. */
struct picture_size_wish {
  struct parameter_size asked;
  /* the network computes sides that are multiples of this, and the surplus is cut off; no side is shorter; 0: any */
  int multiple;
  double scale;     /* the size that is searched is `scale` times as large as `asked`, and never equal to `asked` */
  double reach;     /* the longer side may differ from asked * scale by this fraction of it */
  int floor_pixels; /* smallest allowed number of pixels (width times height); 0: no limit */
};

/* Finds the best size. Preferred are sizes whose shorter side is a multiple of wish->multiple, because then nothing of
 * the generated picture is cut off; among these, the one that is nearest in aspect ratio and size. Returns false and
 * leaves *found unchanged if there is none within reach. */
bool picture_size_find(const struct picture_size_wish *wish, struct parameter_size *found);
/* True if two sizes have the same aspect ratio, except for rounding to even sides. */
bool picture_size_alike(const struct parameter_size *a, const struct parameter_size *b);

#endif
