/* Cameras: chooses the mode to use, tells what a camera is called, and explains why one cannot be used. */
#ifndef APP_SOURCE_CAMERA_H
#define APP_SOURCE_CAMERA_H

#include <stdbool.h>
#include <stddef.h>

#include "app/platform/platform_camera.h"
#include "unet/base/error.h"

/* Size and rate that the user wants; 0: any. */
struct camera_wish {
  int width, height;
  double fps;
};

struct camera_choice {
  const struct camera_mode *mode;
  const char *ffmpeg; /* FFmpeg's name of the format: "mjpeg", "yuyv422" */
  int width, height;  /* within the limits of the mode */
  double fps;         /* within the limits of the mode; 0: unknown */
};

/* Chooses the best mode. If size or rate is wished for, that one counts first (the size, if both are): as large and as
 * fast as wished or slightly more, else as near as possible. Without a wish the aim is 1280x720 at 30 frames a second,
 * and the rate counts first. Among equal modes the format that is cheapest to read wins: NV12, YUYV, then MJPEG.
 * Returns false if the camera has no mode that can be read here. */
bool camera_choose(const struct camera *camera, const struct camera_wish *wish, struct camera_choice *choice);
/* True if the choice fulfils the wish. */
bool camera_meets(const struct camera_choice *choice, const struct camera_wish *wish);
/* Writes the choice into words, as "MJPG 1280x720, 30 fps", and returns it. */
const char *camera_show(const struct camera_choice *choice, char *words, size_t size);

/* True if people are likely to look at themselves, and expect a mirror: for cameras, but not for capture cards and
 * other programs' pictures. */
bool camera_is_mirror(const struct camera *camera);

enum { CAMERAS_MAX = 64 };

/* Fills camera with what the device at path is and can do. Returns 0, or -1 with errno. */
typedef int camera_look(struct camera *camera, const char *path, const struct camera_calls *calls);
/* Calls take for each video device, in order, until it returns false. reason: 0, or the errno with which look failed;
 * then only the camera's path is known. Devices that are absent or give no pictures are skipped. */
void camera_list(camera_look *look, bool (*take)(void *opaque, const struct camera *camera, int reason), void *opaque);

/* Fills err for a device that could not be opened. reason: an errno. Returns -1; or 0 if this file knows no words for
 * the reason, and err is unchanged. */
int camera_refuse(const char *path, int reason, struct error *err);

#endif
