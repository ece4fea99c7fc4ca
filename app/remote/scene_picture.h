/* Reads the small pictures of presets. Their file names are in the list HUB_SCENE_FILES of the hub, which passes values
 * to clients. */
#ifndef APP_REMOTE_SCENE_PICTURE_H
#define APP_REMOTE_SCENE_PICTURE_H

#include "app/remote/hub.h"

enum { SCENE_PICTURE_MAX = 256 << 10 }; /* largest size of a file, in bytes */

/* Reads the picture of a preset. path: "/scene/NUMBER.png", as a browser asks for it. Returns the bytes of the PNG,
 * which the caller frees, and stores their number in *size; NULL: the path is another one, the preset has no picture,
 * or the file is no PNG or too large. */
void *scene_picture_read(struct hub *hub, const char *path, size_t *size);

#endif
