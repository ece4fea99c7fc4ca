/* Makes all shards of a render (--shard, one process each) use the same number of frames in a run and the same kernels;
 * otherwise their pictures would differ by rounding. The first shard that has chosen writes both to OUT.shards.json
 * beside the shards' files, and the others adopt them. The file has the format of a manifest's first line
 * (app/job/manifest.h). */
#ifndef APP_RUN_SHARED_CHOICES_H
#define APP_RUN_SHARED_CHOICES_H

#include <limits.h>

#include "app/job/manifest.h"
#include "app/options/options.h"

/* The choices (kernels, frames in a run) of other shards, as far as this process knows them. Zero-initialise to
 * start. */
struct shared_choices {
  char path[PATH_MAX]; /* path of the .shards.json file; "": nothing is shared */
  /* true: another shard (part of the same render) has written its choices already; record.job contains them, and the
   * number of frames in each of that shard's runs */
  bool found;
  struct job_record record;
};

/* Looks for the file in which another shard of the same render has written its choices. sequence: the output is a
 * picture sequence, and the file is beside its folder. A file that a render with other options left is deleted. Returns
 * 0, or -1 with err. */
int shared_choices_find(struct shared_choices *shared, const struct options *options, bool sequence,
                        const struct log *log, struct error *err);
/* Writes this shard's choices to the file, unless another shard was first. Then `found` becomes true; if the engine was
 * opened without those choices, the caller must open it again with them. If the file cannot be written, this is logged,
 * and the shard keeps its own choices. Returns 0, or -1 with err. */
int shared_choices_offer(struct shared_choices *shared, const struct options *options, const struct engine *engine,
                         const struct prepared *prepared, const struct log *log, struct error *err);
void shared_choices_free(struct shared_choices *shared);

#endif
