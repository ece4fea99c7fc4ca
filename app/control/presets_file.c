#include "app/control/presets_file.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/control/png_text.h"
#include "app/control/thumbnail.h"
#include "app/flow/wait.h"
#include "app/platform/app_platform.h"
#include "app/platform/paths.h"
#include "unet/base/text.h"

enum { BYTES_MAX = 16 << 20, LOOK_AGAIN_MS = 1000, LINE_BYTES = 640 };

struct presets_file {
  const char *path;
  const struct log *log;
  pthread_t thread;
  /* text of the file of presets when it was last read, to notice changes; only the thread that saves presets uses it;
   * NULL: there was no file */
  char *text;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by `lock`. */
  struct presets *presets;
  struct parameters *wish; /* values that wait to be saved as a new preset; owned; NULL: none */
  struct frame picture;    /* the small picture to be saved with the values in `wish`; picture.picture is NULL if there
                            * is none */
  char *members;           /* JSON object whose members are to replace those of the same names in the file's outermost
                            * object (presets_file_keep); owned; NULL: none */
  bool ending;
  char line[LINE_BYTES]; /* the last message of the thread that saves presets; presets_file_refresh returns it; "":
                          * none */
  enum log_level level;
};

PRINTF_LIKE(3, 4) static void tell(struct presets_file *file, enum log_level level, const char *format, ...);

static void tell(struct presets_file *file, enum log_level level, const char *format, ...) {
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&file->lock);
  file->level = level;
  vsnprintf(file->line, sizeof file->line, format, args);
  pthread_mutex_unlock(&file->lock);
  va_end(args);
}

/* --- reading the file, and again if another program has changed it --- */

static int read_whole(const char *path, char **text, struct error *err) {
  struct platform_file from;
  *text = NULL;
  if (platform_open(&from, path))
    return errno == ENOENT ? 0 : error_set(err, STATUS_USAGE, "%s: cannot be read: %s", path, strerror(errno));
  int status = 0;
  size_t size = (size_t)from.size;
  if (!from.regular || from.size > BYTES_MAX)
    status = error_set(err, STATUS_USAGE, "%s: this is no file of presets", path);
  else if (!(*text = calloc(1, size + 1)))
    status = error_set(err, STATUS_FAILED, "%s: no memory to read it", path);
  else if (platform_read(&from, 0, *text, size) < 0)
    status = error_set(err, STATUS_USAGE, "%s: cannot be read: %s", path, strerror(errno));
  platform_close(&from);
  return status;
}

/* Reads the text of a file of presets, or the preset that is stored in a PNG picture. The caller frees *text. *text
 * NULL: the file does not exist, which is no error. Returns 0, or -1 with err. */
static int read_text(const char *path, char **text, struct error *err) {
  if (png_text_is(path))
    return png_text_read(path, PRESETS_PNG_KEY, text, err);
  return read_whole(path, text, err);
}

/* Reads the file of presets again, and replaces the presets in memory if the file's text has changed. Returns 1 if the
 * text has changed, 0 if not, or -1 with err set; after an error the presets in memory are unchanged. */
static int look(struct presets_file *file, struct error *err) {
  char *text;
  struct presets *fresh = NULL;
  if (read_text(file->path, &text, err))
    return -1;
  bool same = file->presets && (text && file->text ? !strcmp(text, file->text) : text == file->text);
  if (same) {
    free(text);
    return 0;
  }
  free(file->text);
  file->text = text;
  if (presets_read(&fresh, text, err))
    return error_prefix(err, "%s: ", file->path);
  pthread_mutex_lock(&file->lock);
  struct presets *before = file->presets;
  file->presets = fresh;
  pthread_mutex_unlock(&file->lock);
  presets_free(&before);
  return 1;
}

static void look_again(struct presets_file *file) {
  struct error err;
  int found = look(file, &err);
  if (found < 0)
    tell(file, LOG_WARNING, "%s; the presets stay as they were", err.message);
  else if (found)
    tell(file, LOG_INFO, "%s: %d presets, read again", file->path, presets_file_count(file));
}

/* --- writing the file with a new preset --- */

/* Writes the text to a temporary file and renames that file to `path`, so that the old file stays intact if writing
 * fails. Returns 0, or -1 with err. */
static int write_whole(const char *path, const char *text, struct error *err) {
  char *real = platform_real_path(path), *temporary = platform_temporary_name(real ? real : path);
  FILE *out = temporary ? platform_create(temporary) : NULL;
  bool good = out && fputs(text, out) >= 0 && fputc('\n', out) != EOF && !platform_save(out);
  if (out && fclose(out))
    good = false;
  if (good && platform_replace(temporary, real ? real : path))
    good = false;
  int reason = errno;
  if (out && !good)
    platform_remove(temporary);
  free(temporary);
  free(real);
  return good ? 0 : error_set(err, STATUS_OUTPUT, "%s: cannot be written: %s", path, strerror(reason));
}

/* Writes the small picture of a preset, and stores in `place` its path relative to the folder of the presets' file.
 * Returns 0, or -1 with err. */
static int write_picture(const struct presets_file *file, const char *name, const struct frame *picture,
                         char place[PATHS_MAX], struct error *err) {
  static const char folder_end[] = "-pictures";
  char path[PATHS_MAX], folder[PATHS_MAX];
  if (strlen(file->path) + strlen(name) + 32 > sizeof path)
    return error_set(err, STATUS_OUTPUT, "%.200s: the path is too long for pictures beside it", file->path);
  snprintf(folder, sizeof folder, "%s%s", file->path, folder_end);
  snprintf(path, sizeof path, "%.4000s/%.80s.png", folder, name);
  snprintf(place, PATHS_MAX, "%.4000s%s/%.80s.png", text_last_part(file->path), folder_end, name);
  if (!paths_make(folder))
    return error_set(err, STATUS_OUTPUT, "%.300s: %s", folder, strerror(errno));
  return frame_wait(picture, MEMORY_HOST, err) < 0 ? -1 : thumbnail_write(path, picture, err);
}

/* Appends a preset to the file. lacks: if the preset's picture could not be written, gets a message that says why;
 * otherwise stays unchanged. Returns 0, or -1 with err. */
static int add_preset(struct presets_file *file, const char *name, const struct parameters *values,
                      const struct frame *picture, struct error *lacks, struct error *err) {
  char place[PATHS_MAX];
  struct presets *more = NULL;
  if (png_text_is(file->path))
    return error_set(err, STATUS_OUTPUT, "%s: no preset is saved in a picture; --presets FILE.json takes them",
                     file->path);
  if (look(file, err) < 0 || presets_read(&more, file->text, err))
    return -1;
  int status = presets_add(more, name, values, err);
  if (!status && picture->plane[0]) {
    if (!write_picture(file, name, picture, place, lacks))
      presets_add_picture(more, place);
  }
  char *text = status ? NULL : presets_print(more);
  if (!status && !text)
    status = error_set(err, STATUS_FAILED, "no memory for one more preset");
  if (!status)
    status = write_whole(file->path, text, err);
  free(text);
  presets_free(&more);
  return status;
}

static void save(struct presets_file *file, const struct parameters *values, const struct frame *picture) {
  char name[32];
  struct tm local;
  struct error err, lacks = {.message = ""};
  platform_local_time(&local);
  /* the time comes first, because buttons and pages that are narrow show the beginning of a name */
  strftime(name, sizeof name, "%H:%M:%S %Y-%m-%d", &local);
  if (add_preset(file, name, values, picture, &lacks, &err) || look(file, &err) < 0)
    tell(file, LOG_WARNING, "not saved: %s", err.message);
  else if (*lacks.message)
    tell(file, LOG_WARNING, "saved preset %d: %s, without its picture: %s", presets_file_count(file), name,
         lacks.message);
  else
    tell(file, LOG_INFO, "saved preset %d: %s", presets_file_count(file), name);
}

/* Reads the file again, replaces its members (of the outermost JSON object) by those in the JSON text `members`, and
 * writes it. Returns 0, or -1 with err. */
static int set_members(struct presets_file *file, const char *members, struct error *err) {
  struct presets *more = NULL;
  if (png_text_is(file->path))
    return error_set(err, STATUS_OUTPUT, "%s: no show is saved in a picture", file->path);
  if (look(file, err) < 0 || presets_read(&more, file->text, err))
    return -1;
  int status = presets_set_members(more, members, err);
  char *text = status ? NULL : presets_print(more);
  if (!status && !text)
    status = error_set(err, STATUS_FAILED, "no memory for the show");
  if (!status)
    status = write_whole(file->path, text, err);
  free(text);
  presets_free(&more);
  return status;
}

static void keep(struct presets_file *file, const char *members) {
  struct error err;
  if (set_members(file, members, &err) || look(file, &err) < 0)
    tell(file, LOG_WARNING, "not saved: %s", err.message);
  else
    tell(file, LOG_INFO, "saved the show: %s", file->path);
}

/* --- the thread that saves presets --- */

/* Waits until there is something to save (presets_file_save, presets_file_keep) or the thread is to end, but at most
 * LOOK_AGAIN_MS milliseconds. *wish gets the values to be saved as a preset, which the caller frees; NULL: none.
 * *picture gets the preset's picture, which the caller releases. *members gets a JSON object with members to be set in
 * the file, which the caller frees; NULL: none. Returns false if the thread is to end. */
static bool wait_for_work(struct presets_file *file, struct parameters **wish, struct frame *picture, char **members) {
  struct timespec deadline = wait_deadline(platform_now_ns() + (int64_t)LOOK_AGAIN_MS * 1000000);
  int code = 0;
  pthread_mutex_lock(&file->lock);
  while (!file->wish && !file->members && !file->ending && !code)
    code = pthread_cond_timedwait(&file->changed, &file->lock, &deadline);
  *wish = file->wish;
  *picture = file->picture;
  *members = file->members;
  file->members = NULL;
  file->wish = NULL;
  file->picture = (struct frame){.picture = NULL};
  bool more = *wish || *members || !file->ending;
  pthread_mutex_unlock(&file->lock);
  return more;
}

static void *file_main(void *opaque) {
  struct presets_file *file = opaque;
  struct parameters *wish;
  struct frame picture;
  char *members;
  while (wait_for_work(file, &wish, &picture, &members)) {
    if (wish)
      save(file, wish, &picture);
    if (members)
      keep(file, members);
    if (!wish && !members)
      look_again(file);
    free(members);
    frame_release(&picture);
    free(wish);
  }
  return NULL;
}

static void file_free(struct presets_file *file) {
  presets_free(&file->presets);
  pthread_cond_destroy(&file->changed);
  pthread_mutex_destroy(&file->lock);
  frame_release(&file->picture);
  free(file->wish);
  free(file->members);
  free(file->text);
  free(file);
}

int presets_file_open(struct presets_file **result, const char *path, const struct log *log, struct error *err) {
  struct presets_file *file = calloc(1, sizeof *file);
  if (!file)
    return error_set(err, STATUS_FAILED, "no memory for presets");
  file->path = path;
  file->log = log;
  platform_lock_init(&file->lock);
  wait_init(&file->changed);
  int status = look(file, err) < 0 ? -1 : 0;
  int code = status ? 0 : pthread_create(&file->thread, NULL, file_main, file);
  if (code)
    status = error_set(err, STATUS_FAILED, "%s: no thread can be started: %s", path, strerror(code));
  if (status)
    file_free(file);
  else
    *result = file;
  return status;
}

void presets_file_close(struct presets_file **pointer) {
  struct presets_file *file = *pointer;
  if (!file)
    return;
  pthread_mutex_lock(&file->lock);
  file->ending = true;
  pthread_cond_signal(&file->changed);
  pthread_mutex_unlock(&file->lock);
  pthread_join(file->thread, NULL);
  if (*file->line)
    log_line(file->log, file->level, "%s", file->line);
  file_free(file);
  *pointer = NULL;
}

int presets_file_count(struct presets_file *file) {
  pthread_mutex_lock(&file->lock);
  int count = presets_count(file->presets);
  pthread_mutex_unlock(&file->lock);
  return count;
}

int presets_file_values(struct presets_file *file, int number, const struct parameters *start,
                        struct parameters *changes, char name[81], struct error *err) {
  pthread_mutex_lock(&file->lock);
  int status = presets_values(file->presets, number, start, changes, err);
  if (!status)
    snprintf(name, 81, "%s", presets_name(file->presets, number));
  pthread_mutex_unlock(&file->lock);
  return status;
}

int presets_file_find(struct presets_file *file, const char *name) {
  pthread_mutex_lock(&file->lock);
  int number = presets_find(file->presets, name);
  pthread_mutex_unlock(&file->lock);
  return number;
}

void presets_file_name(struct presets_file *file, int number, char name[81]) {
  pthread_mutex_lock(&file->lock);
  bool there = number >= 1 && number <= presets_count(file->presets);
  snprintf(name, 81, "%s", there ? presets_name(file->presets, number) : "");
  pthread_mutex_unlock(&file->lock);
}

bool presets_file_source(struct presets_file *file, int number, char source[PRESET_SOURCE_MAX]) {
  pthread_mutex_lock(&file->lock);
  const char *name = presets_source(file->presets, number);
  if (name)
    snprintf(source, PRESET_SOURCE_MAX, "%s", name);
  pthread_mutex_unlock(&file->lock);
  return name != NULL;
}

double presets_file_fade(struct presets_file *file, int number) {
  pthread_mutex_lock(&file->lock);
  double seconds = presets_fade(file->presets, number);
  pthread_mutex_unlock(&file->lock);
  return seconds;
}

char *presets_file_list(struct presets_file *file) {
  pthread_mutex_lock(&file->lock);
  char *list = presets_list(file->presets);
  pthread_mutex_unlock(&file->lock);
  return list;
}

char *presets_file_pictures(struct presets_file *file) {
  pthread_mutex_lock(&file->lock);
  char *list = presets_pictures(file->presets, file->path);
  pthread_mutex_unlock(&file->lock);
  return list;
}

void presets_file_save(struct presets_file *file, const struct parameters *values, const struct frame *picture) {
  struct parameters *wish = malloc(sizeof *wish);
  if (!wish) {
    tell(file, LOG_WARNING, "not saved: no memory for one more preset");
    return;
  }
  *wish = *values;
  pthread_mutex_lock(&file->lock);
  struct parameters *before = file->wish;
  frame_release(&file->picture);
  file->wish = wish;
  file->picture = picture ? frame_hold(picture) : (struct frame){.picture = NULL};
  pthread_cond_signal(&file->changed);
  pthread_mutex_unlock(&file->lock);
  free(before);
}

void presets_file_keep(struct presets_file *file, char *members) {
  pthread_mutex_lock(&file->lock);
  char *before = file->members;
  file->members = members;
  pthread_cond_signal(&file->changed);
  pthread_mutex_unlock(&file->lock);
  free(before);
}

bool presets_file_refresh(struct presets_file *file, char *line, size_t size, enum log_level *level) {
  pthread_mutex_lock(&file->lock);
  bool told = *file->line;
  if (told) {
    log_line(file->log, file->level, "%s", file->line);
    snprintf(line, size, "%s", file->line);
    *level = file->level;
  }
  *file->line = 0;
  pthread_mutex_unlock(&file->lock);
  return told;
}
