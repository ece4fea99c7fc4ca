#include "unet/text/tokenizer_files.h"

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "unet/base/json.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"

#define VOCABULARY_LIMIT ((size_t)16 << 20)
#define CONFIG_LIMIT ((size_t)1 << 20)
enum { ID_MAX = 1 << 22, ADDED_MAX = 4096 };

struct token {
  const char *text; /* NULL: nothing is here */
  int id;
};

/* vocab.json as a hash table, token to id. Token texts are borrowed from the parsed file. */
struct vocabulary {
  const char *path;
  struct token *table;
  size_t capacity, count; /* capacity is a power of two and at least twice count: searches are short and end */
};

static size_t hash(const char *text) {
  uint32_t h = 2166136261u; /* FNV-1a */
  for (; *text; text++)
    h = (h ^ (unsigned char)*text) * 16777619u;
  return h;
}

/* Where a token is, or belongs. */
static struct token *find_token(const struct vocabulary *vocabulary, const char *text) {
  size_t mask = vocabulary->capacity - 1, at = hash(text) & mask;
  while (vocabulary->table[at].text && strcmp(vocabulary->table[at].text, text) != 0)
    at = (at + 1) & mask;
  return &vocabulary->table[at];
}

/* Id of a token, or -1. */
static int find_id(const struct vocabulary *vocabulary, const char *text) {
  const struct token *token = find_token(vocabulary, text);
  return token->text ? token->id : -1;
}

/* Reads and parses folder/name; *path gets its name (allocated, also on failure). */
static cJSON *read_json(const char *folder, const char *name, size_t limit, char **path, struct error *err) {
  *path = text_path(folder, name);
  if (!*path) {
    error_set(err, STATUS_FAILED, "%s: out of memory", folder);
    return NULL;
  }
  char *text;
  if (text_read(*path, limit, &text, NULL, err))
    return NULL;
  cJSON *json;
  int failed = json_parse(&json, text, NULL, *path, err);
  free(text);
  if (failed)
    return NULL;
  if (!cJSON_IsObject(json)) {
    error_set(err, STATUS_MODEL, "%s: is not a JSON object; fetch the file again", *path);
    cJSON_Delete(json);
    return NULL;
  }
  return json;
}

static bool read_id(const cJSON *item, int *id) {
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < ID_MAX))
    return false;
  *id = (int)item->valuedouble;
  return true;
}

static int list_vocabulary(struct tokenizer_files *files, struct vocabulary *vocabulary, const cJSON *json,
                           struct error *err) {
  size_t count = (size_t)cJSON_GetArraySize(json);
  for (vocabulary->capacity = 2; vocabulary->capacity < 2 * count;)
    vocabulary->capacity *= 2;
  vocabulary->table = calloc(vocabulary->capacity, sizeof *vocabulary->table);
  if (!vocabulary->table)
    return error_set(err, STATUS_FAILED, "%s: out of memory", vocabulary->path);
  const cJSON *item;
  cJSON_ArrayForEach(item, json) {
    int id;
    if (!read_id(item, &id))
      return error_set(err, STATUS_MODEL, "%s: token %s has no id from 0 to %d", vocabulary->path,
                       text_quote(item->string).text, ID_MAX - 1);
    struct token *token = find_token(vocabulary, item->string);
    if (!token->text)
      *token = (struct token){item->string, id};
    vocabulary->count++;
    if (id >= files->vocabulary)
      files->vocabulary = id + 1;
  }
  return 0;
}

/* The printable character that stands for a byte in vocab.json, as UTF-8: Latin-1's printable ones for themselves, the
 * other 68 in order from U+0100. */
static void byte_char(int byte, char text[3]) {
  int c = byte, others = 0;
  for (int b = 0; b <= byte; b++) {
    bool printable = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xFF && b != 0xAD);
    if (b == byte && !printable)
      c = 0x100 + others;
    others += !printable;
  }
  int used = 0;
  if (c < 0x80)
    text[used++] = (char)c;
  else {
    text[used++] = (char)(0xC0 | c >> 6);
    text[used++] = (char)(0x80 | (c & 0x3F));
  }
  text[used] = 0;
}

static void find_bytes(struct tokenizer_files *files, struct vocabulary *vocabulary) {
  for (int byte = 0; byte < 256; byte++)
    for (int end = 0; end < 2; end++) {
      char text[8];
      byte_char(byte, text);
      int id = find_id(vocabulary, strcat(text, end ? "</w>" : ""));
      files->byte_id[end][byte] = id < 0 ? files->unknown : id;
    }
}

/* One line, "left right": both and the two together must be tokens. */
static int read_merge(struct tokenizer_files *files, struct vocabulary *vocabulary, char *line, int rank,
                      const char *path, struct error *err) {
  char *space = strchr(line, ' ');
  char joined[1024];
  if (!space || strlen(line) >= sizeof joined)
    return error_set(err, STATUS_MODEL, "%s: merge %d is not two tokens; fetch the file again", path, rank + 1);
  *space = 0;
  snprintf(joined, sizeof joined, "%s%s", line, space + 1);
  int left = find_id(vocabulary, line), right = find_id(vocabulary, space + 1), id = find_id(vocabulary, joined);
  if (left < 0 || right < 0 || id < 0)
    return error_set(err, STATUS_MODEL, "%s: merge %d (%s) is not in vocab.json; the two files are not of one model",
                     path, rank + 1, text_quote(joined).text);
  files->bpe.merges[files->bpe.count++] = (struct merge){bpe_pair(left, right), rank, id};
  return 0;
}

static int parse_merges(struct tokenizer_files *files, struct vocabulary *vocabulary, char *text, const char *path,
                        struct error *err) {
  size_t lines = 1;
  for (const char *c = text; *c; c++)
    lines += *c == '\n';
  files->bpe.merges = malloc(lines * sizeof *files->bpe.merges);
  if (!files->bpe.merges)
    return error_set(err, STATUS_FAILED, "%s: out of memory", path);
  int rank = 0;
  for (char *line = text, *next; line; line = next) {
    next = strchr(line, '\n');
    if (next)
      *next++ = 0;
    size_t length = strlen(line);
    if (length && line[length - 1] == '\r')
      line[length - 1] = 0;
    if (!*line || !strncmp(line, "#version", 8))
      continue;
    if (read_merge(files, vocabulary, line, rank++, path, err))
      return -1;
  }
  bpe_sort(&files->bpe);
  return 0;
}

/* How many tokens of vocab.json neither stand for a byte, nor were added, nor come of a merge. Vocabularies that lack
 * some byte are no product of byte-pair training, and not judged. */
static size_t count_unmade(const struct tokenizer_files *files, struct vocabulary *vocabulary, bool *made) {
  size_t count = 0;
  for (int i = 0; i < 2 * 256; i++) {
    int id = files->byte_id[i / 256][i % 256];
    if (id == files->unknown)
      return 0;
    made[id] = true;
  }
  for (size_t i = 0; i < files->bpe.count; i++)
    made[files->bpe.merges[i].id] = true;
  for (int i = 0; i < files->added_count; i++) {
    int id = find_id(vocabulary, files->added[i].text);
    if (id >= 0)
      made[id] = true;
  }
  for (int i = 0; i < files->vocabulary; i++)
    count += made[i];
  return vocabulary->count - count;
}

/* A file of merges cut at the end of a line is noticed by the tokens that are then missing a merge. */
static int check_merges(const struct tokenizer_files *files, struct vocabulary *vocabulary, const char *path,
                        struct error *err) {
  bool *made = calloc((size_t)files->vocabulary, sizeof *made);
  if (!made)
    return error_set(err, STATUS_FAILED, "%s: out of memory", path);
  size_t unmade = count_unmade(files, vocabulary, made);
  free(made);
  if (unmade)
    return error_set(err, STATUS_MODEL, "%s: has %zu merges, %zu too few for vocab.json; fetch the file again", path,
                     files->bpe.count, unmade);
  return 0;
}

static int read_merges(struct tokenizer_files *files, struct vocabulary *vocabulary, const char *folder,
                       struct error *err) {
  char *path = text_path(folder, "merges.txt"), *text = NULL;
  int result = path ? text_read(path, VOCABULARY_LIMIT, &text, NULL, err)
                    : error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  if (!result)
    result = parse_merges(files, vocabulary, text, path, err);
  if (!result)
    result = check_merges(files, vocabulary, path, err);
  free(text);
  free(path);
  return result;
}

/* A text, or an object with one in "content": both occur. */
static const char *token_text(const cJSON *item) {
  return cJSON_GetStringValue(cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, "content") : item);
}

/* Adds a token to those found in the text, or changes the kind of one already there. item says its kind; NULL: nothing
 * is said. */
static int add_token(struct tokenizer_files *files, const cJSON *item, const char *text, int id, const char *path,
                     struct error *err) {
  static const char *const unsupported[] = {"lstrip", "rstrip", "single_word"};
  for (int i = 0; i < 3; i++)
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, unsupported[i])))
      return error_set(err, STATUS_MODEL, "%s: %s: true of token %s is not supported", path, unsupported[i],
                       text_quote(text).text);
  bool normalised = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "normalized"));
  for (int i = 0; i < files->added_count; i++)
    if (!strcmp(files->added[i].text, text)) {
      files->added[i].normalised = normalised;
      return 0;
    }
  if (files->added_count == ADDED_MAX || !*text)
    return error_set(err, STATUS_MODEL, "%s: has an empty added token, or more than %d", path, ADDED_MAX);
  struct added_token *list = realloc(files->added, (size_t)(files->added_count + 1) * sizeof *list);
  if (list)
    files->added = list;
  char *copy = list ? strdup(text) : NULL;
  if (!copy)
    return error_set(err, STATUS_FAILED, "%s: out of memory", path);
  files->added[files->added_count++] = (struct added_token){.text = copy, .id = id, .normalised = normalised};
  if (id >= files->vocabulary)
    files->vocabulary = id + 1;
  return 0;
}

/* The four tokens with a role, in the order in which the reference adds them: of the same text added twice, the later
 * says what kind it is. */
static const struct role {
  const char *key, *usual;
  size_t place; /* of the id in struct tokenizer_files */
} roles[] = {
    {"bos_token", "<|startoftext|>", offsetof(struct tokenizer_files, start)},
    {"eos_token", "<|endoftext|>", offsetof(struct tokenizer_files, end)},
    {"unk_token", "<|endoftext|>", offsetof(struct tokenizer_files, unknown)},
    {"pad_token", "<|endoftext|>", offsetof(struct tokenizer_files, pad)},
};

/* Where a role's token is said: special_tokens_map.json goes before tokenizer_config.json, except where the latter has
 * the newer added_tokens_decoder. */
static const cJSON *find_role(const cJSON *config, const cJSON *map, const char *key) {
  const cJSON *item = NULL;
  if (!cJSON_GetObjectItemCaseSensitive(config, "added_tokens_decoder"))
    item = cJSON_GetObjectItemCaseSensitive(map, key);
  return token_text(item) ? item : cJSON_GetObjectItemCaseSensitive(config, key);
}

static int add_role(struct tokenizer_files *files, struct vocabulary *vocabulary, const struct role *role,
                    const cJSON *config, const cJSON *map, struct error *err) {
  const cJSON *item = find_role(config, map, role->key);
  const char *text = token_text(item) ? token_text(item) : role->usual;
  int id = find_id(vocabulary, text);
  if (id < 0)
    return error_set(err, STATUS_MODEL, "%s: has no token %s, the tokenizer's %s", vocabulary->path,
                     text_quote(text).text, role->key);
  memcpy((char *)files + role->place, &id, sizeof id);
  return add_token(files, item, text, id, vocabulary->path, err);
}

static int add_listed(struct tokenizer_files *files, const cJSON *config, const char *path, struct error *err) {
  const cJSON *item;
  cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(config, "added_tokens_decoder")) {
    char *end;
    long id = item->string ? strtol(item->string, &end, 10) : -1;
    const char *text = token_text(item);
    if (!text || id < 0 || id >= ID_MAX || *end)
      return error_set(err, STATUS_MODEL, "%s: added_tokens_decoder: is not a list of tokens by id", path);
    if (add_token(files, item, text, (int)id, path, err))
      return -1;
  }
  return 0;
}

/* --- learned tokens --- */

/* True if the files list the text among the tokens that keep their letters as they are. */
static bool is_special(const cJSON *list, const char *text) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) if (token_text(item) && !strcmp(token_text(item), text)) return true;
  return false;
}

static bool is_added(const struct tokenizer_files *files, const char *text) {
  for (int i = 0; i < files->added_count; i++)
    if (!strcmp(files->added[i].text, text))
      return true;
  return false;
}

/* Tokens that training added, by their text: what another file says of the same text stays. Like the reference's, they
 * are looked for in normalised text, unless they are among the special ones. */
static int add_learned(struct tokenizer_files *files, const cJSON *json, const cJSON *map, const char *path,
                       struct error *err) {
  const cJSON *item, *special = cJSON_GetObjectItemCaseSensitive(map, "additional_special_tokens");
  cJSON_ArrayForEach(item, json) {
    int id;
    if (!read_id(item, &id))
      return error_set(err, STATUS_MODEL, "%s: token %s has no id from 0 to %d", path, text_quote(item->string).text,
                       ID_MAX - 1);
    if (is_added(files, item->string))
      continue;
    if (add_token(files, NULL, item->string, id, path, err))
      return -1;
    files->added[files->added_count - 1].normalised = !is_special(special, item->string);
  }
  return 0;
}

/* The list of tokenizer.json, where the folder has one beside the vocabulary. */
static int add_from_whole(struct tokenizer_files *files, const cJSON *json, const char *path, struct error *err) {
  const cJSON *item;
  cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "added_tokens")) {
    const char *text = token_text(item);
    int id;
    if (!text || !read_id(cJSON_GetObjectItemCaseSensitive(item, "id"), &id))
      return error_set(err, STATUS_MODEL, "%s: added_tokens: is not a list of tokens with ids", path);
    if (!is_added(files, text) && add_token(files, item, text, id, path, err))
      return -1;
  }
  return 0;
}

/* An optional file: *json stays NULL where there is none. */
static int read_optional(const char *folder, const char *name, size_t limit, char **path, cJSON **json,
                         struct error *err) {
  *path = text_path(folder, name);
  if (*path && !platform_exists(*path))
    return 0;
  free(*path);
  *json = read_json(folder, name, limit, path, err);
  return *json ? 0 : -1;
}

/* tokenizer_config.json and special_tokens_map.json; each may be NULL. */
static int add_roles(struct tokenizer_files *files, struct vocabulary *vocabulary, const cJSON *config,
                     const char *config_path, const cJSON *map, struct error *err) {
  int result = 0;
  for (size_t i = 0; i < sizeof roles / sizeof *roles && !result; i++)
    result = add_role(files, vocabulary, &roles[i], config, map, err);
  return result ? result : add_listed(files, config, config_path, err);
}

/* Lists without it, or with the huge number that stands for none, say nothing. */
static void read_longest(struct tokenizer_files *files, const cJSON *config) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, "model_max_length");
  if (cJSON_IsNumber(item) && item->valuedouble >= 1 && item->valuedouble < ID_MAX)
    files->longest = (int)item->valuedouble;
}

static int read_learned(struct tokenizer_files *files, const char *folder, const cJSON *map, struct error *err) {
  char *path = NULL, *whole_path = NULL;
  cJSON *json = NULL, *whole = NULL;
  int result = read_optional(folder, "added_tokens.json", CONFIG_LIMIT, &path, &json, err);
  if (!result)
    result = add_learned(files, json, map, path, err);
  if (!result)
    result = read_optional(folder, "tokenizer.json", VOCABULARY_LIMIT, &whole_path, &whole, err);
  if (!result)
    result = add_from_whole(files, whole, whole_path, err);
  cJSON_Delete(json);
  cJSON_Delete(whole);
  free(path);
  free(whole_path);
  return result;
}

static int read_roles(struct tokenizer_files *files, struct vocabulary *vocabulary, const char *folder,
                      struct error *err) {
  char *config_path = NULL, *map_path = NULL;
  cJSON *config = NULL, *map = NULL;
  int result = read_optional(folder, "tokenizer_config.json", CONFIG_LIMIT, &config_path, &config, err);
  if (!result)
    result = read_optional(folder, "special_tokens_map.json", CONFIG_LIMIT, &map_path, &map, err);
  if (!result)
    result = add_roles(files, vocabulary, config, config_path, map, err);
  if (!result)
    result = read_learned(files, folder, map, err);
  read_longest(files, config);
  cJSON_Delete(config);
  cJSON_Delete(map);
  free(config_path);
  free(map_path);
  return result;
}

int tokenizer_files_read(struct tokenizer_files *files, const char *folder, struct error *err) {
  char *path;
  struct vocabulary vocabulary = {0};
  cJSON *json = read_json(folder, "vocab.json", VOCABULARY_LIMIT, &path, err);
  vocabulary.path = path;
  int result = json ? list_vocabulary(files, &vocabulary, json, err) : -1;
  if (!result)
    result = read_roles(files, &vocabulary, folder, err);
  if (!result) {
    find_bytes(files, &vocabulary);
    result = read_merges(files, &vocabulary, folder, err);
  }
  free(vocabulary.table);
  cJSON_Delete(json);
  free(path);
  return result;
}

/* --- CLIP's own vocabulary --- */

enum { CLIP_MERGES = 48894 /* of the file's, as many as CLIP uses */, CLIP_TEXT_MAX = 1 << 20 };

/* The file's first line, which says what it is, and the merges. text holds CLIP_TEXT_MAX. */
static int read_clip(char *text, const char *path, struct error *err) {
  gzFile file = gzopen(path, "rb");
  int length = file ? gzread(file, text, CLIP_TEXT_MAX - 1) : -1;
  if (file)
    gzclose(file);
  if (length < 0)
    return error_set(err, STATUS_MODEL, "%s: cannot be read", path);
  text[length] = 0;
  char *end = text;
  for (int line = 0; end && line <= CLIP_MERGES; line++)
    end = strchr(line ? end + 1 : end, '\n');
  if (!end)
    return error_set(err, STATUS_MODEL, "%s: is not CLIP's list of merges", path);
  *end = 0;
  return 0;
}

static bool add_clip_token(cJSON *vocabulary, const char *text, int id) {
  return cJSON_AddNumberToObject(vocabulary, text, id);
}

/* The bytes' characters, printable ones first; the same at a word's end; what the merges make; start and end. */
static cJSON *clip_vocabulary(const char *merges) {
  cJSON *vocabulary = cJSON_CreateObject();
  int id = 0;
  bool good = vocabulary;
  for (int i = 0; i < 4; i++)
    for (int byte = 0; byte < 256; byte++) {
      char text[8];
      byte_char(byte, text);
      bool printable = (unsigned char)text[0] < 0xC4; /* others are from U+0100 on */
      if (printable == (i % 2 == 0))
        good = good && add_clip_token(vocabulary, i < 2 ? text : strcat(text, "</w>"), id++);
    }
  for (const char *line = merges; good && line; line = strchr(line, '\n')) {
    char joined[1024];
    line += *line == '\n';
    int left = (int)strcspn(line, " \n"), right = (int)strcspn(line + left, "\n") - 1;
    good = line[left] == ' ' && left + right < (int)sizeof joined;
    if (good)
      snprintf(joined, sizeof joined, "%.*s%.*s", left, line, right, line + left + 1);
    good = good && add_clip_token(vocabulary, joined, id++);
  }
  if (good && add_clip_token(vocabulary, "<|startoftext|>", id) && add_clip_token(vocabulary, "<|endoftext|>", id + 1))
    return vocabulary;
  cJSON_Delete(vocabulary);
  return NULL;
}

/* As published models have them in special_tokens_map.json. */
static cJSON *clip_special_tokens(const char *pad) {
  cJSON *map = cJSON_CreateObject();
  bool good = map && cJSON_AddStringToObject(map, "pad_token", pad);
  for (size_t i = 0; i < sizeof roles / sizeof *roles && good; i++) {
    if (!strcmp(roles[i].key, "pad_token"))
      continue;
    cJSON *token = cJSON_AddObjectToObject(map, roles[i].key);
    good = token && cJSON_AddStringToObject(token, "content", roles[i].usual) &&
           cJSON_AddTrueToObject(token, "normalized");
  }
  if (good)
    return map;
  cJSON_Delete(map);
  return NULL;
}

static int clip_from_text(struct tokenizer_files *files, char *text, const char *path, const char *pad,
                          struct error *err) {
  struct vocabulary vocabulary = {.path = path};
  char *merges = strchr(text, '\n') + 1;
  cJSON *json = clip_vocabulary(merges), *map = clip_special_tokens(pad);
  int result = json && map ? list_vocabulary(files, &vocabulary, json, err)
                           : error_set(err, STATUS_MODEL, "%s: is not CLIP's list of merges", path);
  if (!result)
    result = add_roles(files, &vocabulary, NULL, path, map, err);
  if (!result) {
    find_bytes(files, &vocabulary);
    result = parse_merges(files, &vocabulary, merges, path, err);
  }
  if (!result)
    result = check_merges(files, &vocabulary, path, err);
  free(vocabulary.table);
  cJSON_Delete(json);
  cJSON_Delete(map);
  return result;
}

int tokenizer_files_clip(struct tokenizer_files *files, const char *merges, const char *pad, struct error *err) {
  char *text = malloc(CLIP_TEXT_MAX);
  if (!text)
    return error_set(err, STATUS_FAILED, "%s: out of memory", merges);
  int result = read_clip(text, merges, err);
  result = result ? result : clip_from_text(files, text, merges, pad, err);
  free(text);
  return result;
}

void tokenizer_files_free(struct tokenizer_files *files) {
  for (int i = 0; i < files->added_count; i++)
    free(files->added[i].text), free(files->added[i].folded);
  free(files->added);
  free(files->bpe.merges);
  *files = (struct tokenizer_files){0};
}
