/* The command join: joins the files of a render's shards into one output. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/job/shards.h"
#include "app/options/options.h"
#include "app/platform/app_platform.h"
#include "app/run/cut.h"
#include "app/run/job_facts.h"
#include "app/run/joining.h"
#include "app/run/progress.h"
#include "app/run/setup.h"
#include "app/sink/files.h"
#include "app/sink/part.h"
#include "app/sink/target.h"
#include "app/source/picture_files.h"
#include "app/source/protocols.h"
#include "app/source/repeated.h"
#include "unet/base/address.h"
#include "unet/base/platform.h"

struct join {
  const struct options *options;
  struct log log;
  struct shards shards;
  /* copy of the command's options; the options for reading the input and its sound are those of the shards' render */
  struct options of_job;
  struct source_options source;
  const char *input; /* the input whose sound is copied; NULL: none */
  const char *container;
  struct progress progress;
  int64_t begun_ns; /* time (platform_now_ns) at which copying the shards' pictures began */
};

/* Fails if the output is no file ("hash:", "null:"), or is a sequence of picture files, whose shards need no
 * joining. */
static int check_kind(const struct options *options, struct error *err) {
  struct target target;
  if (!strncmp(options->output, "hash:", 5) || !strcmp(options->output, "null:"))
    return error_set(err, STATUS_USAGE, "%s: join writes a file; name one", options->output);
  if (!target_choose(&target, options->output, NULL, NULL) && !strcmp(target.container->name, "image2"))
    return error_set(err, STATUS_USAGE,
                     "%s: pictures of a sequence need no joining: each shard has written its own under their numbers",
                     options->output);
  return 0;
}

static int gather(struct join *join, struct error *err) {
  const struct options *options = join->options;
  for (int i = 0; i < options->file_count; i++)
    if (shards_add(&join->shards, options->files[i], err))
      return -1;
  if (!options->file_count && shards_find(&join->shards, options->output, err))
    return -1;
  if (!join->shards.count && !join->shards.unfinished)
    return error_set(err, STATUS_INPUT, "%s: there are no shards %s.shard-* of it; render --shard makes them",
                     options->output, options->output);
  return shards_check(&join->shards, &join->log, err);
}

/* --- the output: choosing its container, and checking that it can be written --- */

static bool names_format(const struct job *job) {
  for (size_t i = 0; i < job->option_count; i++)
    if (!strcmp(job->options[i].name, "--output-format"))
      return true;
  return false;
}

/* Chooses the shards' own container for the output, because the codec's header in the shards fits no other container.
 * Returns 0, or -1 with err if OUT's name asks for another container. */
static int choose_container(struct join *join, const struct job *job, struct error *err) {
  struct target target, made;
  const char *output = join->options->output;
  join->container = job->container;
  if (!job->container || names_format(job) || target_choose(&target, output, NULL, NULL) ||
      !strcmp(target.container->name, job->container) || target_choose(&made, output, job->container, NULL))
    return 0;
  const char *extensions = made.container->extensions ? made.container->extensions : job->container;
  return error_set(err, STATUS_USAGE, "%s: the shards were made for %s: give OUT a name that ends in .%.*s", output,
                   job->container, (int)strcspn(extensions, ","), extensions);
}

/* Fails if the output is one of the shards or one of their manifests. */
static int check_shared(const struct join *join, struct error *err) {
  struct files output = {0}, shards = {0};
  int status = platform_is_file(join->options->output) ? files_add(&output, join->options->output, err) : 0;
  for (int i = 0; i < join->shards.count && !status; i++) {
    char manifest[PATH_MAX];
    snprintf(manifest, sizeof manifest, "%s.json", join->shards.of[i].path);
    status = files_add(&shards, join->shards.of[i].path, err) || files_add(&shards, manifest, err) ? -1 : 0;
  }
  const char *shared = status ? NULL : files_shared(&output, &shards);
  if (shared)
    status = error_set(err, STATUS_USAGE, "%s: is one of the shards or their manifests; give another output", shared);
  files_free(&output);
  files_free(&shards);
  return status;
}

/* Returns true if an unfinished file, left by a process that was killed, is from the same render as the shards. Such a
 * file may be deleted, because the shards contain all its pictures. */
static bool is_left_of_job(const struct join *join, const struct part_left *left) {
  struct job_record record;
  bool same = job_record_read(&record, left->manifest, NULL) > 0;
  if (!same)
    return false;
  same = !job_compare_parts(&join->shards.of[0].record.job, &record.job, NULL);
  job_record_free(&record);
  return same;
}

static int check_output(struct join *join, struct error *err) {
  struct part_left left;
  const struct options *options = join->options;
  bool known = part_find(&left, file_path(options->output)) && is_left_of_job(join, &left);
  const struct sink_wish wish = {
      .spec = options->output,
      .format = join->container,
      .input = join->input ? join->input : join->shards.of[0].path,
      .source = &join->source,
      .overwrite = options->overwrite,
      .segments = "join",
      .resume = known,
  };
  if (check_shared(join, err) || sink_check(&wish, err))
    return -1;
  if (known)
    part_forget(&left);
  return 0;
}

/* --- the input, whose sound is copied --- */

static bool is_sequence(const struct join *join, const char *input) {
  struct pictures *pictures;
  bool is = !source_pictures_open(&pictures, input, &join->source, NULL) && pictures;
  source_pictures_close(&pictures);
  return is;
}

/* Fails unless the file has the size and hash of the input of which the shards were made. */
static int check_input(const char *input, const struct job *job, struct error *err) {
  struct job_file file;
  if (job_file_describe(&file, input, err))
    return -1;
  bool same = job_file_is(&file, job->input.size, job->input.hash);
  job_file_free(&file);
  return same ? 0
              : error_set(err, STATUS_USAGE,
                          "%s: is not the input that the shards were made of; --input IN names that, and --no-sound "
                          "does without it",
                          address_shown(input).text);
}

/* Finds the input whose sound is copied, and computes which part of it the render covers. Returns 0, or -1 with err. */
static int open_input(struct join *join, const struct job *job, struct error *err) {
  struct cut cut;
  const char *input = join->options->input ? join->options->input : job->input.name;
  join->of_job = *join->options;
  join->of_job.input = input;
  join->of_job.hwdec = HWDEC_NO;
  if (job_facts_of_input(job, &join->of_job, err) ||
      setup_source_options(&join->source, &join->of_job, false, NULL, err))
    return -1;
  if (join->options->no_sound || !input || is_sequence(join, input))
    return 0;
  if (job->input.size >= 0 && !platform_is_file(file_path(input)))
    return error_set(err, STATUS_INPUT,
                     "%s: the input that the shards were made of is not there; --input IN says where it is, --no-sound "
                     "does without it",
                     address_shown(input).text);
  if (job->input.size >= 0 && check_input(input, job, err))
    return -1;
  join->input = input;
  if (repeated_measure(input, &join->source, err))
    return -1;
  /* Nothing is logged about rounded times, because the render of each shard has done so. */
  int status = cut_choose(&cut, &join->of_job, &join->source, err);
  join->source.log = &join->log;
  return status;
}

/* --- joining the shards --- */

static void show_progress(void *opaque, long pictures) {
  struct join *join = opaque;
  progress_update(&join->progress, pictures, (double)(platform_now_ns() - join->begun_ns) * 1e-9);
}

/* Returns true if the shards' render went on to the end of the input or of the selected time, and not only to a number
 * of frames. All remaining sound up to that end then belongs to the output. */
static bool is_whole(const struct join *join, long pictures) {
  const struct shard *last = &join->shards.of[join->shards.count - 1];
  return last->record.end.whole && (!join->of_job.frames || pictures < join->of_job.frames);
}

static int join_all(struct join *join, struct error *err) {
  long pictures = 0;
  struct shards *shards = &join->shards;
  struct sink_kept *kept = calloc((size_t)shards->count, sizeof *kept);
  if (!kept)
    return error_set(err, STATUS_FAILED, "%s: no memory to join it", join->options->output);
  int count = 0; /* number of shards that have pictures */
  struct job_record *last = NULL;
  for (int i = 0; i < shards->count; i++) {
    struct job_record *record = &shards->of[i].record;
    if (!record->picture_count)
      continue;
    last = record;
    kept[count++] = (struct sink_kept){shards->of[i].path, record};
    pictures += (long)record->picture_count;
  }
  if (!last) {
    free(kept);
    return error_set(err, STATUS_INPUT, "%s: none of its shards has a picture", join->options->output);
  }
  last->end.whole = is_whole(join, pictures);
  const struct joining joining = {
      .output = join->options->output,
      .container = join->container,
      .kept = kept,
      .kept_count = count,
      .sound = join->input,
      .source = &join->source,
      .no_sound = join->of_job.no_sound,
      .sound_track = join->of_job.sound_track,
      .replace = join->options->overwrite || platform_is_file(file_path(join->options->output)),
      .copied = show_progress,
      .opaque = join,
      .log = &join->log,
  };
  const enum progress_kind kind = progress_wanted(join->options);
  progress_init(&join->progress, kind, progress_stream(kind, join->options->output), pictures);
  join->begun_ns = platform_now_ns();
  int status = joining_run(&joining, &pictures, err);
  if (!status)
    status = shards_check_empty(shards, join->options->output, err);
  const bool ended = !status || (pictures && err->status == STATUS_INPUT); /* the output was written, maybe without its
                                                                            * sound */
  progress_end(&join->progress, ended, pictures, (double)(platform_now_ns() - join->begun_ns) * 1e-9);
  free(kept);
  if (pictures && ended && join->options->verbose >= 0)
    fprintf(stderr, "%s: %ld frames of %d shard%s\n", join->options->output, pictures, shards->count,
            shards->count == 1 ? "" : "s");
  return status;
}

int command_join(const struct options *options, struct error *err) {
  struct join join = {.options = options};
  setup_log(&join.log, options);
  int status = check_kind(options, err) || gather(&join, err) ? -1 : 0;
  const struct job *job = status ? NULL : &join.shards.of[0].record.job;
  if (!status)
    status = open_input(&join, job, err) || choose_container(&join, job, err) || check_output(&join, err) ? -1 : 0;
  if (!status)
    status = join_all(&join, err);
  if (status)
    progress_fail(options->progress, progress_stream(options->progress, options->output), err);
  shards_free(&join.shards);
  return status;
}
