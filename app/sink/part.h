/* A part is the unfinished file OUT.part, to which an output is written until it is complete, with its manifest
 * OUT.part.json (app/job/manifest.h). At the end it is renamed to OUT. So OUT is complete or absent, and an older OUT
 * stays until then.
 *
 * If OUT.part is something else (a link, a pipe, another file, the part of a running render), OUT.part2, OUT.part3 and
 * so on are tried. A part was left by a former render if it has a manifest and no process holds its lock. */
#ifndef APP_SINK_PART_H
#define APP_SINK_PART_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "unet/base/error.h"

struct target;

struct part {
  char *path; /* path of OUT, with links resolved; NULL: there is no unfinished file */
  char name[PATH_MAX], manifest[PATH_MAX];
  /* URL by which FFmpeg writes to the open file, even if another file gets the name OUT.part meanwhile */
  char url[64];
  int descriptor; /* descriptor of the unfinished file, which keeps it locked */
  bool replace;   /* true: a file that has the name OUT already may be replaced */
};

/* The paths of an unfinished file OUT.part that a former render left, and of its manifest. */
struct part_left {
  char name[PATH_MAX], manifest[PATH_MAX];
};

/* A lock on an unfinished file that a former render left. It keeps other processes from continuing the same file. */
struct part_claim {
  bool held;
  int descriptor; /* file descriptor that holds the lock; valid if `held` is true */
};

/* True if the output is written to a file OUT.part first: it is a single regular file, or will be one. */
bool part_is_for(const struct target *target);
/* Looks for an unfinished file of the output `path` that a former render left and that no process is writing. Returns
 * true if there is one, with its names in *left. */
bool part_find(struct part_left *left, const char *path);
/* Looks for an unfinished file as part_find does, and also locks it. The lock ends when part_unclaim is called or the
 * process ends. Until then part_find does not find the file. */
bool part_claim(struct part_claim *claim, struct part_left *left, const char *path);
/* Ends the lock. Accepts a zeroed struct. */
void part_unclaim(struct part_claim *claim);
/* Deletes an unfinished file that a former render left, and its manifest. */
void part_forget(const struct part_left *left);
/* Deletes all unfinished files of the output `path` that former renders left. */
void part_forget_all(const char *path);
/* Creates the empty file OUT.part for the output `path`, and its manifest, which is stored open for writing in
 * *manifest. OUT.part gets owner and mode of the file at `path`, if there is one. Returns 0, or -1 with err. */
int part_make(struct part *part, const char *path, bool replace, FILE **manifest, struct error *err);
/* Renames OUT.part to OUT, and releases its lock. keep: true: the manifest is renamed to OUT.json, and no other process
 * can rename files to these names meanwhile; false: the manifest is deleted. Returns 0, or -1 with err, also if OUT
 * exists and may not be replaced. After a failure OUT.part, its manifest and OUT.json are as before. */
int part_take_over(struct part *part, bool keep, struct error *err);
/* Called when all pictures of `left`, the unfinished file of an earlier render, were copied. Renames this render's file
 * and manifest to those of `left`, which they replace. What cannot be renamed keeps its name. If the file was renamed,
 * also deletes other unfinished files, left by renders that were killed while resuming. */
void part_replace(struct part *part, const struct part_left *left);
/* Deletes the unfinished file and its manifest. Accepts a zeroed struct. */
void part_drop(struct part *part);
/* Closes the unfinished file, which ends its lock; the file and its manifest stay. Accepts a zeroed struct. */
void part_close(struct part *part);

#endif
