/* Files of a repository, one after the other, into a folder.
 *
 * What has come of a file is in FILE.XXXXXXXX.part, named after its checksum, until all of it is there and the checksum
 * is right; it then takes the file's name in one step. A part that is there is gone on with, by this process or a later
 * one; one of another checksum is of an older file, and removed. */
#ifndef APP_MODELS_DOWNLOAD_H
#define APP_MODELS_DOWNLOAD_H

#include "app/models/repository.h"
#include "app/platform/paths.h"

struct download {
  struct http *http;
  const struct http_origin *origin;
  const struct repository *repository;
  const char *commit, *folder;
  const atomic_bool *stop;
  /* Called now and then with the bytes of the file that are there. */
  void (*progress)(void *opaque, int64_t bytes);
  void *opaque;
};

/* Whether the file is there, as it is to be: 1, 0, or -1 with err where stop was set. */
int download_is_there(const struct download *download, const struct repository_file *file, struct error *err);
/* Bytes of it that an earlier run has left. */
int64_t download_part_bytes(const struct download *download, const struct repository_file *file);
/* Errors: STATUS_MODEL where the hub or the way to it is at fault, STATUS_OUTPUT where the disk is, and
 * STATUS_INTERRUPTED. */
int download_file(const struct download *download, const struct repository_file *file, struct error *err);

#endif
