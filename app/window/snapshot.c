#include "app/window/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/png_text.h"
#include "app/platform/app_platform.h"
#include "app/platform/stamped.h"

static int write_png(struct snapshot *snapshot, const struct frame *picture, struct error *err) {
  const struct png_words texts[] = {{WORDS_PNG_KEY, snapshot->words}, {PRESETS_PNG_KEY, snapshot->preset}};
  char *path = snapshot->path;
  FILE *file = stamped_create(path, snapshot->dir, "png", "snapshot", err);
  struct error why = {0};
  if (!file)
    return -1;
  int status = png_text_write(file, picture, texts, 2, &why);
  if (fclose(file) || status) {
    error_set(err, STATUS_OUTPUT, "snapshot: %.300s: %s", path, status ? why.message : strerror(errno));
    platform_remove(path);
    return -1;
  }
  return 0;
}

static void *snapshot_main(void *opaque) {
  struct snapshot *snapshot = opaque;
  const struct frame *picture = &snapshot->picture;
  snapshot->status =
      frame_wait(picture, MEMORY_HOST, &snapshot->err) < 0 ? -1 : write_png(snapshot, picture, &snapshot->err);
  atomic_store(&snapshot->done, true);
  return NULL;
}

static void let_go(struct snapshot *snapshot) {
  frame_release(&snapshot->picture);
  free(snapshot->words);
  free(snapshot->preset);
  snapshot->words = snapshot->preset = NULL;
}

int snapshot_start(struct snapshot *snapshot, const struct frame *frame, const char *dir, char *words, char *preset,
                   struct error *err) {
  snapshot->picture = frame_hold(frame);
  snapshot->dir = dir;
  snapshot->words = words;
  snapshot->preset = preset;
  atomic_store(&snapshot->done, false);
  int code = pthread_create(&snapshot->thread, NULL, snapshot_main, snapshot);
  if (code) {
    let_go(snapshot);
    return error_set(err, STATUS_FAILED, "snapshot: no thread can be started: %s", strerror(code));
  }
  snapshot->running = true;
  return 0;
}

int snapshot_take(struct snapshot *snapshot, bool wait, const char **path, struct error *err) {
  if (!snapshot->running || (!wait && !atomic_load(&snapshot->done)))
    return 0;
  pthread_join(snapshot->thread, NULL);
  let_go(snapshot);
  snapshot->running = false;
  *path = snapshot->path;
  *err = snapshot->err;
  return snapshot->status < 0 ? -1 : 1;
}
