/* Saves a picture as a PNG file named after the time. A thread of its own writes it, because that takes longer than
 * showing a picture. The file's text chunks say how the picture was made (png_text.h). */
#ifndef APP_WINDOW_SNAPSHOT_H
#define APP_WINDOW_SNAPSHOT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "app/platform/paths.h"
#include "unet/base/picture.h"

enum { SNAPSHOT_HOLDS = 1 };

/* A picture that is being saved. Zero-initialise to start; the fields belong to snapshot.c. */
struct snapshot {
  pthread_t thread;
  bool running;
  struct frame picture;
  const char *dir;
  char *words, *preset; /* freed when the file is written */
  char path[PATHS_MAX];
  struct error err;
  int status;
  atomic_bool done;
};

/* Starts to save a PIXEL_RGBA frame, which is held until the file is written, as reverie-YYYYMMDD-HHMMSS.png in dir
 * (NULL: the working directory). If that file exists, -2, -3 and so on is appended: no file is ever overwritten. dir
 * must stay valid until snapshot_take. words and preset are allocated texts, which this function frees in the end;
 * NULL: none. Must not be called while another picture is being saved. */
int snapshot_start(struct snapshot *snapshot, const struct frame *frame, const char *dir, char *words, char *preset,
                   struct error *err);

/* Returns 1 if the picture is saved, with the file's name in *path, which is valid until the next start; 0 if nothing
 * is being saved, or if that is not finished and wait is false; -1 and err on failure, in which case no file is
 * left. */
int snapshot_take(struct snapshot *snapshot, bool wait, const char **path, struct error *err);

#endif
