/* Added tokens, which are found in the text itself before it is split into words: tokens with a role, such as the end
 * token, and tokens that training added. Four files of the tokenizer's folder may list them. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/text.h"
#include "unet/text/tokenizer_impl.h"

enum { ADDED_MAX = 4096 };

/* The arguments that all functions of this file share: the files' contents, to which tokens are added; the vocabulary;
 * and the four listings (tokenizer_impl.h) that name added tokens. */
struct adding {
  struct tokenizer_files *files;
  const struct vocabulary *vocabulary;
  const struct listing *listings;
};

/* Returns the text of a token from an item of a list, which is either this text or an object with the text in
 * "content". */
static const char *token_text(const cJSON *item) {
  return cJSON_GetStringValue(cJSON_IsObject(item) ? cJSON_GetObjectItemCaseSensitive(item, "content") : item);
}

static const cJSON *field(const struct adding *adding, int listing, const char *key) {
  return cJSON_GetObjectItemCaseSensitive(adding->listings[listing].json, key);
}

/* --- adding one token to the added tokens --- */

static struct added_token *find_added(const struct adding *adding, const char *text) {
  for (int i = 0; i < adding->files->added_count; i++)
    if (!strcmp(adding->files->added[i].text, text))
      return &adding->files->added[i];
  return NULL;
}

/* Returns the text of a different token with the same id; NULL: there is none. */
static const char *find_same(const struct adding *adding, const char *text, int id) {
  const char *of_vocabulary = vocabulary_text(adding->vocabulary, id);
  if (of_vocabulary)
    return strcmp(of_vocabulary, text) ? of_vocabulary : NULL;
  for (int i = 0; i < adding->files->added_count; i++)
    if (adding->files->added[i].id == id && strcmp(adding->files->added[i].text, text))
      return adding->files->added[i].text;
  return NULL;
}

/* Returns -1 with err if the token cannot have this id: another added token has the same id, or another list gives the
 * token a different id. The vocabulary is not checked. It may contain the same text as a part of a word, with another
 * id. */
static int check_id(const struct adding *adding, const char *text, int id, const char *path, struct error *err) {
  const struct added_token *added = find_added(adding, text);
  if (added && added->id != id)
    return error_set(err, STATUS_MODEL,
                     "%s: token %s has the id %d, and %d elsewhere in the folder; correct one of them", path,
                     text_quote(text).text, id, added->id);
  const char *other = find_same(adding, text, id);
  return other ? tokenizer_refuse_same(path, text, other, id, err) : 0;
}

static int check_kind(const cJSON *item, const char *text, const char *path, struct error *err) {
  static const char *const unsupported[] = {"lstrip", "rstrip", "single_word"};
  for (int i = 0; i < 3; i++)
    if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, unsupported[i])))
      return error_set(err, STATUS_MODEL, "%s: %s: true of token %s is not supported", path, unsupported[i],
                       text_quote(text).text);
  return 0;
}

static struct added_token *append(struct adding *adding, const char *text, int id, const char *path,
                                  struct error *err) {
  struct tokenizer_files *files = adding->files;
  if (files->added_count == ADDED_MAX || !*text) {
    error_set(err, STATUS_MODEL, "%s: has an empty added token, or more than %d", path, ADDED_MAX);
    return NULL;
  }
  struct added_token *list = realloc(files->added, (size_t)(files->added_count + 1) * sizeof *list);
  if (list)
    files->added = list;
  char *copy = list ? strdup(text) : NULL;
  if (!copy) {
    error_set(err, STATUS_FAILED, "%s: out of memory", path);
    return NULL;
  }
  struct added_token *added = &files->added[files->added_count++];
  *added = (struct added_token){.text = copy, .id = id};
  if (id >= files->vocabulary)
    files->vocabulary = id + 1;
  return added;
}

/* Adds a token, or changes the kind of a token that was added before. item: JSON in the file that describes the
 * token and its kind; NULL: the kind is unknown. */
static int add_token(struct adding *adding, const cJSON *item, const char *text, int id, const char *path,
                     struct error *err) {
  struct added_token *added = find_added(adding, text);
  if (check_kind(item, text, path, err) || check_id(adding, text, id, path, err))
    return -1;
  added = added ? added : append(adding, text, id, path, err);
  if (!added)
    return -1;
  added->normalised = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "normalized"));
  added->guessed = !item;
  return 0;
}

/* --- the lists of added tokens in the folder's files --- */

/* Reads added_tokens_decoder of tokenizer_config.json, a list of tokens by id. */
static int add_listed(struct adding *adding, struct error *err) {
  const char *path = adding->listings[LISTING_CONFIG].path;
  const cJSON *item;
  cJSON_ArrayForEach(item, field(adding, LISTING_CONFIG, "added_tokens_decoder")) {
    char *end = NULL;
    long id = item->string ? strtol(item->string, &end, 10) : -1;
    const char *text = token_text(item);
    if (!text || id < 0 || id >= ID_MAX || *end || end == item->string)
      return error_set(err, STATUS_MODEL, "%s: added_tokens_decoder: is not a list of tokens by id", path);
    if (add_token(adding, item, text, (int)id, path, err))
      return -1;
  }
  return 0;
}

/* Returns true if the text is in this list of special tokens, which are not normalised. */
static bool is_special(const cJSON *list, const char *text) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) if (token_text(item) && !strcmp(token_text(item), text)) return true;
  return false;
}

/* Reads added_tokens.json, which lists ids by text. It does not tell whether a token is looked for in the original or
 * in the normalised text. As in transformers, special tokens are looked for in the original text, others in normalised
 * text, unless another file says otherwise. */
static int add_learned(struct adding *adding, struct error *err) {
  const struct listing *listing = &adding->listings[LISTING_LEARNED];
  const cJSON *item, *special = field(adding, LISTING_MAP, "additional_special_tokens");
  cJSON_ArrayForEach(item, listing->json) {
    int id;
    if (!tokenizer_read_id(item, &id))
      return tokenizer_refuse_id(listing->path, item->string, err);
    bool known = find_added(adding, item->string);
    if (check_id(adding, item->string, id, listing->path, err))
      return -1;
    struct added_token *added = known ? NULL : append(adding, item->string, id, listing->path, err);
    if (!known && !added)
      return -1;
    if (added)
      *added = (struct added_token){added->text, NULL, id, !is_special(special, item->string), .guessed = true};
  }
  return 0;
}

/* Reads the list of added tokens in tokenizer.json. The list states whether a token is looked for in normalised text;
 * this replaces what was guessed from other files. */
static int add_from_whole(struct adding *adding, struct error *err) {
  const char *path = adding->listings[LISTING_WHOLE].path;
  const cJSON *item;
  cJSON_ArrayForEach(item, field(adding, LISTING_WHOLE, "added_tokens")) {
    const char *text = token_text(item);
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(item, "id");
    int id;
    if (!text || !number)
      return error_set(err, STATUS_MODEL, "%s: added_tokens: is not a list of tokens with ids", path);
    if (!tokenizer_read_id(number, &id))
      return tokenizer_refuse_id(path, text, err);
    const struct added_token *added = find_added(adding, text);
    if (added && !added->guessed ? check_id(adding, text, id, path, err) : add_token(adding, item, text, id, path, err))
      return -1;
  }
  return 0;
}

/* --- tokens with a role: start, end, unknown and padding --- */

/* The four tokens with a role, in the order in which transformers adds them. If one text has two roles, the later role
 * decides the kind of its token. */
static const struct role {
  const char *key, *usual;
  size_t place; /* offset, in struct tokenizer_files, of the field for the id */
} roles[] = {
    {"bos_token", "<|startoftext|>", offsetof(struct tokenizer_files, start)},
    {"eos_token", "<|endoftext|>", offsetof(struct tokenizer_files, end)},
    {"unk_token", "<|endoftext|>", offsetof(struct tokenizer_files, unknown)},
    {"pad_token", "<|endoftext|>", offsetof(struct tokenizer_files, pad)},
};

/* Returns the entry for a role: from special_tokens_map.json if that has one, else from tokenizer_config.json. If
 * tokenizer_config.json has added_tokens_decoder, which newer versions write, it alone counts. */
static const cJSON *find_role(const struct adding *adding, const char *key) {
  const cJSON *item = NULL;
  if (!field(adding, LISTING_CONFIG, "added_tokens_decoder"))
    item = field(adding, LISTING_MAP, key);
  return token_text(item) ? item : field(adding, LISTING_CONFIG, key);
}

/* Returns the id of a text that is not in the vocabulary but in one of the lists; -1: no list has it. */
static int find_listed(const struct adding *adding, const char *text) {
  const cJSON *item;
  int id;
  cJSON_ArrayForEach(item, field(adding, LISTING_CONFIG, "added_tokens_decoder")) {
    if (token_text(item) && item->string && !strcmp(token_text(item), text))
      return (int)strtol(item->string, NULL, 10);
  }
  if (tokenizer_read_id(field(adding, LISTING_LEARNED, text), &id))
    return id;
  cJSON_ArrayForEach(item, field(adding, LISTING_WHOLE, "added_tokens")) {
    if (token_text(item) && !strcmp(token_text(item), text) &&
        tokenizer_read_id(cJSON_GetObjectItemCaseSensitive(item, "id"), &id))
      return id;
  }
  return -1;
}

static int add_role(struct adding *adding, const struct role *role, struct error *err) {
  const cJSON *item = find_role(adding, role->key);
  const char *text = token_text(item) ? token_text(item) : role->usual, *path = adding->vocabulary->path;
  int id = vocabulary_find(adding->vocabulary, text);
  id = id < 0 ? find_listed(adding, text) : id;
  if (id < 0 || id >= ID_MAX)
    return error_set(err, STATUS_MODEL, "%s: has no token %s, the tokenizer's %s", path, text_quote(text).text,
                     role->key);
  memcpy((char *)adding->files + role->place, &id, sizeof id);
  return add_token(adding, item, text, id, path, err);
}

int tokenizer_add_tokens(struct tokenizer_files *files, const struct vocabulary *vocabulary,
                         const struct listing listings[LISTINGS], struct error *err) {
  struct adding adding = {files, vocabulary, listings};
  files->vocabulary = vocabulary->ids;
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
    if (add_role(&adding, &roles[i], err))
      return -1;
  return add_listed(&adding, err) || add_learned(&adding, err) || add_from_whole(&adding, err) ? -1 : 0;
}

cJSON *tokenizer_usual_roles(const char *pad) {
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
