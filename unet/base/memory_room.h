/* How much memory this process may have on Linux: what the machine could give away, and what the limits of its control
 * groups leave of that. */
#ifndef UNET_BASE_MEMORY_ROOM_H
#define UNET_BASE_MEMORY_ROOM_H

#include <stddef.h>

/* Bytes; 0: not known. What is free counts files that the system keeps in memory and can drop. root: "", or a folder
 * that stands for the system's. */
void memory_room(const char *root, size_t *total, size_t *available);

#endif
