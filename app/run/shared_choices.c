#include "app/run/shared_choices.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "app/run/job_facts.h"
#include "app/sink/replacement.h"
#include "app/source/protocols.h"

/* An empty .shards.json file is read again, up to LOOKS times, every LOOK_MS ms, until it has contents. It can be empty
 * on file systems that cannot rename a file without replacing another one: there the writing process first creates it
 * empty. */
enum { LOOKS = 20, LOOK_MS = 50 };

/* Reads the .shards.json file into shared->record. Returns 1, 0 if there is no such file, or -1 with err. */
static int read_file(struct shared_choices *shared, struct error *err) {
  int got = 0;
  job_record_free(&shared->record);
  for (int i = 0; i < LOOKS && !got && platform_is_file(shared->path); i++) {
    if (i)
      platform_sleep_ns(LOOK_MS * INT64_C(1000000));
    got = job_record_read(&shared->record, shared->path, err);
  }
  return got;
}

/* Stores the path of the file by which the shards of a render use the same choices of GPU kernels: OUT.shards.json;
 * for a sequence such as out/%04d.png it is out.shards.json, so that the folder contains only pictures. */
static void name_file(struct shared_choices *shared, const char *output, bool sequence) {
  const char *path = file_path(output), *slash = sequence ? strrchr(path, '/') : NULL;
  int length = slash > path ? (int)(slash - path) : (int)strlen(path);
  if (snprintf(shared->path, sizeof shared->path, "%.*s.shards.json", length, path) >= (int)sizeof shared->path)
    *shared->path = 0;
}

int shared_choices_find(struct shared_choices *shared, const struct options *options, bool sequence,
                        const struct log *log, struct error *err) {
  struct job job;
  struct error why;
  name_file(shared, options->output, sequence);
  int got = *shared->path ? read_file(shared, err) : 0;
  if (got <= 0)
    return got;
  int status = job_facts(&job, options, NULL, NULL, err);
  shared->found = !status && !job_compare_parts(&shared->record.job, &job, &why);
  if (!status && !shared->found) {
    log_line(log, LOG_WARNING, "%s: is of another render, and is made anew: %s", shared->path, why.message);
    platform_remove(shared->path);
  }
  job_free(&job);
  return status;
}

/* Writes the .shards.json file, which has the choices of GPU kernels that all shards of a render use. Writes it under a
 * temporary name and renames it, so that no other process reads half of it. Returns 0, or -1 with errno. */
static int write_file(const char *path, const struct job *job) {
  static const struct job_part whole = {.index = 1, .count = 1, .begin = {0, 1}, .open = true};
  struct replacement file;
  struct manifest *manifest = NULL;
  if (replacement_make(&file, path))
    return -1;
  FILE *out = platform_stream(file.path, "wb");
  errno = out ? 0 : errno;
  bool written = out && !manifest_open(&manifest, out, path, job, &whole, NULL);
  manifest_close(&manifest);
  bool named = written && !platform_move_new(file.path, path);
  int reason = errno ? errno : EIO;
  if (named)
    platform_close_descriptor(file.descriptor);
  else
    replacement_drop(&file);
  errno = reason;
  return named ? 0 : -1;
}

int shared_choices_offer(struct shared_choices *shared, const struct options *options, const struct engine *engine,
                         const struct prepared *prepared, const struct log *log, struct error *err) {
  struct job job;
  if (!*shared->path || shared->found)
    return 0;
  int status = job_facts(&job, options, engine, prepared, err);
  if (!status && write_file(shared->path, &job)) {
    int reason = errno;
    int got = reason == EEXIST ? read_file(shared, err) : 0;
    status = got < 0 ? -1 : 0;
    shared->found = got > 0 && !job_compare_parts(&shared->record.job, &job, NULL);
    if (!status && !shared->found)
      log_line(log, LOG_WARNING,
               "%s: cannot be written: %s; shards that are rendered at the same time may differ by rounding",
               shared->path, platform_why_unwritten(reason));
  }
  job_free(&job);
  return status;
}

void shared_choices_free(struct shared_choices *shared) {
  job_record_free(&shared->record);
  *shared = (struct shared_choices){0};
}
