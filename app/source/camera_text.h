/* Prints the list of cameras for --list-devices. */
#ifndef APP_SOURCE_CAMERA_TEXT_H
#define APP_SOURCE_CAMERA_TEXT_H

#include <stdio.h>

#include "app/source/camera.h"

/* Prints each camera that `look` (camera.h) finds: its formats, sizes and rates, and the mode that would be chosen for
 * the size and rate in *wish. If a camera cannot be used, prints the reason instead. */
void camera_print_all(FILE *out, camera_look *look, const struct camera_wish *wish);

#endif
