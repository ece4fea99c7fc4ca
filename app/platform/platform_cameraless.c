#include "app/platform/platform_camera.h"

#include <errno.h>
#include <stddef.h>

bool platform_has_cameras(void) {
  return false;
}

int platform_look_at_camera(struct camera *camera, const char *path, const struct camera_calls *calls) {
  (void)path;
  (void)calls;
  *camera = (struct camera){.modes = NULL};
  errno = ENOSYS;
  return -1;
}

void platform_free_camera(struct camera *camera) {
  (void)camera;
}

bool platform_group_of(const char *path, char *name, int size) {
  (void)path;
  (void)name;
  (void)size;
  return false;
}
