/* Cameras: which of the pictures that one gives are asked of it, what it is called, and why one cannot be had. */
#ifndef APP_SOURCE_CAMERA_H
#define APP_SOURCE_CAMERA_H

#include <stdbool.h>
#include <stddef.h>

#include "app/platform/platform_camera.h"
#include "unet/base/error.h"

/* 0: no wish. */
struct camera_wish {
  int width, height;
  double fps;
};

struct camera_choice {
  const struct camera_mode *mode;
  const char *ffmpeg; /* FFmpeg's name for the format: "mjpeg", "yuyv422" */
  int width, height;  /* within the mode's */
  double fps;         /* likewise; 0: not known */
};

/* The best match. Of the size and the rate those come first that there is a wish for, the size before the rate: as
 * large and as fast as wished or little more, else as near as can be. Without a wish it is to be 1280x720 at 30 a
 * second, the rate first. Among equals a format that costs least to read: NV12, YUYV, then MJPEG. false: the camera
 * names no mode that can be read here. */
bool camera_choose(const struct camera *camera, const struct camera_wish *wish, struct camera_choice *choice);
/* Whether the choice is what was wished for. */
bool camera_meets(const struct camera_choice *choice, const struct camera_wish *wish);
/* "MJPG 1280x720, 30 fps" */
const char *camera_show(const struct camera_choice *choice, char *words, size_t size);

/* Whether people stand before it and expect a mirror: a camera, not a capture card or another program's pictures. */
bool camera_is_mirror(const struct camera *camera);

enum { CAMERAS_MAX = 64 };

/* Calls take for every video device, in order, that can be looked at or not (errno is then why, and of the camera only
 * its path is known), until it returns false. Devices that give no pictures are passed over. */
typedef int camera_look(struct camera *camera, const char *path, const struct camera_calls *calls);
void camera_list(camera_look *look, bool (*take)(void *opaque, const struct camera *camera, int reason), void *opaque);

/* One line for a device that could not be opened for this reason, an errno; 0: not one of those known here, and err is
 * as it was. */
int camera_refuse(const char *path, int reason, struct error *err);

#endif
