/* Downloads files of a repository into a folder, one after the other. Bytes first go to FILE.XXXXXXXX.part, where
 * XXXXXXXX is the beginning of the checksum. When the file is complete and its checksum right, it is renamed. A later
 * run continues an existing .part file. A .part file with another checksum is of an older version, and is removed. */
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
  /* Called repeatedly during a download, with `opaque` and the number of the file's bytes that are on the disk. */
  void (*progress)(void *opaque, int64_t bytes);
  void *opaque;
};

/* Returns 1 if the file is in the folder already and its checksum is right, 0 if not, or -1 with err if *stop became
 * true, the path is too long or memory is short. */
int download_is_there(const struct download *download, const struct repository_file *file, struct error *err);
/* Returns how many bytes of the file an earlier run has stored in its .part file. */
int64_t download_part_bytes(const struct download *download, const struct repository_file *file);
/* Downloads one file of the repository into the folder. Returns 0, or -1 with err: STATUS_MODEL for errors of Hugging
 * Face's hub or of the connection, STATUS_OUTPUT for errors of the disk, or STATUS_INTERRUPTED. */
int download_file(const struct download *download, const struct repository_file *file, struct error *err);

#endif
