/* The command fetch: downloads a repository of Hugging Face's hub into the folder of models. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/models/catalog.h"
#include "app/models/choice.h"
#include "app/models/download.h"
#include "app/models/places.h"
#include "app/options/options.h"
#include "app/platform/app_platform.h"
#include "app/run/progress.h"
#include "app/run/setup.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"

#define HUB "https://huggingface.co"
/* name of a file in the model's folder; the file is locked while a process downloads into the folder, so that no second
 * process downloads into it */
#define LOCK ".fetching"
enum { TOKEN_MAX = 512, ENDPOINT_MAX = 1024, BAR = 30, AMOUNT_MAX = 24 };

struct fetch {
  struct repository repository;
  struct http_origin origin;
  char endpoint[ENDPOINT_MAX], token[TOKEN_MAX], folder[PATHS_MAX];
  struct repository_list list;
  struct choice choice;
  struct download download;
  bool *there;  /* for each file of the list: true if the file is complete or is not wanted */
  bool missing; /* true: a wanted file is not complete */
  /* done: bytes of the wanted files that are complete so far; left: bytes that were missing at the start */
  int64_t done, left;
  /* current: how many bytes of the file that is being downloaded are on the disk; before: how many bytes of all wanted
   * files were on the disk at the start */
  int64_t current, before;
  int64_t begun_ns;
  struct progress progress;
};

static const char *amount(char text[AMOUNT_MAX], int64_t bytes) {
  if (bytes < 1000000)
    snprintf(text, AMOUNT_MAX, "%.1f kB", (double)bytes * 1e-3);
  else if (bytes < 1000000000)
    snprintf(text, AMOUNT_MAX, "%.1f MB", (double)bytes * 1e-6);
  else
    snprintf(text, AMOUNT_MAX, "%.2f GB", (double)bytes * 1e-9);
  return text;
}

/* --- the address of Hugging Face's hub, and the user's access token --- */

static int read_endpoint(struct fetch *f, struct error *err) {
  const char *named = getenv("HF_ENDPOINT");
  if (!named || !*named)
    named = HUB;
  size_t length = strlen(named);
  while (length && named[length - 1] == '/')
    length--;
  if (length >= sizeof f->endpoint)
    return error_set(err, STATUS_USAGE, "HF_ENDPOINT: is too long");
  snprintf(f->endpoint, sizeof f->endpoint, "%.*s", (int)length, named);
  f->origin.url = f->endpoint;
  return 0;
}

/* Stores the access token for the model hub (Hugging Face). A token is refused if it is more than one word, or has
 * characters that would end the header field of a request. Returns 0, or -1 with err. */
static int take_token(struct fetch *f, const char *text, const char *from, struct error *err) {
  text += strspn(text, " \t\r\n");
  size_t length = strcspn(text, " \t\r\n");
  bool good = length < sizeof f->token && !text[length + strspn(text + length, " \t\r\n")];
  for (size_t i = 0; i < length; i++)
    good = good && text[i] > ' ' && text[i] < 127;
  if (!good)
    return error_set(err, STATUS_USAGE, "%s: holds no token, which is one word", from);
  snprintf(f->token, sizeof f->token, "%.*s", (int)length, text);
  f->origin.token = length ? f->token : NULL;
  return 0;
}

/* Reads the access token for Hugging Face's hub from HF_TOKEN or the user's token file. A file that is missing or not
 * readable counts as no token. Returns 0, or -1 with err if the token is refused. */
static int read_token(struct fetch *f, struct error *err) {
  const char *named = getenv("HF_TOKEN");
  char path[PATHS_MAX], *text;
  if (named && *named)
    return take_token(f, named, "HF_TOKEN", err);
  if (!places_token(path) || text_read(path, TOKEN_MAX, &text, NULL, NULL))
    return 0;
  int result = take_token(f, text, path, err);
  free(text);
  return result;
}

/* --- the folder that files are downloaded to --- */

/* Makes the name of the model's folder: ORG/NAME or, for a revision other than "main", ORG/NAME@REVISION. Returns 0, or
 * -1 with err. */
static int name_folder(struct fetch *f, struct error *err) {
  char models[PATHS_MAX], revision[REPOSITORY_NAME_MAX + 1] = "";
  if (!places_models(models))
    return error_set(err, STATUS_OUTPUT, "there is no folder for models: neither XDG_DATA_HOME nor HOME is set");
  if (strcmp(f->repository.revision, "main") != 0)
    snprintf(revision, sizeof revision, "@%s", f->repository.revision);
  catalog_name_revision(revision);
  int length = snprintf(f->folder, sizeof f->folder, "%s/%s%s", models, f->repository.name, revision);
  return length < (int)sizeof f->folder ? 0 : error_set(err, STATUS_OUTPUT, "%s: is too long a name", models);
}

static int check_space(const struct fetch *f, struct error *err) {
  char path[PATHS_MAX], needed[AMOUNT_MAX], have[AMOUNT_MAX];
  uint64_t bytes;
  snprintf(path, sizeof path, "%s", f->folder);
  while (!platform_exists(path) && strrchr(path, '/') > path)
    *strrchr(path, '/') = 0;
  if (platform_free_space(path, &bytes) || (uint64_t)f->left <= bytes)
    return 0;
  return error_set(
      err, STATUS_OUTPUT,
      "%s: %s are still to come, and %s has room for %s; make room, or have XDG_DATA_HOME name another disk",
      f->repository.name, amount(needed, f->left), path, amount(have, bytes > INT64_MAX ? INT64_MAX : (int64_t)bytes));
}

static char *in_folder(const struct fetch *f, const char *name) {
  return text_path(f->folder, name);
}

static int lock(const struct fetch *f, struct error *err) {
  char *path = in_folder(f, LOCK);
  int descriptor = path ? platform_open_locked(path) : -1;
  free(path);
  if (descriptor >= 0)
    return descriptor;
  if (errno == EWOULDBLOCK)
    return error_set(err, STATUS_OUTPUT, "%s: another process is fetching it", f->repository.name);
  return error_set(err, STATUS_OUTPUT, "%s: cannot be written to: %s", f->folder, strerror(errno));
}

static void unlock(const struct fetch *f, int descriptor) {
  char *path = in_folder(f, LOCK);
  if (path)
    platform_remove(path);
  free(path);
  platform_close_descriptor(descriptor);
}

/* Marks the folder as incomplete, so that nobody finds the model by its name until all its files are complete. Returns
 * 0, or -1 with err. */
static int mark(struct fetch *f, struct error *err) {
  char *path = in_folder(f, CATALOG_UNFINISHED);
  FILE *file = path ? platform_create(path) : NULL;
  bool marked = file && !fclose(file);
  free(path);
  return marked ? 0 : error_set(err, STATUS_OUTPUT, "%s: %s", f->folder, strerror(errno));
}

static void unmark(struct fetch *f) {
  char *path = in_folder(f, CATALOG_UNFINISHED);
  if (path)
    platform_remove(path);
  free(path);
}

/* --- progress, and messages about what was done --- */

static void show_progress(void *opaque, int64_t bytes) {
  struct fetch *f = opaque;
  char bar[BAR + 1], done[AMOUNT_MAX], all[AMOUNT_MAX], speed[AMOUNT_MAX];
  int64_t now = platform_now_ns(), have = f->done + bytes;
  f->current = bytes;
  if (!f->progress.terminal || !progress_is_due(&f->progress, now))
    return;
  double share = f->choice.bytes ? (double)have / (double)f->choice.bytes : 1;
  double rate = (double)(have - f->before) / ((double)(now - f->begun_ns) * 1e-9 + 1e-3);
  long left = rate > 0 ? (long)((double)(f->choice.bytes - have) / rate) : 0;
  for (int i = 0; i < BAR; i++)
    bar[i] = i < share * BAR ? '#' : '.';
  bar[BAR] = 0;
  fprintf(stderr, "\r[%s] %3.0f%%  %s of %s, %s/s, %ld:%02ld left\033[K", bar, share * 100, amount(done, have),
          amount(all, f->choice.bytes), amount(speed, (int64_t)rate), left / 60, left % 60);
}

static void tell_choice(const struct fetch *f, const struct log *log) {
  const struct choice *choice = &f->choice;
  char text[256] = "", bytes[AMOUNT_MAX];
  size_t used = 0;
  if (choice->pickles)
    used += (size_t)snprintf(text, sizeof text, ", %d pickle%s", choice->pickles, choice->pickles == 1 ? "" : "s");
  if (choice->doubles)
    used += (size_t)snprintf(text + used, sizeof text - used, ", %d other file%s of weights (%s)", choice->doubles,
                             choice->doubles == 1 ? "" : "s", amount(bytes, choice->double_bytes));
  if (choice->others)
    snprintf(text + used, sizeof text - used, ", %d that %s not read", choice->others,
             choice->others == 1 ? "is" : "are");
  if (*text)
    log_line(log, LOG_WARNING, "%s: left out: %s", f->repository.name, text + 2);
  if (f->list.unfit)
    log_line(log, LOG_WARNING, "%s: left out: %d that no file here may be called", f->repository.name, f->list.unfit);
}

static void tell_end(const struct fetch *f, const struct options *options) {
  char bytes[AMOUNT_MAX];
  if (options->verbose < 0)
    return;
  printf("%s: %d file%s, %s%s, in ", f->repository.name, f->choice.count, f->choice.count == 1 ? "" : "s",
         amount(bytes, f->choice.bytes), f->missing ? "" : ", all there already");
  text_put(stdout, f->folder);
  fputc('\n', stdout);
}

/* Warns of each file of weights in the repository that was not chosen but was already in the folder. The loader of
 * models may read such a file instead of a downloaded one. */
static void tell_besides(const struct fetch *f, const struct log *log) {
  for (int i = 0; i < f->list.count; i++) {
    const struct repository_file *file = &f->list.file[i];
    char *path = f->choice.wanted[i] || !choice_is_weights(file->path) ? NULL : in_folder(f, file->path);
    if (path && platform_exists(path))
      log_line(log, LOG_WARNING, "%s: is there from before, and read in the place of what is fetched", path);
    free(path);
  }
}

/* Adds to the error's message how many bytes were downloaded; the next run of fetch continues from them. Returns -1. */
static int tell_kept(const struct fetch *f, struct error *err) {
  struct error why = *err;
  char have[AMOUNT_MAX], all[AMOUNT_MAX];
  int64_t bytes = f->done + f->current;
  if (!bytes)
    return -1;
  return error_set(err, why.status, "%.380s; %s of %s are there, and the same command goes on", why.message,
                   amount(have, bytes), amount(all, f->choice.bytes));
}

/* --- listing the repository's files, and downloading them --- */

static int look(struct fetch *f, struct error *err) {
  f->there = calloc((size_t)f->list.count + 1, sizeof *f->there);
  if (!f->there)
    return error_set(err, STATUS_FAILED, "%s: out of memory", f->repository.name);
  for (int i = 0; i < f->list.count; i++) {
    const struct repository_file *file = &f->list.file[i];
    int there = f->choice.wanted[i] ? download_is_there(&f->download, file, err) : 1;
    if (there < 0)
      return -1;
    f->there[i] = there;
    f->missing = f->missing || !there;
    if (there && f->choice.wanted[i])
      f->done += file->size;
    if (there)
      continue;
    int64_t part = download_part_bytes(&f->download, file);
    f->left += part < file->size ? file->size - part : 0;
    f->before += part;
  }
  f->before += f->done;
  return 0;
}

static int get_files(struct fetch *f, struct error *err) {
  for (int i = 0; i < f->list.count; i++) {
    const struct repository_file *file = &f->list.file[i];
    if (f->there[i])
      continue;
    int result = download_file(&f->download, file, err);
    f->current = result ? download_part_bytes(&f->download, file) : 0;
    if (result)
      return -1;
    f->done += file->size;
  }
  return 0;
}

static bool has_some(const struct fetch *f) {
  return f->before || f->done || f->current;
}

static int get_all(struct fetch *f, const struct options *options, struct error *err) {
  if (check_space(f, err))
    return -1;
  if (!paths_make(f->folder))
    return error_set(err, STATUS_OUTPUT, "%s: cannot be written to: %s", f->folder, strerror(errno));
  int descriptor = lock(f, err);
  if (descriptor < 0)
    return -1;
  f->begun_ns = platform_now_ns();
  int result = options->file_count ? 0 : mark(f, err);
  result = result || get_files(f, err) ? -1 : 0;
  progress_end(&f->progress, false, 0, 0);
  if (!options->file_count && (!result || !has_some(f)))
    unmark(f);
  if (result)
    tell_kept(f, err);
  unlock(f, descriptor);
  return result;
}

static int fetch(struct fetch *f, const struct options *options, const struct log *log, struct error *err) {
  if (repository_read_name(&f->repository, options->input, err) || read_endpoint(f, err) || read_token(f, err) ||
      name_folder(f, err) || http_open(&f->download.http, &f->origin, err) ||
      repository_list(&f->list, f->download.http, &f->origin, &f->repository, &setup_stop, err) ||
      choice_make(&f->choice, &f->list, options->files, options->file_count, f->repository.name, err))
    return -1;
  f->download = (struct download){f->download.http, &f->origin,  &f->repository, f->list.commit,
                                  f->folder,        &setup_stop, show_progress,  f};
  tell_choice(f, log);
  if (look(f, err) || (f->missing && get_all(f, options, err)))
    return -1;
  /* all files are complete, but an earlier run of fetch ended before it removed the file that marks the folder as
   * incomplete */
  if (!f->missing && !options->file_count)
    unmark(f);
  if (!options->file_count)
    tell_besides(f, log);
  tell_end(f, options);
  return fflush(stdout) || ferror(stdout) ? error_set(err, STATUS_OUTPUT, "standard output cannot be written") : 0;
}

int command_fetch(const struct options *options, struct error *err) {
  struct log log;
  struct fetch f = {0};
  setup_log(&log, options);
  progress_init(&f.progress, options->verbose < 0 ? PROGRESS_NONE : PROGRESS_AUTO, stderr, 0);
  int result = fetch(&f, options, &log, err);
  http_close(&f.download.http);
  choice_free(&f.choice);
  repository_list_free(&f.list);
  free(f.there);
  return result;
}
