/* Finds sizes by the names that FFmpeg knows, such as "vga" or "hd720". The C library of this project, which does
 * without FFmpeg, knows no such names (app/library/no_size_names.c). */
#ifndef APP_CONTROL_SIZE_NAMES_H
#define APP_CONTROL_SIZE_NAMES_H

#include <stdbool.h>

/* Stores the size in pixels that has this name. Returns false if no size has the name. */
bool size_by_name(const char *name, int *width, int *height);

#endif
