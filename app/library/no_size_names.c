/* The library knows no names of sizes such as "hd720", because their list is part of FFmpeg, which the library does not
 * use. */
#include "app/control/size_names.h"

bool size_by_name(const char *name, int *width, int *height) {
  (void)name, (void)width, (void)height;
  return false;
}
