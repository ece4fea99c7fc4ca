/* Saves a picture as a PNG file named after the time. A background thread writes the file, because writing takes longer
 * than showing a picture. The file's text chunks contain how the picture was made (png_text.h). */
#ifndef APP_WINDOW_SNAPSHOT_H
#define APP_WINDOW_SNAPSHOT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "app/platform/paths.h"
#include "unet/base/picture.h"

enum { SNAPSHOT_HOLDS = 1 };

/* A picture that is being saved. Zero-initialise to start; only snapshot.c reads and writes the fields. */
struct snapshot {
  pthread_t thread;
  bool running;
  struct frame picture;
  const char *dir;
  char *words, *preset; /* texts for the PNG file's text chunks; owned, and freed when the file is written */
  char path[PATHS_MAX];
  struct error err;
  int status;
  atomic_bool done;
};

/* Starts to save a PIXEL_RGBA frame in the folder `dir` (NULL: the working directory) as reverie-YYYYMMDD-HHMMSS.png,
 * or with -2, -3 and so on appended: no file is overwritten. The frame is held until the file is written. dir: valid
 * until snapshot_take returns a result. words, preset: allocated texts for the file's text chunks, freed here even on
 * failure; NULL: none. Not allowed while another picture is being saved. Returns 0, or -1 with err. */
int snapshot_start(struct snapshot *snapshot, const struct frame *frame, const char *dir, char *words, char *preset,
                   struct error *err);

/* Checks whether the picture given to snapshot_start is saved. Returns 1 if it is: *path is the file's name, valid
 * until the next snapshot_start. Returns 0 if nothing is being saved, or if saving continues and `wait` is false (true:
 * waits for its end). Returns -1 with err on failure; the incomplete file is removed. */
int snapshot_take(struct snapshot *snapshot, bool wait, const char **path, struct error *err);

#endif
