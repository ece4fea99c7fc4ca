/* A picture as a PNG file named after the time. */
#ifndef APP_SNAPSHOT_H
#define APP_SNAPSHOT_H

#include "app/paths.h"
#include "unet/frame.h"

/* Writes a PIXEL_RGBA frame to reverie-YYYYMMDD-HHMMSS.png in dir (NULL: the working directory), with -2, -3... where
 * that exists: nothing is ever overwritten. path gets the name and holds PATHS_MAX characters. */
int snapshot_write(const struct frame *picture, const char *dir, char *path, struct error *err);

#endif
