/* Fetches files of a repository into a folder, one after the other.
 *
 * The bytes of a file are first stored in FILE.XXXXXXXX.part, which is named after its checksum. When the file is
 * complete and the checksum is right, it is renamed in one step. A part that exists is continued, by this process or a
 * later one. Parts with another checksum are of an older version of the file, and are removed. */
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
  /* Called repeatedly with the number of the file's bytes that are there. */
  void (*progress)(void *opaque, int64_t bytes);
  void *opaque;
};

/* Returns 1 if the file is there and its checksum is right, 0 if not, or -1 with err if *stop was set. */
int download_is_there(const struct download *download, const struct repository_file *file, struct error *err);
/* Returns how many bytes of the file an earlier run has left. */
int64_t download_part_bytes(const struct download *download, const struct repository_file *file);
/* Fetches a file. Returns 0, or -1 with err: STATUS_MODEL for errors of the hub or the connection, STATUS_OUTPUT for
 * errors of the disk, or STATUS_INTERRUPTED. */
int download_file(const struct download *download, const struct repository_file *file, struct error *err);

#endif
