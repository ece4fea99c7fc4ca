/* Pictures as PNG files named after the time, written by a thread of their own: compressing one takes longer than
 * showing it. What they were made with stands in their text (png_text.h). */
#ifndef APP_WINDOW_SNAPSHOT_H
#define APP_WINDOW_SNAPSHOT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "app/platform/paths.h"
#include "unet/base/picture.h"

enum { SNAPSHOT_HOLDS = 1 };

/* One picture on its way to its file. Zero-initialise to start; the fields are snapshot.c's. */
struct snapshot {
  pthread_t thread;
  bool running;
  struct frame picture;
  const char *dir;
  char *words, *preset; /* owned */
  char path[PATHS_MAX];
  struct error err;
  int status;
  atomic_bool done;
};

/* Holds a PIXEL_RGBA frame until it is written, and begins to write it to reverie-YYYYMMDD-HHMMSS.png in dir (NULL: the
 * working directory; borrowed until the picture is written), with -2, -3... where that exists: nothing is ever
 * overwritten. words and preset are allocated texts, which it takes over; NULL: none. Not while one is under way. */
int snapshot_start(struct snapshot *snapshot, const struct frame *frame, const char *dir, char *words, char *preset,
                   struct error *err);

/* 1: the picture is in the file that *path names (valid until the next start); 0: nothing is under way, or not yet done
 * and `wait` is false; -1: it failed, and no file is left. */
int snapshot_take(struct snapshot *snapshot, bool wait, const char **path, struct error *err);

#endif
