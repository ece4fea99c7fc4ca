/* Reads the merges of byte-pair encoding, and finds the tokens of single bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/text.h"
#include "unet/text/tokenizer_impl.h"

/* --- tokens of single bytes --- */

void tokenizer_byte_char(int byte, char text[3]) {
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

void tokenizer_find_bytes(struct tokenizer_files *files, const struct vocabulary *vocabulary) {
  for (int byte = 0; byte < 256; byte++)
    for (int end = 0; end < 2; end++) {
      char text[8];
      tokenizer_byte_char(byte, text);
      int id = vocabulary_find(vocabulary, strcat(text, end ? "</w>" : ""));
      files->byte_id[end][byte] = id < 0 ? files->unknown : id;
    }
}

/* --- reading the list of merges (of two tokens into one) --- */

static int refuse_pair(const char *path, int rank, struct error *err) {
  return error_set(err, STATUS_MODEL, "%s: merge %d is not two tokens; fetch the file again", path, rank + 1);
}

/* Adds a merge of two tokens to the list: `left`, which has `length` bytes, and `right`. Both and their concatenation
 * must be in the vocabulary. */
static int add_merge(struct tokenizer_files *files, const struct vocabulary *vocabulary, const char *left,
                     size_t length, const char *right, const char *path, struct error *err) {
  int rank = (int)files->bpe.count;
  char joined[1024], first[1024];
  if (length + strlen(right) >= sizeof joined)
    return refuse_pair(path, rank, err);
  snprintf(first, sizeof first, "%.*s", (int)length, left);
  snprintf(joined, sizeof joined, "%s%s", first, right);
  int a = vocabulary_find(vocabulary, first), b = vocabulary_find(vocabulary, right),
      id = vocabulary_find(vocabulary, joined);
  if (a < 0 || b < 0 || id < 0)
    return error_set(err, STATUS_MODEL, "%s: merge %d (%s) is not in %s; the two are not of one model", path, rank + 1,
                     text_quote(joined).text, vocabulary->name);
  files->bpe.merges[files->bpe.count++] = (struct merge){bpe_pair(a, b), rank, id};
  return 0;
}

/* Adds to the list a merge of two tokens that the file writes as one text, "left right". */
static int add_pair(struct tokenizer_files *files, const struct vocabulary *vocabulary, const char *pair,
                    const char *path, struct error *err) {
  const char *space = strchr(pair, ' ');
  return space ? add_merge(files, vocabulary, pair, (size_t)(space - pair), space + 1, path, err)
               : refuse_pair(path, (int)files->bpe.count, err);
}

static int reserve(struct tokenizer_files *files, size_t count, const char *path, struct error *err) {
  files->bpe.merges = malloc((count + 1) * sizeof *files->bpe.merges);
  return files->bpe.merges ? 0 : error_set(err, STATUS_FAILED, "%s: out of memory", path);
}

int tokenizer_parse_merges(struct tokenizer_files *files, const struct vocabulary *vocabulary, char *text,
                           const char *path, struct error *err) {
  size_t lines = 1;
  for (const char *c = text; *c; c++)
    lines += *c == '\n';
  if (reserve(files, lines, path, err))
    return -1;
  for (char *line = text, *next; line; line = next) {
    next = strchr(line, '\n');
    if (next)
      *next++ = 0;
    size_t length = strlen(line);
    if (length && line[length - 1] == '\r')
      line[length - 1] = 0;
    if (!*line || !strncmp(line, "#version", 8))
      continue;
    if (add_pair(files, vocabulary, line, path, err))
      return -1;
  }
  bpe_sort(&files->bpe);
  return 0;
}

/* Adds a merge (of two tokens into one) from an item of tokenizer.json's list: "left right", or since 2024 ["left",
 * "right"]. */
static int add_item(struct tokenizer_files *files, const struct vocabulary *vocabulary, const cJSON *item,
                    const char *path, struct error *err) {
  const char *left = cJSON_GetStringValue(cJSON_GetArrayItem(item, 0)),
             *right = cJSON_GetStringValue(cJSON_GetArrayItem(item, 1));
  if (cJSON_IsString(item))
    return add_pair(files, vocabulary, item->valuestring, path, err);
  if (!left || !right || cJSON_GetArraySize(item) != 2)
    return refuse_pair(path, (int)files->bpe.count, err);
  return add_merge(files, vocabulary, left, strlen(left), right, path, err);
}

int tokenizer_list_merges(struct tokenizer_files *files, const struct vocabulary *vocabulary, const cJSON *list,
                          const char *path, struct error *err) {
  const cJSON *item;
  if (reserve(files, (size_t)cJSON_GetArraySize(list), path, err))
    return -1;
  cJSON_ArrayForEach(item, list) {
    if (add_item(files, vocabulary, item, path, err))
      return -1;
  }
  bpe_sort(&files->bpe);
  return 0;
}

/* Counts the vocabulary's tokens that are neither bytes, nor added tokens, nor results of a merge. If the vocabulary
 * lacks some byte, it was not made by byte-pair training; the count would then say nothing, so the result is 0. */
static size_t count_unmade(const struct tokenizer_files *files, const struct vocabulary *vocabulary, bool *made) {
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
    int id = vocabulary_find(vocabulary, files->added[i].text);
    if (id >= 0)
      made[id] = true;
  }
  for (int i = 0; i < files->vocabulary; i++)
    count += made[i];
  return vocabulary->count - count;
}

int tokenizer_check_merges(const struct tokenizer_files *files, const struct vocabulary *vocabulary, const char *path,
                           struct error *err) {
  bool *made = calloc((size_t)files->vocabulary, sizeof *made);
  if (!made)
    return error_set(err, STATUS_FAILED, "%s: out of memory", path);
  size_t unmade = count_unmade(files, vocabulary, made);
  free(made);
  if (unmade)
    return error_set(err, STATUS_MODEL, "%s: has %zu merges, %zu too few for %s; fetch the file again", path,
                     files->bpe.count, unmade, vocabulary->name);
  return 0;
}
