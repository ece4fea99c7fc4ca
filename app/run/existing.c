#include "app/run/existing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavformat/avformat.h>

#include "app/control/png_text.h"
#include "app/job/manifest.h"
#include "app/job/mark.h"
#include "app/platform/app_platform.h"
#include "app/run/cut.h"
#include "app/run/job_facts.h"
#include "app/sink/target.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/picture_end.h"
#include "app/source/protocols.h"

enum { PATH_SIZE = 4096 };

/* What was found out about an output file, or a picture of a sequence, that exists already. */
struct found {
  bool readable; /* true: the file's first picture can be read */
  bool whole;    /* true: the file is one complete picture; also true for all other files (videos), where this is not
                  * tested */
  int width, height;
};

bool existing_is_sequence(const char *output, const char *container) {
  struct target target;
  return strncmp(output, "hash:", 5) != 0 && !target_choose(&target, output, container, NULL) &&
         target_is_sequence(&target);
}

int existing_check(const char *output, const char *container, struct error *err) {
  struct target target = {0};
  bool other = !strncmp(output, "hash:", 5) || !strcmp(output, "null:") || target_is_named_pipe(output);
  if (!other && target_choose(&target, output, container, err))
    return -1;
  if (!other && !target.stream && protocols_is_file(output))
    return 0;
  return error_set(err, STATUS_USAGE,
                   "--skip-existing: %s keeps nothing that could be skipped; name a file, or a "
                   "sequence such as %%04d.png",
                   target_name(output));
}

/* Reads the first picture of an existing output. Stores in *found whether the picture can be read, whether it is
 * complete, and its size. still: true: the file is a single picture, and is read to its end. */
static void look_into(struct found *found, const char *path, bool still, const atomic_bool *stop) {
  const struct source_options options = {.stop = stop, .secondary = true};
  struct source *source;
  struct source_info info;
  struct frame frame;
  struct error err;
  *found = (struct found){0};
  if (source_open(&source, path, &options, &err))
    return;
  source_get_info(source, &info);
  if (source_read(source, &frame, &err) > 0) {
    frame_release(&frame);
    found->readable = true;
    found->whole = !still || (source_read(source, &frame, &err) == 0 && !picture_is_cut(path));
  }
  found->width = info.width;
  found->height = info.height;
  source_close(&source);
}

static int differs_in_size(const char *path, const struct found *found, int width, int height, struct error *err) {
  return error_set(
      err, STATUS_USAGE,
      "%s: is there already and has %dx%d pixels in place of %dx%d; -y makes it again, or name another OUT", path,
      found->width, found->height, width, height);
}

/* --- outputs that are one file --- */

/* Returns the size in pixels that the options give for the output's pictures; 0 x 0: none, because the size follows
 * from the input. */
static struct parameter_size wanted_size(const struct options *options) {
  if (options->output_width)
    return (struct parameter_size){options->output_width > 0 ? options->output_width : 0,
                                   options->output_width > 0 ? options->output_height : 0};
  return options->values.size;
}

/* Fails unless a shard's file has the pictures that its manifest describes, since the command join would refuse to
 * put it together with the other shards. record: contents of the manifest; NULL: the shard has none. */
static int check_shard(const char *path, const struct job_record *record, struct error *err) {
  struct job_file file;
  if (!record || record->file_size < 0)
    return error_set(err, STATUS_USAGE, "%s: is there already, but has no whole manifest %s.json; -y makes it again",
                     path, path);
  if (job_file_describe(&file, path, err))
    return -1;
  bool same = job_file_is(&file, record->file_size, record->file_hash);
  job_file_free(&file);
  return same ? 0
              : error_set(err, STATUS_USAGE,
                          "%s: is there already, but is not the file that its manifest tells; -y makes it again", path);
}

/* If a manifest lies beside an existing output file, compares the render that it describes with the render that the
 * options ask for. For a shard, also compares the file's pictures with the manifest. Returns 0 if all agrees, or if
 * there is no manifest and the file is no shard; -1 with err. */
static int compare_manifest(const char *path, const struct options *options, struct error *err) {
  char name[PATH_SIZE];
  struct job_record record = {0};
  struct job job = {0};
  bool fits = (size_t)snprintf(name, sizeof name, "%s.json", path) < sizeof name;
  int got = fits ? job_record_read(&record, name, err) : 0;
  int status = got < 0 || (cut_asks_for_shard(options) && check_shard(path, got ? &record : NULL, err)) ? -1 : 0;
  if (!status && got > 0 && (job_facts(&job, options, NULL, NULL, err) || job_compare(&record.job, &job, err)))
    status = error_prefix(err, "%s: is there already, of another job: ", path);
  job_free(&job);
  job_record_free(&record);
  return status;
}

/* True if the file is a shard whose manifest says that it is complete and has no picture. */
static bool is_empty_shard(const char *path, const struct options *options) {
  char name[PATH_SIZE];
  struct job_record record;
  if (!cut_asks_for_shard(options) || (size_t)snprintf(name, sizeof name, "%s.json", path) >= sizeof name ||
      job_record_read(&record, name, NULL) <= 0)
    return false;
  bool empty = record.file_size >= 0 && !record.picture_count;
  job_record_free(&record);
  return empty;
}

int existing_file(const char *output, const struct options *options, const struct log *log, struct error *err) {
  const char *path = file_path(output);
  const struct parameter_size size = wanted_size(options);
  struct found found;
  if (!platform_is_file(path))
    return 0;
  look_into(&found, path, false, NULL);
  bool empty = !found.readable && is_empty_shard(path, options);
  bool same = empty || !size.width || (found.width == size.width && found.height == size.height);
  int status = !found.readable && !empty
                   ? error_set(err, STATUS_USAGE,
                               "%s: is there already, but no picture of it can be read; -y makes it again", output)
               : same ? compare_manifest(path, options, err)
                      : differs_in_size(output, &found, size.width, size.height, err);
  if (status && options->overwrite)
    return 0;
  if (!status)
    log_line(log, LOG_WARNING, "%s: is there already, and is skipped", output);
  return status ? -1 : 1;
}

bool existing_alike(const char *path, const char *other) {
  struct found first, second;
  look_into(&first, path, false, NULL);
  look_into(&second, other, false, NULL);
  return first.readable && second.readable && first.width == second.width && first.height == second.height &&
         ffmpeg_count_pictures(path) == ffmpeg_count_pictures(other);
}

/* --- outputs that are a sequence of pictures --- */

/* Compares the settings with which an existing picture was made, stored as a text in the picture, with the present
 * settings (`mark`). Returns 0 if they agree or the picture has no such text, or -1 with err. */
static int compare_mark(const char *path, const char *mark, struct error *err) {
  struct error why;
  char *text = NULL;
  if (!png_text_is(path) || png_text_read(path, JOB_MARK_KEY, &text, &why))
    return 0;
  int status = job_mark_compare(text, mark, err);
  free(text);
  return status ? error_prefix(err, "%s: is there already, made with other values: ", path) : 0;
}

static int compare_picture(const struct existing *existing, const char *path, const struct found *found,
                           struct error *err) {
  if (found->width != existing->width || found->height != existing->height)
    return differs_in_size(path, found, existing->width, existing->height, err);
  return existing->mark ? compare_mark(path, existing->mark, err) : 0;
}

/* Tests whether a picture's name is in use. Returns 1 if there is a readable file, 0 if there is nothing, or -1 with
 * err if something else has the name. */
static int find_picture(const char *path, struct error *err) {
  struct platform_entry there;
  if (platform_look(&there, path))
    return 0;
  if (there.kind != ENTRY_FILE)
    return error_set(err, STATUS_OUTPUT, "%s: is there already and is no file; remove it, or name another OUT", path);
  if (!platform_can_read(path))
    return error_set(err, STATUS_OUTPUT, "%s: is there already, but may not be read", path);
  return 1;
}

int existing_look(struct existing *existing, struct frame *frame, struct error *err) {
  char path[PATH_SIZE];
  struct found found;
  if (!frame->numbered) {
    frame->numbered = true;
    frame->number = ++existing->next;
  }
  if (av_get_frame_filename2(path, sizeof path, file_path(existing->pattern), frame->number,
                             AV_FRAME_FILENAME_FLAGS_MULTIPLE) < 0)
    return 0;
  int there = find_picture(path, err);
  if (there <= 0)
    return there;
  look_into(&found, path, true, existing->stop);
  if (!found.readable || !found.whole) {
    existing->broken++;
    log_line(existing->log, LOG_INFO, "%s: is not whole, and is made again", path);
    return 0;
  }
  int status = compare_picture(existing, path, &found, err);
  if (status && existing->replaces)
    return 0;
  existing->count += !status;
  return status ? -1 : 1;
}

void existing_tell(const struct existing *existing) {
  char broken[64] = "";
  if (existing->broken)
    snprintf(broken, sizeof broken, "; %ld that %s not whole %s made again", existing->broken,
             existing->broken == 1 ? "was" : "were", existing->broken == 1 ? "is" : "are");
  if (existing->count || existing->broken)
    log_line(existing->log, LOG_WARNING, "%ld picture%s there already, and %s left%s", existing->count,
             existing->count == 1 ? " was" : "s were", existing->count == 1 ? "is" : "are", broken);
}
