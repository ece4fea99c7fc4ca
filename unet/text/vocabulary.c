/* Finds the tokens of a vocabulary, by text in a hash table and by id in a list. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/text.h"
#include "unet/text/tokenizer_impl.h"

/* --- finding the tokens of a vocabulary by text and by id --- */

static size_t hash(const char *text) {
  uint32_t h = 2166136261u; /* hash of the text, by the FNV-1a function */
  for (; *text; text++)
    h = (h ^ (unsigned char)*text) * 16777619u;
  return h;
}

/* Returns the token's entry in the hash table, or the free entry where it belongs. */
static struct token *find_token(const struct vocabulary *vocabulary, const char *text) {
  size_t mask = vocabulary->capacity - 1, at = hash(text) & mask;
  while (vocabulary->table[at].text && strcmp(vocabulary->table[at].text, text) != 0)
    at = (at + 1) & mask;
  return &vocabulary->table[at];
}

int vocabulary_find(const struct vocabulary *vocabulary, const char *text) {
  const struct token *token = find_token(vocabulary, text);
  return token->text ? token->id : -1;
}

const char *vocabulary_text(const struct vocabulary *vocabulary, int id) {
  return id < vocabulary->ids ? vocabulary->text[id] : NULL;
}

bool tokenizer_read_id(const cJSON *item, int *id) {
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble < ID_MAX) ||
      item->valuedouble != (int)item->valuedouble)
    return false;
  *id = (int)item->valuedouble;
  return true;
}

int tokenizer_refuse_id(const char *path, const char *text, struct error *err) {
  return error_set(err, STATUS_MODEL, "%s: token %s has no id that is a whole number from 0 to %d", path,
                   text_quote(text).text, ID_MAX - 1);
}

int tokenizer_refuse_same(const char *path, const char *text, const char *other, int id, struct error *err) {
  return error_set(err, STATUS_MODEL,
                   "%s: tokens %s and %s have one id, %d; each word has a row of its own in the text encoder: correct "
                   "the ids",
                   path, text_quote(text).text, text_quote(other).text, id);
}

static int add_text(struct vocabulary *vocabulary, const cJSON *item, struct error *err) {
  int id;
  if (!tokenizer_read_id(item, &id))
    return tokenizer_refuse_id(vocabulary->path, item->string, err);
  struct token *token = find_token(vocabulary, item->string);
  if (token->text)
    return error_set(err, STATUS_MODEL, "%s: token %s is there twice; fetch the file again", vocabulary->path,
                     text_quote(item->string).text);
  *token = (struct token){item->string, id};
  vocabulary->count++;
  if (id >= vocabulary->ids)
    vocabulary->ids = id + 1;
  return 0;
}

/* Fills vocabulary->text: at index i the text of the token with id i. */
static int list_ids(struct vocabulary *vocabulary, const cJSON *json, struct error *err) {
  const cJSON *item;
  vocabulary->text = calloc((size_t)vocabulary->ids + 1, sizeof(*vocabulary->text));
  if (!vocabulary->text)
    return error_set(err, STATUS_FAILED, "%s: out of memory", vocabulary->path);
  cJSON_ArrayForEach(item, json) {
    int id = vocabulary_find(vocabulary, item->string);
    if (vocabulary->text[id])
      return tokenizer_refuse_same(vocabulary->path, vocabulary->text[id], item->string, id, err);
    vocabulary->text[id] = item->string;
  }
  return 0;
}

int vocabulary_init(struct vocabulary *vocabulary, const cJSON *json, const char *path, const char *name,
                    struct error *err) {
  *vocabulary = (struct vocabulary){.path = path, .name = name};
  size_t count = (size_t)cJSON_GetArraySize(json);
  for (vocabulary->capacity = 2; vocabulary->capacity < 2 * count;)
    vocabulary->capacity *= 2;
  vocabulary->table = calloc(vocabulary->capacity, sizeof *vocabulary->table);
  if (!vocabulary->table)
    return error_set(err, STATUS_FAILED, "%s: out of memory", path);
  const cJSON *item;
  cJSON_ArrayForEach(item, json) {
    if (add_text(vocabulary, item, err))
      return -1;
  }
  return list_ids(vocabulary, json, err);
}

void vocabulary_free(struct vocabulary *vocabulary) {
  free(vocabulary->table);
  free(vocabulary->text);
  *vocabulary = (struct vocabulary){0};
}
