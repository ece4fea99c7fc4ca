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
  int width, height;  /* size of the pictures in pixels, within the limits of the camera's mode */
  double fps;         /* frames a second, within the limits of the camera's mode; 0: unknown */
};

/* Chooses the camera's best mode. If the wish has a size, and a mode is at least as large, modes are compared by size
 * first, then by rate; otherwise by rate first. The best has the wished values or slightly more; if none has, the
 * nearest. Without a wish, 1280x720 and 30 frames a second are wished. Among equal modes the earliest format in
 * camera.c's table is chosen: NV12, then YUYV, with MJPEG near the end. Returns false if FFmpeg can read none. */
bool camera_choose(const struct camera *camera, const struct camera_wish *wish, struct camera_choice *choice);
/* True if the chosen mode has the size and rate in `wish`. */
bool camera_meets(const struct camera_choice *choice, const struct camera_wish *wish);
/* Writes the choice as text ("MJPG 1280x720, 30 fps") into words, which holds size bytes, and returns words. */
const char *camera_show(const struct camera_choice *choice, char *words, size_t size);

/* True if people are likely to look at themselves in the camera's picture and expect a mirror. False for capture cards
 * and for pictures of other programs. */
bool camera_is_mirror(const struct camera *camera);

enum { CAMERAS_MAX = 64 };

/* Fills camera with the name and the modes of the device at path. calls: the system calls to use; NULL: the system's
 * own. Returns 0, or -1 with errno. */
typedef int camera_look(struct camera *camera, const char *path, const struct camera_calls *calls);
/* Calls `take` for each video device, in the order of their numbers, until `take` returns false. `take` gets opaque,
 * the camera, and as reason 0 or the errno with which `look` failed; if it failed, only the camera's path is known.
 * Devices that are absent or give no pictures are skipped. */
void camera_list(camera_look *look, bool (*take)(void *opaque, const struct camera *camera, int reason), void *opaque);

/* Fills err for a device that could not be opened. reason: an errno. Returns -1; or 0 with err unchanged if there is no
 * better message for this errno than FFmpeg's. */
int camera_refuse(const char *path, int reason, struct error *err);

#endif
