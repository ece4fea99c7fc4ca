/* The memory that this process may use on Linux: the machine's, within the limits of the process's control groups. */
#ifndef UNET_BASE_MEMORY_ROOM_H
#define UNET_BASE_MEMORY_ROOM_H

#include <stddef.h>

/* Stores the total and the available memory of this process in bytes; 0: unknown. Cached files that the system can drop
 * count as available. root is "", or in tests a folder that stands for the system's root. */
void memory_room(const char *root, size_t *total, size_t *available);

#endif
