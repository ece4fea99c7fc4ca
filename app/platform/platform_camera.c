#include "app/platform/platform_camera.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/videodev2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* MODES_MAX: largest number of modes of a camera; further ones are left out. LIST_MAX: longest list of formats, of a
 * format's sizes, or of a size's frame rates. */
enum { MODES_MAX = 4096, LIST_MAX = 1024 };

/* Opens a camera's device. O_NONBLOCK is used because some drivers would wait for a video signal. Opening does not keep
 * other programs from using the camera. */
static int open_device(const char *path) {
  return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

static int ask_device(int descriptor, unsigned long request, void *argument) {
  int code;
  do
    code = ioctl(descriptor, request, argument);
  while (code < 0 && errno == EINTR);
  return code;
}

static void close_device(int descriptor) {
  close(descriptor);
}

static const struct camera_calls system_calls = {open_device, ask_device, close_device};

struct looking {
  const struct camera_calls *calls;
  int descriptor;
  struct camera *camera;
  int room;
};

static int ask(const struct looking *at, unsigned long request, void *argument) {
  return at->calls->ask(at->descriptor, request, argument);
}

static int add(struct looking *at, const struct camera_mode *mode) {
  struct camera *camera = at->camera;
  if (camera->mode_count == MODES_MAX)
    return 0;
  if (camera->mode_count == at->room) {
    int room = at->room ? 2 * at->room : 64;
    struct camera_mode *modes = realloc(camera->modes, (size_t)room * sizeof *modes);
    if (!modes)
      return -1;
    camera->modes = modes;
    at->room = room;
  }
  camera->modes[camera->mode_count++] = *mode;
  return 0;
}

static double rate(struct v4l2_fract interval) {
  return interval.numerator ? (double)interval.denominator / interval.numerator : 0;
}

/* Appends to the camera's list a mode for each frame rate that it has at the given format and size. *mode has
 * everything except the rates. If the camera names no rate, one mode with an unknown rate is appended. Returns 0, or -1
 * if memory is short. */
static int add_rates(struct looking *at, uint32_t format, struct camera_mode *mode) {
  for (uint32_t i = 0; i < LIST_MAX; i++) {
    struct v4l2_frmivalenum interval = {
        .index = i, .pixel_format = format, .width = (uint32_t)mode->width, .height = (uint32_t)mode->height};
    if (ask(at, VIDIOC_ENUM_FRAMEINTERVALS, &interval) < 0)
      return i ? 0 : add(at, mode);
    bool single = interval.type == V4L2_FRMIVAL_TYPE_DISCRETE;
    mode->fps = rate(single ? interval.discrete : interval.stepwise.min);
    mode->fps_least = single ? mode->fps : rate(interval.stepwise.max);
    if (add(at, mode))
      return -1;
    if (!single)
      break;
  }
  return 0;
}

static int add_sizes(struct looking *at, uint32_t format) {
  for (uint32_t i = 0; i < LIST_MAX; i++) {
    struct v4l2_frmsizeenum size = {.index = i, .pixel_format = format};
    struct camera_mode mode = {.fps = 0};
    memcpy(mode.format, &format, 4);
    if (ask(at, VIDIOC_ENUM_FRAMESIZES, &size) < 0)
      break;
    bool single = size.type == V4L2_FRMSIZE_TYPE_DISCRETE;
    mode.width = (int)(single ? size.discrete.width : size.stepwise.max_width);
    mode.height = (int)(single ? size.discrete.height : size.stepwise.max_height);
    mode.width_least = (int)(single ? size.discrete.width : size.stepwise.min_width);
    mode.height_least = (int)(single ? size.discrete.height : size.stepwise.min_height);
    mode.width_step = single ? 0 : (int)size.stepwise.step_width;
    mode.height_step = single ? 0 : (int)size.stepwise.step_height;
    if (mode.width > 0 && mode.height > 0 && add_rates(at, format, &mode))
      return -1;
    if (!single)
      break;
  }
  return 0;
}

static bool takes_signal(const struct looking *at) {
  int index = 0;
  if (ask(at, VIDIOC_G_INPUT, &index) < 0)
    return false;
  struct v4l2_input input = {.index = (uint32_t)index};
  return !ask(at, VIDIOC_ENUMINPUT, &input) &&
         ((input.capabilities & (V4L2_IN_CAP_DV_TIMINGS | V4L2_IN_CAP_STD)) || input.type == V4L2_INPUT_TYPE_TUNER);
}

static int look(struct looking *at) {
  struct v4l2_capability about = {.version = 0};
  struct camera *camera = at->camera;
  if (ask(at, VIDIOC_QUERYCAP, &about) < 0)
    return -1;
  uint32_t can = about.capabilities & V4L2_CAP_DEVICE_CAPS ? about.device_caps : about.capabilities;
  if (!(can & V4L2_CAP_VIDEO_CAPTURE)) {
    errno = ENOTTY;
    return -1;
  }
  snprintf(camera->name, sizeof camera->name, "%.32s", (const char *)about.card);
  snprintf(camera->driver, sizeof camera->driver, "%.16s", (const char *)about.driver);
  snprintf(camera->place, sizeof camera->place, "%.32s", (const char *)about.bus_info);
  camera->has_signal = takes_signal(at);
  for (uint32_t i = 0; i < LIST_MAX; i++) {
    struct v4l2_fmtdesc format = {.index = i, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE};
    if (ask(at, VIDIOC_ENUM_FMT, &format) < 0)
      break;
    if (add_sizes(at, format.pixelformat))
      return -1;
  }
  return 0;
}

bool platform_has_cameras(void) {
  return true;
}

int platform_look_at_camera(struct camera *camera, const char *path, const struct camera_calls *calls) {
  struct looking at = {.calls = calls ? calls : &system_calls, .camera = camera};
  *camera = (struct camera){.modes = NULL};
  snprintf(camera->path, sizeof camera->path, "%s", path);
  at.descriptor = at.calls->open(path);
  if (at.descriptor < 0)
    return -1;
  int failed = look(&at), reason = errno;
  at.calls->close(at.descriptor);
  if (failed)
    platform_free_camera(camera);
  errno = reason;
  return failed;
}

void platform_free_camera(struct camera *camera) {
  free(camera->modes);
  camera->modes = NULL;
  camera->mode_count = 0;
}

bool platform_group_of(const char *path, char *name, int size) {
  struct stat file;
  const struct group *group = stat(path, &file) ? NULL : getgrgid(file.st_gid);
  return group && snprintf(name, (size_t)size, "%s", group->gr_name) < size;
}
