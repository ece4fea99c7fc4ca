/* Reads the files of a tokenizer's folder. */
#include "unet/text/tokenizer_files.h"

#include <stdlib.h>
#include <string.h>

#include "unet/base/json.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"
#include "unet/text/tokenizer_impl.h"

#define VOCABULARY_LIMIT ((size_t)16 << 20)
#define CONFIG_LIMIT ((size_t)1 << 20)

/* Data that are needed only while a tokenizer's folder is read. */
struct reading {
  struct tokenizer_files *files;
  const char *folder;
  struct vocabulary vocabulary;
  struct listing listings[LISTINGS];
};

/* --- reading the tokenizer's files as JSON --- */

/* Reads and parses the file in the folder. listing->path becomes the file's path, even after a failure. */
static int read_json(struct listing *listing, const char *folder, const char *name, size_t limit, struct error *err) {
  char *text;
  listing->path = text_path(folder, name);
  if (!listing->path)
    return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  if (text_read(listing->path, limit, &text, NULL, err))
    return -1;
  int failed = json_parse(&listing->json, text, NULL, listing->path, err);
  free(text);
  if (failed || cJSON_IsObject(listing->json))
    return failed ? -1 : 0;
  return error_set(err, STATUS_MODEL, "%s: is not a JSON object; fetch the file again", listing->path);
}

static void close_json(struct listing *listing) {
  cJSON_Delete(listing->json);
  free(listing->path);
  *listing = (struct listing){0};
}

static bool has_file(const char *folder, const char *name) {
  char *path = text_path(folder, name);
  bool there = path && platform_exists(path);
  free(path);
  return there;
}

static int read_listings(struct reading *r, struct error *err) {
  static const struct {
    const char *name;
    size_t limit;
  } names[LISTINGS] = {[LISTING_CONFIG] = {"tokenizer_config.json", CONFIG_LIMIT},
                       [LISTING_MAP] = {"special_tokens_map.json", CONFIG_LIMIT},
                       [LISTING_LEARNED] = {"added_tokens.json", CONFIG_LIMIT},
                       [LISTING_WHOLE] = {"tokenizer.json", VOCABULARY_LIMIT}};
  for (int i = 0; i < LISTINGS; i++)
    if (has_file(r->folder, names[i].name) && read_json(&r->listings[i], r->folder, names[i].name, names[i].limit, err))
      return -1;
  return 0;
}

/* Reads model_max_length into `longest`. If the field is missing, or is a huge number that means no limit, `longest`
 * stays 0. */
static void read_longest(struct reading *r) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(r->listings[LISTING_CONFIG].json, "model_max_length");
  if (cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble < ID_MAX)
    r->files->longest = (int)item->valuedouble;
}

static int add_tokens(struct reading *r, struct error *err) {
  read_longest(r);
  if (tokenizer_add_tokens(r->files, &r->vocabulary, r->listings, err))
    return -1;
  tokenizer_find_bytes(r->files, &r->vocabulary);
  return 0;
}

/* --- a tokenizer in two files, vocab.json and merges.txt --- */

static int read_merges(struct reading *r, struct error *err) {
  char *path = text_path(r->folder, "merges.txt"), *text = NULL;
  int result = path ? text_read(path, VOCABULARY_LIMIT, &text, NULL, err)
                    : error_set(err, STATUS_FAILED, "%s: out of memory", r->folder);
  result = result ? result : tokenizer_parse_merges(r->files, &r->vocabulary, text, path, err);
  result = result ? result : tokenizer_check_merges(r->files, &r->vocabulary, path, err);
  free(text);
  free(path);
  return result;
}

static int read_two(struct reading *r, struct error *err) {
  struct listing vocabulary = {0};
  int result = read_json(&vocabulary, r->folder, "vocab.json", VOCABULARY_LIMIT, err);
  result = result ? result : vocabulary_init(&r->vocabulary, vocabulary.json, vocabulary.path, "vocab.json", err);
  result = result || add_tokens(r, err) || read_merges(r, err) ? -1 : 0;
  close_json(&vocabulary);
  return result;
}

/* --- a tokenizer in one file, tokenizer.json --- */

static int refuse_model(const char *path, const char *field, const cJSON *value, const char *wanted,
                        struct error *err) {
  const char *text = cJSON_GetStringValue(value);
  return error_set(err, STATUS_MODEL, "%s: model.%s: %s is not supported (%s is, as CLIP's tokenizer has it)", path,
                   field, text ? text_quote(text).text : "no text", wanted);
}

/* Refuses tokenizers other than byte-pair encoding with the mark </w> at the end of words. Early files do not name the
 * model's type. */
static int check_model(const cJSON *model, const char *path, struct error *err) {
  const cJSON *type = cJSON_GetObjectItemCaseSensitive(model, "type"),
              *suffix = cJSON_GetObjectItemCaseSensitive(model, "end_of_word_suffix");
  if (type && (!cJSON_IsString(type) || strcmp(type->valuestring, "BPE")))
    return refuse_model(path, "type", type, "BPE", err);
  if (!cJSON_IsString(suffix) || strcmp(suffix->valuestring, "</w>"))
    return refuse_model(path, "end_of_word_suffix", suffix, "</w>", err);
  if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(model, "vocab")) &&
      cJSON_IsArray(cJSON_GetObjectItemCaseSensitive(model, "merges")))
    return 0;
  return error_set(err, STATUS_MODEL, "%s: has no model with vocab and merges; fetch the file again", path);
}

static int read_whole(struct reading *r, struct error *err) {
  const struct listing *whole = &r->listings[LISTING_WHOLE];
  const cJSON *model = cJSON_GetObjectItemCaseSensitive(whole->json, "model"),
              *vocabulary = cJSON_GetObjectItemCaseSensitive(model, "vocab"),
              *merges = cJSON_GetObjectItemCaseSensitive(model, "merges");
  if (check_model(model, whole->path, err) ||
      vocabulary_init(&r->vocabulary, vocabulary, whole->path, "its vocab", err) || add_tokens(r, err) ||
      tokenizer_list_merges(r->files, &r->vocabulary, merges, whole->path, err))
    return -1;
  return tokenizer_check_merges(r->files, &r->vocabulary, whole->path, err);
}

int tokenizer_files_read(struct tokenizer_files *files, const char *folder, struct error *err) {
  struct reading r = {.files = files, .folder = folder};
  bool whole =
      has_file(folder, "tokenizer.json") && !(has_file(folder, "vocab.json") && has_file(folder, "merges.txt"));
  int result = read_listings(&r, err);
  if (!result)
    result = whole ? read_whole(&r, err) : read_two(&r, err);
  vocabulary_free(&r.vocabulary);
  for (int i = 0; i < LISTINGS; i++)
    close_json(&r.listings[i]);
  return result;
}

void tokenizer_files_free(struct tokenizer_files *files) {
  for (int i = 0; i < files->added_count; i++)
    free(files->added[i].text), free(files->added[i].folded);
  free(files->added);
  free(files->bpe.merges);
  *files = (struct tokenizer_files){0};
}
