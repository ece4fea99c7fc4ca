/* Chooses the mode in which a camera is used, describes it, lists the cameras, and explains why one cannot be used. */
#ifndef APP_SOURCE_CAMERA_H
#define APP_SOURCE_CAMERA_H

#include <stdbool.h>
#include <stddef.h>

#include "app/platform/platform_camera.h"
#include "unet/base/error.h"

/* The size in pixels and the rate in frames a second that the user wants; 0: any. */
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

/* Chooses the camera's best mode. If a size is wished for, modes are compared by size first, then by rate; if only a
 * rate is, by rate first. As large and as fast as wished, or slightly more, is best; else the nearest. Without a wish
 * the aim is 1280x720 at 30 frames a second, and modes are compared by rate first. Among equal modes the format that is
 * cheapest to read wins: NV12, YUYV, then MJPEG. Returns false if FFmpeg can read none of the camera's modes. */
bool camera_choose(const struct camera *camera, const struct camera_wish *wish, struct camera_choice *choice);
/* True if the choice has the size and rate of the wish. */
bool camera_meets(const struct camera_choice *choice, const struct camera_wish *wish);
/* Writes the choice as text ("MJPG 1280x720, 30 fps") into words, which holds size bytes, and returns words. */
const char *camera_show(const struct camera_choice *choice, char *words, size_t size);

/* True if people are likely to look at themselves, and expect a mirror: for cameras, but not for capture cards and
 * other programs' pictures. */
bool camera_is_mirror(const struct camera *camera);

enum { CAMERAS_MAX = 64 };

/* Fills camera with the name and the modes of the device at path. calls: the system calls to use; NULL: the system's
 * own. Returns 0, or -1 with errno. */
typedef int camera_look(struct camera *camera, const char *path, const struct camera_calls *calls);
/* Calls `take` for each video device, in the order of their numbers, until it returns false. `take` gets opaque, the
 * camera, and as reason 0 or the errno with which look failed; then only the camera's path is known. Devices that are
 * absent or give no pictures are skipped. */
void camera_list(camera_look *look, bool (*take)(void *opaque, const struct camera *camera, int reason), void *opaque);

/* Fills err for a device that could not be opened. reason: an errno. Returns -1; or 0 with err unchanged if there is no
 * better message for this errno than FFmpeg's. */
int camera_refuse(const char *path, int reason, struct error *err);

#endif
