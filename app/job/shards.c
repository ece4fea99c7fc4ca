#include "app/job/shards.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "unet/base/text.h"

static const char manifest_end[] = ".json", shard_mark[] = ".shard-";

static int no_memory(const char *path, struct error *err) {
  return error_set(err, STATUS_FAILED, "%s: no memory to join it", path);
}

/* --- finding shards and reading their manifests --- */

static bool is_there(const struct shards *shards, const char *path) {
  for (int i = 0; i < shards->count; i++)
    if (!strcmp(shards->of[i].path, path))
      return true;
  return false;
}

/* Fails unless the file has the size and the hash that its manifest states. */
static int check_file(const char *path, const struct job_record *record, struct error *err) {
  struct job_file file;
  if (job_file_describe(&file, path, err))
    return -1;
  bool same = job_file_is(&file, record->file_size, record->file_hash);
  if (!same && file.size != record->file_size)
    error_set(err, STATUS_INPUT, "%s: has %" PRId64 " bytes, and %" PRId64 " by its manifest; copy or render it again",
              path, file.size, record->file_size);
  else if (!same)
    error_set(err, STATUS_INPUT, "%s: is not the file that its manifest tells; copy or render it again", path);
  job_file_free(&file);
  return same ? 0 : -1;
}

/* True if the file has the name of an unfinished shard: X.part, or X.part with a number after it. */
static bool is_part(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && !strncmp(dot, ".part", 5);
}

/* True if the file has the name of an unfinished shard (X.part, or X.part with a number after it), and the complete
 * shard X exists. */
static bool is_needless(const char *path) {
  char whole[PATH_MAX];
  const char *dot = strrchr(path, '.');
  if (!is_part(path) || snprintf(whole, sizeof whole, "%.*s", (int)(dot - path), path) >= (int)sizeof whole)
    return false;
  return platform_is_file(whole);
}

/* Reads the manifest of the shard at `path`. Returns 1; 0 if the shard is not complete yet; or -1 with err. */
static int read_shard(struct job_record *record, const char *path, struct error *err) {
  char manifest[PATH_MAX];
  if (snprintf(manifest, sizeof manifest, "%s%s", path, manifest_end) >= (int)sizeof manifest)
    return error_set(err, STATUS_INPUT, "%s: the name is too long", path);
  int got = job_record_read(record, manifest, err);
  if (got < 0)
    return -1;
  if (got && record->file_size < 0 && !is_part(path) && platform_is_file(path))
    return error_set(err, STATUS_INPUT, "%s: its manifest %s is cut off; copy or render both again", path, manifest);
  if (got && record->file_size < 0)
    return 0;
  if (!platform_is_file(path))
    return error_set(err, STATUS_INPUT, "%s: there is no such file", path);
  if (!got)
    return error_set(err, STATUS_INPUT,
                     "%s: is no shard: it has no manifest %s beside it, as --shard writes it, or a damaged one", path,
                     manifest);
  return check_file(path, record, err) ? -1 : 1;
}

/* Adds a shard to the list. Takes over `path`, which is allocated, and the contents of `record`. Returns 0, or -1 with
 * err. */
static int append(struct shards *shards, char *path, const struct job_record *record, struct error *err) {
  struct shard *grown = realloc(shards->of, (size_t)(shards->count + 1) * sizeof *grown);
  if (!grown)
    return no_memory(path, err);
  shards->of = grown;
  shards->of[shards->count++] = (struct shard){path, *record};
  return 0;
}

int shards_add(struct shards *shards, const char *given, struct error *err) {
  struct job_record record = {0};
  char *path = strdup(given);
  if (!path)
    return no_memory(given, err);
  if (text_ends(path, manifest_end) && manifest_is(path))
    path[strlen(path) - strlen(manifest_end)] = 0;
  bool known = is_there(shards, path) || is_needless(path);
  int got = known ? 0 : read_shard(&record, path, err);
  if (got > 0 && !append(shards, path, &record, err))
    return 0;
  if (!got && !known && !shards->unfinished) {
    shards->unfinished = path;
    path = NULL;
  }
  job_record_free(&record);
  free(path);
  return got ? -1 : 0;
}

/* The state of a search for an output's shards in a folder. */
struct search {
  struct shards *shards;
  const char *folder, *name; /* folder: where shards are looked for; name: the output's file name without folder */
  struct error *err;
  int status;
};

static void take_name(void *opaque, const char *name) {
  struct search *search = opaque;
  size_t length = strlen(search->name);
  char path[PATH_MAX];
  if (search->status || strncmp(name, search->name, length) != 0 ||
      strncmp(name + length, shard_mark, strlen(shard_mark)) != 0)
    return;
  bool fits = snprintf(path, sizeof path, "%s%s", search->folder, name) < (int)sizeof path;
  /* A file without a manifest is not a shard: the user may have other files with such names. */
  if (fits && text_ends(path, manifest_end) && manifest_is(path))
    search->status = shards_add(search->shards, path, search->err);
}

int shards_find(struct shards *shards, const char *output, struct error *err) {
  const char *slash = strrchr(output, '/');
  char folder[PATH_MAX] = "";
  size_t length = slash ? (size_t)(slash + 1 - output) : 0;
  if (length >= sizeof folder)
    return error_set(err, STATUS_INPUT, "%s: the name is too long", output);
  memcpy(folder, output, length);
  folder[length] = 0;
  struct search search = {shards, folder, output + length, err, 0};
  platform_list(length ? folder : ".", take_name, &search);
  return search.status;
}

/* --- checking that the shards belong to one job and that none is missing --- */

static int compare_begins(const void *one, const void *other) {
  const struct shard *a = one, *b = other;
  int order = job_time_compare(a->record.part.begin, b->record.part.begin);
  return order ? order : strcmp(a->path, b->path);
}

/* The text that lists, for an error message, which parts of a render no shard contains. */
struct missing {
  char text[300];
  size_t length;
  int count;
};

static double seconds_of(struct job_time time) {
  return (double)time.num / (double)time.den;
}

/* Adds to the message the part of the render that is missing between two shards. `before` NULL: the render's beginning
 * is missing; `after` NULL: its end. */
static void add_missing(struct missing *missing, const struct job_part *before, const struct job_part *after) {
  char what[160], when[80] = "";
  int count = before ? before->count : after->count;
  int first = before ? before->index + 1 : 1, last = after ? after->index - 1 : count;
  if (after)
    snprintf(when, sizeof when, "%.3f s to %.3f s", before ? seconds_of(before->end) : 0, seconds_of(after->begin));
  else
    snprintf(when, sizeof when, "%.3f s to the end", seconds_of(before->end));
  if (count > 1 && first == last)
    snprintf(what, sizeof what, "shard %d of %d (%s)", first, count, when);
  else if (count > 1 && first < last)
    snprintf(what, sizeof what, "shards %d to %d of %d (%s)", first, last, count, when);
  else if (before && before->numbered && after && after->numbered)
    snprintf(what, sizeof what, "frames %" PRId64 " to %" PRId64, before->last + 1, after->first - 1);
  else if (before && before->numbered)
    snprintf(what, sizeof what, "frames from %" PRId64 " on", before->last + 1);
  else if (after && after->numbered)
    snprintf(what, sizeof what, "frames before %" PRId64, after->first);
  else
    snprintf(what, sizeof what, "what is shown from %s", when);
  int added = snprintf(missing->text + missing->length, sizeof missing->text - missing->length, "%s%s",
                       missing->count ? ", " : "", what);
  if (missing->length + (size_t)added < sizeof missing->text)
    missing->length += (size_t)added;
  else
    missing->text[missing->length] = 0; /* the text of this missing part does not fit, so it is left out */
  missing->count++;
}

/* Fails if the parts of two consecutive shards have frames in common. */
static int check_overlap(const struct shard *before, const struct shard *after, struct error *err) {
  const struct job_part *part = &before->record.part;
  if (part->open || job_time_compare(after->record.part.begin, part->end) < 0)
    return error_set(err, STATUS_USAGE, "%s and %s have frames in common; give shards that adjoin", before->path,
                     after->path);
  size_t count = before->record.picture_count;
  if (count && after->record.picture_count && after->record.pictures[0].time <= before->record.pictures[count - 1].time)
    return error_set(err, STATUS_INPUT, "%s does not go on where %s ends; render both again", after->path,
                     before->path);
  return 0;
}

/* True if the part reaches the end of the job. */
static bool is_last(const struct job_part *part, const struct job *job) {
  return part->open || (job->end.den && job_time_compare(part->end, job->end) >= 0);
}

/* Finds for each shard a chain of adjoining shards to the end of the job. ways[i] becomes the smallest number of shards
 * in a chain from shard i, and 0 if there is none; next[i] is the shard after i in it. The shards are sorted by where
 * they begin. */
static void find_ways(int *ways, int *next, const struct shards *shards) {
  for (int i = shards->count - 1; i >= 0; i--) {
    const struct job_part *part = &shards->of[i].record.part;
    ways[i] = is_last(part, &shards->of[i].record.job) ? 1 : 0;
    next[i] = shards->count;
    for (int j = i + 1; !is_last(part, &shards->of[i].record.job) && j < shards->count; j++) {
      bool adjoin = !job_time_compare(shards->of[j].record.part.begin, part->end);
      if (!adjoin || !ways[j] || (ways[i] && ways[i] <= ways[j] + 1))
        continue;
      ways[i] = ways[j] + 1;
      next[i] = j;
    }
  }
}

/* Removes from the list all shards but these: shard `first`, and the adjoining shards that lead from it to the end of
 * the job. */
static void keep_way(struct shards *shards, const int *next, int first, const struct log *log) {
  int kept = 0, wanted = first, left_out = 0;
  for (int i = 0; i < shards->count; i++) {
    struct shard *shard = &shards->of[i];
    if (i == wanted) {
      wanted = next[i];
      shards->of[kept++] = *shard;
      continue;
    }
    if (!left_out++)
      log_line(log, LOG_WARNING, "%s: is of another division, whose shards are left out", shard->path);
    job_record_free(&shard->record);
    free(shard->path);
  }
  shards->count = kept;
}

/* If the render was divided in several ways, chooses shards that adjoin and make up all of it, as few as possible, and
 * removes the others from the list. Changes nothing if there are no such shards. Returns 0, or -1 with err. */
static int choose_shards(struct shards *shards, const struct log *log, struct error *err) {
  int first = -1, *ways = calloc((size_t)shards->count, 2 * sizeof *ways), *next = ways + shards->count;
  if (!ways)
    return no_memory(shards->of[0].path, err);
  find_ways(ways, next, shards);
  for (int i = 0; i < shards->count; i++)
    if (ways[i] && job_time_compare(shards->of[i].record.part.begin, (struct job_time){0, 1}) <= 0 &&
        (first < 0 || ways[i] < ways[first]))
      first = i;
  if (first >= 0 && ways[first] < shards->count)
    keep_way(shards, next, first, log);
  free(ways);
  return 0;
}

static int check_cover(const struct shards *shards, struct error *err) {
  struct missing missing = {0};
  const struct shard *first = &shards->of[0], *last = &shards->of[shards->count - 1];
  if (job_time_compare(first->record.part.begin, (struct job_time){0, 1}) > 0)
    add_missing(&missing, NULL, &first->record.part);
  for (int i = 1; i < shards->count; i++) {
    const struct job_part *before = &shards->of[i - 1].record.part, *after = &shards->of[i].record.part;
    if (check_overlap(&shards->of[i - 1], &shards->of[i], err))
      return -1;
    if (job_time_compare(before->end, after->begin) < 0)
      add_missing(&missing, before, after);
  }
  if (!is_last(&last->record.part, &last->record.job))
    add_missing(&missing, &last->record.part, NULL);
  if (!missing.count)
    return 0;
  return error_set(err, STATUS_INPUT, "missing: %s%s%s%s", missing.text, shards->unfinished ? "; not whole yet: " : "",
                   shards->unfinished ? shards->unfinished : "",
                   shards->unfinished ? ", which render --resume goes on with" : "");
}

int shards_check(struct shards *shards, const struct log *log, struct error *err) {
  char why[600];
  if (!shards->count)
    return error_set(err, STATUS_INPUT, "%s: is not whole yet; render --resume goes on with it", shards->unfinished);
  qsort(shards->of, (size_t)shards->count, sizeof *shards->of, compare_begins);
  const struct shard *first = &shards->of[0];
  for (int i = 1; i < shards->count; i++) {
    const struct shard *other = &shards->of[i];
    if (job_compare_parts(&first->record.job, &other->record.job, err))
      return error_prefix(err, "%s: is not of the same job as %s: ", other->path, first->path);
  }
  if (choose_shards(shards, log, err) || check_cover(shards, err))
    return -1;
  first = &shards->of[0];
  for (int i = 1; i < shards->count; i++)
    if (job_rounds_differently(&first->record.job, &shards->of[i].record.job, why, sizeof why))
      log_line(log, LOG_WARNING, "%s and %s: made on %s: their pictures may differ by rounding", first->path,
               shards->of[i].path, why);
  return 0;
}

int shards_check_empty(const struct shards *shards, const char *output, struct error *err) {
  struct missing missing = {0};
  for (int i = 0; i < shards->count; i++)
    if (!shards->of[i].record.picture_count)
      add_missing(&missing, i ? &shards->of[i - 1].record.part : NULL,
                  i + 1 < shards->count ? &shards->of[i + 1].record.part : NULL);
  return missing.count
             ? error_set(err, STATUS_INPUT, "%s: is without %s: the input has no picture there that can be read",
                         output, missing.text)
             : 0;
}

void shards_free(struct shards *shards) {
  for (int i = 0; i < shards->count; i++) {
    job_record_free(&shards->of[i].record);
    free(shards->of[i].path);
  }
  free(shards->of);
  free(shards->unfinished);
  *shards = (struct shards){0};
}
