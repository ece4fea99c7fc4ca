#include "app/sink/files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavformat/avformat.h>

#include "app/platform/app_platform.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/picture_files.h"
#include "app/source/pipe_input.h"
#include "app/source/protocols.h"
#include "unet/base/text_file.h"

/* PLAYLIST_DEPTH: greatest nesting of playlists that name other playlists; deeper ones are not read. PLAYLIST_BYTES: a
 * file with more bytes is not taken for a playlist. */
enum { PLAYLIST_DEPTH = 3, PLAYLIST_BYTES = 1 << 20 };

static int no_memory(struct error *err) {
  return error_set(err, STATUS_FAILED, "no memory to compare input and output");
}

static int add_entry(struct files *files, const struct platform_entry *file, const char *path, struct error *err) {
  if (files->count == files->capacity) {
    size_t capacity = files->capacity ? files->capacity * 2 : 16;
    struct file_entry *entries = realloc(files->entries, capacity * sizeof *entries);
    if (!entries)
      return no_memory(err);
    files->entries = entries;
    files->capacity = capacity;
  }
  char *copy = strdup(path);
  if (!copy)
    return no_memory(err);
  files->entries[files->count++] = (struct file_entry){file->volume, file->number, copy};
  return 0;
}

int files_add(struct files *files, const char *path, struct error *err) {
  struct platform_entry file;
  return platform_look(&file, path) ? 0 : add_entry(files, &file, path, err);
}

static int add_found(void *opaque, const char *path) {
  return files_add(opaque, path, NULL) ? 1 : 0;
}

int files_add_glob(struct files *files, const char *pattern, struct error *err) {
  return platform_glob(pattern, add_found, files) ? no_memory(err) : 0;
}

int files_add_sequence(struct files *files, const char *pattern, long first, long end,
                       const struct source_options *wanted, struct error *err) {
  char globbed[2 * PATH_MAX];
  size_t number_at = 0;
  struct files found = {0};
  if (!av_filename_number_test(pattern) || !pictures_glob(pattern, globbed, sizeof globbed, &number_at))
    return 0;
  int failed = files_add_glob(&found, globbed, err);
  for (size_t i = 0; i < found.count && !failed; i++) {
    long number = pictures_number_of(found.entries[i].path, pattern, number_at);
    if (number >= first && number < end && (!wanted || pictures_are_wanted(wanted, number)))
      failed = files_add(files, found.entries[i].path, err);
  }
  files_free(&found);
  return failed;
}

static bool has(const struct files *files, const struct platform_entry *file) {
  for (size_t i = 0; i < files->count; i++)
    if (files->entries[i].volume == file->volume && files->entries[i].number == file->number)
      return true;
  return false;
}

static int add_named(struct files *files, const char *folder, char *text, const char *separators, int depth,
                     struct error *err);

/* Adds a file to the list. If the file is a text such as a playlist, also adds the files that the text names. Most
 * words of a text name no file and are skipped. */
static int add_with_contents(struct files *files, const char *path, int depth, struct error *err) {
  struct platform_entry file;
  char folder[PATH_MAX], *text;
  size_t length;
  if (platform_look(&file, path) || file.kind != ENTRY_FILE || has(files, &file))
    return 0;
  if (add_entry(files, &file, path, err))
    return -1;
  if (depth >= PLAYLIST_DEPTH || file.size > PLAYLIST_BYTES || text_read(path, PLAYLIST_BYTES, &text, &length, NULL))
    return 0;
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash + 1 - path) : 0, path);
  int failed = 0;
  if (strlen(text) == length) {
    /* the text is split twice: at line ends only, for names with blanks, and at all blanks */
    char *copy = strdup(text);
    failed = !copy ? no_memory(err)
                   : add_named(files, folder, copy, "\r\n'\"<>", depth + 1, err) ||
                         add_named(files, folder, text, "\r\n'\"<>=, \t", depth + 1, err);
    free(copy);
  }
  free(text);
  return failed ? -1 : 0;
}

/* Adds all files whose names are in `text`, which is changed, to the list. separators: characters that separate names.
 * folder: the base of relative names, with a slash at its end; "": the current one. depth: number of nested playlists
 * through which this text was reached. */
static int add_named(struct files *files, const char *folder, char *text, const char *separators, int depth,
                     struct error *err) {
  char path[2 * PATH_MAX], *rest = NULL;
  int failed = 0;
  for (char *word = strtok_r(text, separators, &rest); word && !failed; word = strtok_r(NULL, separators, &rest)) {
    const char *name = file_path(word);
    int length = snprintf(path, sizeof path, "%s%s", *name == '/' ? "" : folder, name);
    if (length < (int)sizeof path)
      failed = add_with_contents(files, path, depth, err);
  }
  return failed;
}

static void drop_characters(char *text, const char *unwanted) {
  char *to = text;
  for (const char *at = text; *at; at++)
    if (!strchr(unwanted, *at))
      *to++ = *at;
  *to = 0;
}

/* Adds the files named inside forms such as "concat:a.ts|b.ts", "subfile,,start,0,end,9,,:a.mp4" and
 * "lavfi:movie=a.mp4". FFmpeg's filters remove backslashes and quotes from names, so the text is also tried without
 * backslashes and quotes. */
static int add_wrapped(struct files *files, const char *spec, struct error *err) {
  static const char *const unwanted[] = {"", "\\", "\\'"};
  int failed = 0;
  for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted && !failed; i++) {
    char *copy = strdup(spec);
    if (!copy)
      return no_memory(err);
    drop_characters(copy, unwanted[i]);
    failed = add_named(files, "", copy, ":|=,;[]'", 0, err);
    free(copy);
  }
  return failed;
}

/* Adds all existing picture files that match a sequence's name (a glob, or a name with %d). Options that select only
 * some of them are ignored, so the list may have files that will not be read. kind: FFmpeg's option pattern_type; NULL:
 * not given. */
static int add_pictures(struct files *files, const char *path, const char *kind, struct error *err) {
  char globbed[PATH_MAX];
  if (kind && !strcmp(kind, "glob"))
    return files_add_glob(files, path, err);
  if (files_add_sequence(files, path, 0, LONG_MAX, NULL, err))
    return -1;
  return pictures_unmark_glob(path, globbed, sizeof globbed) ? files_add_glob(files, globbed, err) : 0;
}

int files_add_input(struct files *files, const char *spec, const struct source_options *options, struct error *err) {
  struct platform_entry file;
  AVDictionary *wishes = NULL;
  int fd = pipe_input_descriptor(spec);
  /* any text after "pipe:" that is not a number stands for standard input, as in FFmpeg */
  if (fd < 0 && !strncmp(spec, "pipe:", 5))
    fd = STANDARD_INPUT;
  if (fd >= 0)
    return platform_look_at(&file, fd) ? 0 : add_entry(files, &file, "standard input", err);
  if (options->input_options)
    av_dict_parse_string(&wishes, options->input_options, "=", ":", 0);
  const AVDictionaryEntry *kind = av_dict_get(wishes, "pattern_type", NULL, 0);
  int failed = add_with_contents(files, file_path(spec), 0, err) || add_wrapped(files, spec, err) ||
               add_pictures(files, file_path(spec), kind ? kind->value : NULL, err);
  av_dict_free(&wishes);
  return failed ? -1 : 0;
}

static int compare(const void *one, const void *other) {
  const struct file_entry *a = one, *b = other;
  if (a->volume != b->volume)
    return a->volume < b->volume ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

const char *files_shared(const struct files *one, struct files *other) {
  if (other->count)
    qsort(other->entries, other->count, sizeof *other->entries, compare);
  for (size_t i = 0; i < one->count && other->count; i++)
    if (bsearch(&one->entries[i], other->entries, other->count, sizeof *other->entries, compare))
      return one->entries[i].path;
  return NULL;
}

void files_free(struct files *files) {
  for (size_t i = 0; i < files->count; i++)
    free(files->entries[i].path);
  free(files->entries);
  *files = (struct files){0};
}
