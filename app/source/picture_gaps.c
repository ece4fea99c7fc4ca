/* Messages about pictures of a sequence that are missing or damaged. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "app/source/picture_files_impl.h"
#include "unet/base/text.h"

/* A list of file names for a message; names for which `text` has no room are only counted. */
struct names {
  char text[180];
  size_t used;
  long untold;
};

/* Adds to the message `count` missing or damaged pictures that follow each other in the sequence. first, last: file
 * names of the first and the last of them. */
static void tell(struct names *names, const char *first, const char *last, long count) {
  char words[2 * PATH_MAX];
  int length = snprintf(words, sizeof words, "%s%s%s%s", names->used ? ", " : "", first,
                        count > 2   ? " to "
                        : count > 1 ? ", "
                                    : "",
                        count > 1 ? last : "");
  if (names->untold || (size_t)length >= sizeof names->text - names->used) {
    names->untold += count;
    return;
  }
  memcpy(names->text + names->used, words, (size_t)length + 1);
  names->used += (size_t)length;
}

static void end_names(const struct names *names, const char *what, char *text, size_t size) {
  size_t used = strlen(text);
  if (!names->used && !names->untold)
    return;
  used += (size_t)snprintf(text + used, size - used, "%s%s: %s", used ? "; " : "", what, names->text);
  if (names->untold && used < size)
    snprintf(text + used, size - used, " and %ld more", names->untold);
}

/* Returns the name of a sequence's file for messages: without its folder, unless the number that differs from file to
 * file is in the folder's name. */
static const char *short_name(const struct pictures *pictures, const char *path) {
  const char *name = text_last_part(path);
  return pictures->is_glob || pictures->number_at >= (size_t)(name - path) ? name : path;
}

static void tell_numbers(const struct pictures *pictures, struct names *names, int64_t first, int64_t last) {
  char paths[2][PATH_MAX];
  int base = pictures->files[0].number;
  if (first > last || av_get_frame_filename(paths[0], PATH_MAX, pictures->pattern, (int)(base + first)) < 0 ||
      av_get_frame_filename(paths[1], PATH_MAX, pictures->pattern, (int)(base + last)) < 0)
    return;
  tell(names, short_name(pictures, paths[0]), short_name(pictures, paths[1]), (long)(last - first + 1));
}

/* Returns where a row of pictures with the same error at consecutive places ends: the index after its last picture.
 * begin: index of its first one. */
static size_t end_of_row(const struct pictures *pictures, size_t begin, size_t end,
                         bool (*is_wrong)(const struct pictures *, const struct picture_file *)) {
  size_t i = begin + 1;
  while (i < end && is_wrong(pictures, &pictures->files[i]) &&
         pictures->files[i].time == pictures->files[i - 1].time + 1)
    i++;
  return i;
}

static bool is_damaged(const struct pictures *pictures, const struct picture_file *file) {
  return file->state == PICTURE_UNREADABLE || (file->state == PICTURE_SENT && file->time < pictures->newest);
}

static bool is_damaged_at_end(const struct pictures *pictures, const struct picture_file *file) {
  (void)pictures;
  return file->state == PICTURE_UNREADABLE || file->state == PICTURE_SENT;
}

static void tell_damaged(const struct pictures *pictures, size_t begin, size_t end, bool ended, struct names *names) {
  bool (*is_wrong)(const struct pictures *, const struct picture_file *) = ended ? is_damaged_at_end : is_damaged;
  for (size_t i = begin; i < end; i++) {
    const struct picture_file *file = &pictures->files[i];
    if (!is_wrong(pictures, file))
      continue;
    size_t next = end_of_row(pictures, i, end, is_wrong);
    tell(names, short_name(pictures, file->path), short_name(pictures, pictures->files[next - 1].path),
         (long)(next - i));
    i = next - 1;
  }
}

/* Adds the missing pictures from position `first` to `last` (in the sequence, from 0) to the message; none of them has
 * a file. Pictures that --step leaves out are not added. */
static void tell_gap(const struct pictures *pictures, struct names *names, int64_t first, int64_t last) {
  const struct source_options *options = &pictures->options;
  if (options->step <= 1) {
    tell_numbers(pictures, names, first, last);
    return;
  }
  for (int64_t from = first, to; from <= last; from = to + 1) {
    for (to = from; to <= last && pictures_are_wanted(options, pictures_number_at(pictures, to)); to++) {
    }
    tell_numbers(pictures, names, from, to - 1);
  }
}

/* Adds the missing pictures from position `begin` up to but not including `end` to the message. For a glob, only files
 * that existed when it was listed can be missing. */
static void tell_missing(const struct pictures *pictures, int64_t begin, int64_t end, struct names *names) {
  int64_t from = begin; /* position in the sequence after the last existing picture found so far; `begin` before the
                         * first */
  for (size_t i = pictures_find_time(pictures, begin); i < pictures->count && pictures->files[i].time < end; i++) {
    const struct picture_file *file = &pictures->files[i];
    bool missing = file->state == PICTURE_MISSING;
    if (pictures->is_glob && missing)
      tell(names, short_name(pictures, file->path), "", 1);
    if (!pictures->is_glob && !missing)
      tell_gap(pictures, names, from, file->time - 1);
    if (!missing)
      from = file->time + 1;
  }
  int64_t last = pictures->files[pictures->count - 1].time + 1;
  if (!pictures->is_glob)
    tell_gap(pictures, names, from, (end < last ? end : last) - 1);
}

int pictures_check(const struct pictures *pictures, int64_t begin, int64_t end, bool ended, struct error *err) {
  struct names missing = {0}, damaged = {0};
  char text[480] = "";
  begin = begin > 0 ? begin : 0;
  tell_missing(pictures, begin, end, &missing);
  tell_damaged(pictures, pictures_find_time(pictures, begin), pictures_find_time(pictures, end), ended, &damaged);
  end_names(&missing, "missing", text, sizeof text);
  end_names(&damaged, "damaged", text, sizeof text);
  return *text ? error_set(err, STATUS_INPUT, "%s: %s", pictures->spec, text) : 0;
}
