#include "app/models/repository.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/address.h"
#include "unet/base/json.h"
#include "unet/base/text.h"

enum { ANSWER_MAX = 32 << 20, FILES_MAX = 100000, PART_MAX = 200 };

/* --- checking names and paths --- */

/* Returns true if the text is a valid part of a repository's name: 1 to 96 letters, digits, dots, dashes or
 * underscores, not beginning with a dot. */
static bool is_word(const char *text, size_t length) {
  bool good = length > 0 && length <= 96 && *text != '.';
  for (size_t i = 0; i < length; i++)
    good = good && (isalnum((unsigned char)text[i]) || strchr("._-", text[i]));
  return good;
}

static bool are_words(const char *text, int most) {
  for (int count = 0;; count++) {
    size_t length = strcspn(text, "/");
    if (count == most || !is_word(text, length))
      return false;
    if (!text[length])
      return true;
    text += length + 1;
  }
}

int repository_read_name(struct repository *repository, const char *text, struct error *err) {
  const char *at = strchr(text, '@');
  size_t length = at ? (size_t)(at - text) : strlen(text);
  if (length < sizeof repository->name && strlen(text) - length < sizeof repository->revision) {
    snprintf(repository->name, sizeof repository->name, "%.*s", (int)length, text);
    snprintf(repository->revision, sizeof repository->revision, "%s", at ? at + 1 : "main");
    if (are_words(repository->name, 2) && are_words(repository->revision, 4))
      return 0;
  }
  return error_set(err, STATUS_USAGE, "fetch %s: ORG/NAME or ORG/NAME@REVISION is needed, as the hub's pages call it",
                   text_quote(text).text);
}

/* Returns true if a file may be stored under this path: it does not lead out of the repository's folder, has no hidden
 * parts, and is valid on all systems. */
static bool is_path(const char *path) {
  if (strlen(path) >= REPOSITORY_PATH_MAX)
    return false;
  for (;;) {
    size_t length = strcspn(path, "/");
    if (!length || length > PART_MAX || *path == '.')
      return false;
    for (size_t i = 0; i < length; i++)
      if ((unsigned char)path[i] < ' ' || path[i] == 127 || strchr("\\:*?\"<>|", path[i]))
        return false;
    if (!path[length])
      return true;
    path += length + 1;
  }
}

/* Returns true if the path is that of a hidden file, such as .gitattributes, which only git and Hugging Face's hub
 * use. */
static bool is_hidden(const char *path) {
  const char *slash = strstr(path, "/.");
  const char *dot = *path == '.' ? path : slash ? slash + 1 : NULL;
  return dot && dot[1] && dot[1] != '.' && dot[1] != '/';
}

/* --- reading the list of files from the answer of Hugging Face's hub --- */

/* Copies a JSON string to hash if it consists of exactly `digits` hexadecimal digits; otherwise leaves hash as it
 * is. */
static void read_hash(char hash[DIGEST_MAX], const cJSON *item, size_t digits) {
  const char *text = cJSON_GetStringValue(item);
  if (text && strlen(text) == digits && strspn(text, "0123456789abcdef") == digits)
    strcpy(hash, text);
}

static int64_t read_size(const cJSON *item) {
  bool good = cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble <= 0x1p53 &&
              floor(item->valuedouble) == item->valuedouble;
  return good ? (int64_t)item->valuedouble : -1;
}

static int read_file(struct repository_list *list, const cJSON *item) {
  const char *path = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, "rfilename"));
  const cJSON *lfs = cJSON_GetObjectItemCaseSensitive(item, "lfs");
  if (path && is_hidden(path))
    return 0;
  if (!path || !is_path(path) || list->count == FILES_MAX) {
    list->unfit++;
    return 0;
  }
  struct repository_file *file = &list->file[list->count];
  *file = (struct repository_file){.git = !cJSON_IsObject(lfs)};
  file->size = read_size(cJSON_GetObjectItemCaseSensitive(file->git ? item : lfs, "size"));
  if (file->git)
    read_hash(file->hash, cJSON_GetObjectItemCaseSensitive(item, "blobId"), 40);
  else
    read_hash(file->hash, cJSON_GetObjectItemCaseSensitive(lfs, "sha256"), 64);
  file->path = strdup(path);
  if (!file->path)
    return -1;
  list->count++;
  return 0;
}

static int compare_paths(const void *a, const void *b) {
  return strcmp(((const struct repository_file *)a)->path, ((const struct repository_file *)b)->path);
}

/* Sorts the list of files by path. Returns 0, or -1 with err if a path is in the list twice. */
static int sort(struct repository_list *list, const char *name, struct error *err) {
  if (list->count)
    qsort(list->file, (size_t)list->count, sizeof *list->file, compare_paths);
  for (int i = 1; i < list->count; i++)
    if (!strcmp(list->file[i - 1].path, list->file[i].path))
      return error_set(err, STATUS_MODEL, "%s: the hub lists %s twice", name, text_quote(list->file[i].path).text);
  return 0;
}

static int read_list(struct repository_list *list, const cJSON *answer, const char *name, struct error *err) {
  const cJSON *files = cJSON_GetObjectItemCaseSensitive(answer, "siblings"), *item;
  char commit[DIGEST_MAX] = "";
  read_hash(commit, cJSON_GetObjectItemCaseSensitive(answer, "sha"), 40);
  if (!*commit || !cJSON_IsArray(files))
    return error_set(err, STATUS_MODEL, "%s: what the hub answers is no list of files", name);
  snprintf(list->commit, sizeof list->commit, "%s", commit);
  list->file = calloc((size_t)cJSON_GetArraySize(files) + 1, sizeof *list->file);
  int failed = !list->file;
  cJSON_ArrayForEach(item, files) {
    if (!failed)
      failed = read_file(list, item);
  }
  return failed ? error_set(err, STATUS_FAILED, "%s: out of memory", name) : sort(list, name, err);
}

int repository_parse(struct repository_list *list, const char *text, const char *name, struct error *err) {
  cJSON *answer;
  *list = (struct repository_list){0};
  if (json_parse(&answer, text, NULL, name, err))
    return -1;
  int result = read_list(list, answer, name, err);
  cJSON_Delete(answer);
  return result;
}

void repository_list_free(struct repository_list *list) {
  for (int i = 0; i < list->count; i++)
    free(list->file[i].path);
  free(list->file);
  *list = (struct repository_list){0};
}

/* --- getting the list of files from Hugging Face's hub --- */

struct body {
  char *text;
  size_t used, capacity;
};

static int take(void *opaque, const void *bytes, size_t size, struct error *err) {
  struct body *body = opaque;
  if (size > ANSWER_MAX - body->used)
    return error_set(err, STATUS_MODEL, "the hub's list of files has no end");
  if (body->used + size + 1 > body->capacity) {
    size_t capacity = 2 * (body->used + size + 1);
    char *text = realloc(body->text, capacity);
    if (!text)
      return error_set(err, STATUS_FAILED, "the hub's list of files: out of memory");
    body->text = text;
    body->capacity = capacity;
  }
  memcpy(body->text + body->used, bytes, size);
  body->used += size;
  body->text[body->used] = 0;
  return 0;
}

/* If users can do something about an HTTP status (log in, accept terms, correct the name), it has a message of its own;
 * all others share one. */
int repository_refuse(const struct http_origin *origin, const struct repository *repository,
                      const struct http_answer *answer, const char *what, struct error *err) {
  const char *code = answer->error_code, *name = repository->name;
  bool token = origin->token;
  if (!strcmp(code, "GatedRepo"))
    return error_set(
        err, STATUS_MODEL,
        "%s: its terms have to be accepted first, at %s/%s; then set HF_TOKEN to a token of that account, or "
        "run `hf auth login`",
        name, address_shown(origin->url).text, name);
  if (!strcmp(code, "RevisionNotFound"))
    return error_set(err, STATUS_MODEL, "%s: has no revision %s", name, repository->revision);
  if (answer->status == 401 && token && strcmp(code, "RepoNotFound") != 0)
    return error_set(err, STATUS_MODEL, "%s: the hub does not take this token; see HF_TOKEN", name);
  if (!strcmp(code, "RepoNotFound") || answer->status == 401 || (answer->status == 404 && !*code))
    return error_set(err, STATUS_MODEL, "%s: the hub has no such repository, or %s", name,
                     token ? "does not show it to this token's account" : "it is private and needs HF_TOKEN");
  if (answer->status == 429)
    return error_set(err, STATUS_MODEL, "%s: the hub is asked too often from here; try again later", name);
  return error_set(err, STATUS_MODEL, "%s: the hub answers %s with HTTP status %ld", name, text_quote(what).text,
                   answer->status);
}

static bool is_main(const struct repository *repository) {
  return !strcmp(repository->revision, "main");
}

int repository_list(struct repository_list *list, struct http *http, const struct http_origin *origin,
                    const struct repository *repository, const atomic_bool *stop, struct error *err) {
  char url[HTTP_URL_MAX], revision[3 * REPOSITORY_NAME_MAX];
  struct http_answer answer;
  struct body body = {0};
  http_escape(revision, sizeof revision, repository->revision, false);
  snprintf(url, sizeof url, "%s/api/models/%s/revision/%s?blobs=true", origin->url, repository->name, revision);
  const struct http_request request = {.url = url, .take = take, .opaque = &body, .stop = stop};
  *list = (struct repository_list){0};
  enum http_result result = http_get(http, &request, &answer, err);
  int failed = result != HTTP_DONE    ? -1
               : answer.status != 200 ? repository_refuse(origin, repository, &answer,
                                                          is_main(repository) ? "its list" : "its revision", err)
                                      : repository_parse(list, body.text ? body.text : "", repository->name, err);
  free(body.text);
  return failed;
}

void repository_file_url(char url[HTTP_URL_MAX], const struct http_origin *origin, const struct repository *repository,
                         const char *commit, const char *path) {
  char escaped[3 * REPOSITORY_PATH_MAX];
  http_escape(escaped, sizeof escaped, path, true);
  snprintf(url, HTTP_URL_MAX, "%s/%s/resolve/%s/%s", origin->url, repository->name, commit, escaped);
}
