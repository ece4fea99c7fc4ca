#include "app/source/camera.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "unet/base/platform.h"

/* Pixel formats of cameras that can be read, the preferred ones first: uncompressed YUV, uncompressed RGB, single
 * compressed pictures (MJPEG), compressed video, and last grey, which infrared cameras give. */
static const struct {
  const char *v4l2, *ffmpeg;
} formats[] = {
    {"NV12", "nv12"},    {"YUYV", "yuyv422"}, {"YU12", "yuv420p"}, {"UYVY", "uyvy422"},
    {"422P", "yuv422p"}, {"BGR4", "bgr0"},    {"BGR3", "bgr24"},   {"RGB3", "rgb24"},
    {"MJPG", "mjpeg"},   {"JPEG", "mjpeg"},   {"H264", "h264"},    {"GREY", "gray"},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static int find_format(const struct camera_mode *mode) {
  for (int i = 0; i < FORMATS; i++)
    if (!strcmp(mode->format, formats[i].v4l2))
      return i;
  return -1;
}

static int fit_side(int wish, int least, int most, int step) {
  int side = wish < least ? least : wish > most ? most : wish;
  return step > 1 ? least + (side - least) / step * step : side;
}

/* How far a camera's mode is from the wished size and rate, as numbers that are compared one after the other, the most
 * important one first. */
struct distance {
  double by[3];
};

/* Returns how far a size is from the wished one, for comparison: 0 is best, and too large is better than too small. */
static double size_distance(int width, int height, const struct camera_wish *wish) {
  double wished = (double)wish->width * wish->height;
  if (width >= wish->width && height >= wish->height)
    return (double)width * height / wished - 1;
  return 1e6 - fmin(width, wish->width) * fmin(height, wish->height) / wished;
}

static const double same_rate = 0.01; /* rates that differ by less than this fraction are equal: 29.97 counts as 30 */

static double rate_distance(double fps, double wish) {
  if (fps <= 0)
    return 1e6;
  double more = fps / wish - 1;
  return fabs(more) < same_rate ? 0 : more > 0 ? more : 1e3 - more;
}

static struct distance measure(const struct camera_choice *choice, const struct camera_wish *wish, bool size_first) {
  double size = size_distance(choice->width, choice->height, wish), fps = rate_distance(choice->fps, wish->fps);
  return (struct distance){{size_first ? size : fps, size_first ? fps : size, find_format(choice->mode)}};
}

static bool is_nearer(const struct distance *a, const struct distance *b) {
  int i = 0;
  while (i < 2 && a->by[i] == b->by[i])
    i++;
  return a->by[i] < b->by[i];
}

/* True if the camera has a mode that can be read and is at least as large as the size in `wish`. */
static bool has_size(const struct camera *camera, const struct camera_wish *wish) {
  bool has = false;
  for (int i = 0; i < camera->mode_count; i++)
    has = has || (find_format(&camera->modes[i]) >= 0 && camera->modes[i].width >= wish->width &&
                  camera->modes[i].height >= wish->height);
  return has;
}

bool camera_choose(const struct camera *camera, const struct camera_wish *wish, struct camera_choice *choice) {
  bool sized = wish->width > 0, size_first = sized && has_size(camera, wish), found = false;
  const struct camera_wish wanted = {sized ? wish->width : 1280, sized ? wish->height : 720,
                                     wish->fps > 0 ? wish->fps : 30};
  struct distance best = {{0}};
  for (int i = 0; i < camera->mode_count; i++) {
    const struct camera_mode *mode = &camera->modes[i];
    int format = find_format(mode);
    if (format < 0)
      continue;
    const struct camera_choice here = {
        .mode = mode,
        .ffmpeg = formats[format].ffmpeg,
        .width = fit_side(wanted.width, mode->width_least, mode->width, mode->width_step),
        .height = fit_side(wanted.height, mode->height_least, mode->height, mode->height_step),
        .fps = fmin(fmax(wanted.fps, mode->fps_least), mode->fps),
    };
    struct distance distance = measure(&here, &wanted, size_first);
    if (found && !is_nearer(&distance, &best))
      continue;
    found = true;
    best = distance;
    *choice = here;
  }
  return found;
}

bool camera_meets(const struct camera_choice *choice, const struct camera_wish *wish) {
  bool size = wish->width <= 0 || (choice->width == wish->width && choice->height == wish->height);
  return size && (wish->fps <= 0 || rate_distance(choice->fps, wish->fps) == 0);
}

const char *camera_show(const struct camera_choice *choice, char *words, size_t size) {
  int used = snprintf(words, size, "%s %dx%d", choice->mode->format, choice->width, choice->height);
  if (choice->fps > 0 && (size_t)used < size)
    snprintf(words + used, size - (size_t)used, ", %.4g fps", choice->fps);
  return words;
}

/* True for cameras in whose picture people look at themselves and expect a mirror image. Capture cards are recognised
 * by their names, because they report themselves as cameras. */
bool camera_is_mirror(const struct camera *camera) {
  static const char *const not_before_people[] = {"loopback", "vivid",        "Capture",    "capture", "HDMI",
                                                  "Cam Link", "Game Capture", "Live Gamer", "Virtual", "Video Grabber"};
  bool people = !camera->has_signal;
  for (size_t i = 0; i < sizeof not_before_people / sizeof *not_before_people; i++)
    people = people && !strstr(camera->name, not_before_people[i]) && !strstr(camera->driver, not_before_people[i]);
  return people;
}

void camera_list(camera_look *look, bool (*take)(void *opaque, const struct camera *camera, int reason), void *opaque) {
  bool go_on = true;
  for (int i = 0; go_on && i < CAMERAS_MAX; i++) {
    struct camera camera;
    char path[32];
    snprintf(path, sizeof path, "/dev/video%d", i);
    int reason = look(&camera, path, NULL) ? errno : 0;
    bool absent = reason == ENOENT || reason == ENOTTY || reason == EINVAL || reason == ENOSYS;
    if (!absent && (reason || camera.mode_count))
      go_on = take(opaque, &camera, reason);
    if (!reason)
      platform_free_camera(&camera);
  }
}

static bool name_one(void *opaque, const struct camera *camera, int reason) {
  char *list = opaque;
  size_t used = strlen(list);
  snprintf(list + used, 160 - used, "%s%s%s%s%s", used ? ", " : "", camera->path, reason ? "" : " (", camera->name,
           reason ? "" : ")");
  return strlen(list) < 100;
}

static int refuse_absent(const char *path, struct error *err) {
  char list[160] = "";
  camera_list(platform_look_at_camera, name_one, list);
  return *list ? error_set(err, STATUS_INPUT, "%s: there is no such camera; here is %s (see reverie --list-devices)",
                           path, list)
               : error_set(err, STATUS_INPUT, "%s: there is no such camera, and no other one here", path);
}

static int refuse_pictureless(const char *path, struct error *err) {
  return error_set(err, STATUS_INPUT, "%s: gives no pictures as a camera does (see reverie --list-devices)", path);
}

int camera_refuse(const char *path, int reason, struct error *err) {
  char group[64];
  switch (reason) {
  case ENOENT:
  case ENODEV:
  case ENXIO:
    return platform_exists(path) ? refuse_pictureless(path, err) : refuse_absent(path, err);
  case EACCES:
  case EPERM:
    if (!platform_group_of(path, group, sizeof group) || !strcmp(group, "root"))
      snprintf(group, sizeof group, "video");
    return error_set(err, STATUS_INPUT,
                     "%s: no permission to open it: it is for the group %s, which `sudo usermod -aG %s $USER` and "
                     "another login let you into",
                     path, group, group);
  case EBUSY:
    return error_set(err, STATUS_INPUT, "%s: another program is using it; close that one, or choose another camera",
                     path);
  case ENOTTY:
  case EINVAL:
    return refuse_pictureless(path, err);
  default:
    return 0;
  }
}
