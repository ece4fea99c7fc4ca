/* The list of cameras as people read it. */
#ifndef APP_SOURCE_CAMERA_TEXT_H
#define APP_SOURCE_CAMERA_TEXT_H

#include <stdio.h>

#include "app/source/camera.h"

/* A line or more for each that look finds: its formats, sizes and rates, what would be chosen for the wish, or why it
 * cannot be had. */
void camera_print_all(FILE *out, camera_look *look, const struct camera_wish *wish);

#endif
