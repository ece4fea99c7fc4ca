/* Collects the shards of a render (files that each contain a part of it, with a manifest beside them), and checks that
 * they can be joined. Functions that return int return 0, or -1 with err. */
#ifndef APP_JOB_SHARDS_H
#define APP_JOB_SHARDS_H

#include "app/job/manifest.h"
#include "unet/base/log.h"

struct shard {
  char *path;
  struct job_record record;
};

/* The shards (files that renders with --shard have made, one for each part) of one output. Zero-initialise to start;
 * shards_free frees them. */
struct shards {
  struct shard *of; /* the shards; shards_check sorts them by their times */
  int count;
  char *unfinished; /* path of an incomplete shard, which is not in the array `of`; NULL: there is none */
};

/* Adds the shard at this path, whose manifest is PATH.json; `path` may also be the manifest's. A shard is added only
 * once. The first incomplete shard is stored in `unfinished`; further ones are ignored. A file X.part or X.part2 is
 * ignored if X exists, because two processes may have made shard X at the same time. Fails if file or manifest is
 * missing, or if size or hash differ from the manifest. */
int shards_add(struct shards *shards, const char *path, struct error *err);
/* Adds all shards in the folder of the output that have the names which --shard gives them (OUT.shard-...). */
int shards_find(struct shards *shards, const char *output, struct error *err);
/* Sorts the shards by time, and checks that they belong to the same render and together make up all of it. If shards
 * overlap, because the render was divided in several ways, those that are not needed are removed. err names the
 * difference between two jobs, or the missing part. Logs a warning if pictures of shards may differ by rounding. At
 * least one shard, complete or not, must have been added. */
int shards_check(struct shards *shards, const struct log *log, struct error *err);
/* Fails if a shard has no picture because render could read none of its input pictures. err names the parts of the
 * render that are missing. output: the output's name for the message. shards_check must have been called before. */
int shards_check_empty(const struct shards *shards, const char *output, struct error *err);
void shards_free(struct shards *shards);

#endif
