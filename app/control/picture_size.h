/* Finds picture sizes that have the aspect ratio of the size that the user asked for. All sides are even. The functions
 * have no state. */
#ifndef APP_CONTROL_PICTURE_SIZE_H
#define APP_CONTROL_PICTURE_SIZE_H

#include <stdbool.h>

#include "app/control/parameters.h"

/* The picture size that picture_size_find looks for. asked: the size that the user asked for, in pixels. */
struct picture_size_wish {
  struct parameter_size asked;
  /* The network computes sides that are multiples of this number, and the surplus is cut off. No side of the size found
   * is shorter than this number. 0: any size is possible. */
  int multiple;
  /* picture_size_find looks for a size whose sides are `scale` times those of `asked`; it never returns `asked`
   * itself */
  double scale;
  /* largest difference between the longer side of the size found and `scale` times that of `asked`, as a fraction of
   * the latter */
  double reach;
  int floor_pixels; /* smallest allowed number of pixels (width times height); 0: no limit */
};

/* Finds the best size. Sizes whose shorter side is a multiple of wish->multiple are preferred, because then nothing of
 * the picture is cut off. Among these, the nearest in aspect ratio and size is chosen. Returns false, with *found
 * unchanged, if the longer side of every size differs from the wanted one by more than the fraction wish->reach. */
bool picture_size_find(const struct picture_size_wish *wish, struct parameter_size *found);
/* Returns true if two sizes have the same aspect ratio, except for rounding to even sides. */
bool picture_size_alike(const struct parameter_size *a, const struct parameter_size *b);

#endif
