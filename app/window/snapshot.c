#include "app/window/snapshot.h"

#include <errno.h>
#include <png.h>
#include <stdio.h>
#include <string.h>

#include "app/options/stamped.h"
#include "app/platform/app_platform.h"

static int write_png(const struct frame *picture, const char *dir, char *path, struct error *err) {
  FILE *file = stamped_create(path, dir, "png", "snapshot", err);
  if (!file)
    return -1;
  png_image image = {.version = PNG_IMAGE_VERSION,
                     .width = (png_uint_32)picture->width,
                     .height = (png_uint_32)picture->height,
                     .format = PNG_FORMAT_RGBA,
                     .flags = PNG_IMAGE_FLAG_FAST};
  int written = png_image_write_to_stdio(&image, file, 0, picture->plane[0], picture->pitch[0], NULL);
  if (fclose(file) || !written) {
    error_set(err, STATUS_OUTPUT, "snapshot: %.300s: %s", path, written ? strerror(errno) : image.message);
    platform_remove(path);
    return -1;
  }
  return 0;
}

static void *snapshot_main(void *opaque) {
  struct snapshot *snapshot = opaque;
  const struct frame *picture = &snapshot->picture;
  snapshot->status = frame_wait(picture, MEMORY_HOST, &snapshot->err) < 0
                         ? -1
                         : write_png(picture, snapshot->dir, snapshot->path, &snapshot->err);
  atomic_store(&snapshot->done, true);
  return NULL;
}

int snapshot_start(struct snapshot *snapshot, const struct frame *frame, const char *dir, struct error *err) {
  snapshot->picture = frame_hold(frame);
  snapshot->dir = dir;
  atomic_store(&snapshot->done, false);
  int code = pthread_create(&snapshot->thread, NULL, snapshot_main, snapshot);
  if (code) {
    frame_release(&snapshot->picture);
    return error_set(err, STATUS_FAILED, "snapshot: no thread can be started: %s", strerror(code));
  }
  snapshot->running = true;
  return 0;
}

int snapshot_take(struct snapshot *snapshot, bool wait, const char **path, struct error *err) {
  if (!snapshot->running || (!wait && !atomic_load(&snapshot->done)))
    return 0;
  pthread_join(snapshot->thread, NULL);
  frame_release(&snapshot->picture);
  snapshot->running = false;
  *path = snapshot->path;
  *err = snapshot->err;
  return snapshot->status < 0 ? -1 : 1;
}
