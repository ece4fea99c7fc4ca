/* Makes CLIP's own vocabulary from its published list of merges alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "unet/text/tokenizer_impl.h"

enum { CLIP_MERGES = 48894 /* number of merges of the published list that CLIP uses */, CLIP_TEXT_MAX = 1 << 20 };

/* Reads CLIP's list of merges from a gzip file into text, which has CLIP_TEXT_MAX bytes: a first line that names the
 * list, then one merge on each line. What follows CLIP_MERGES merges is cut off. Returns 0, or -1 with err. */
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

/* Builds the vocabulary in CLIP's order: first the characters that stand for single bytes, printable ones first; then
 * the same characters at the end of a word; then the results of the merges; at last the start and end token. */
static cJSON *clip_vocabulary(const char *merges) {
  cJSON *vocabulary = cJSON_CreateObject();
  int id = 0;
  bool good = vocabulary;
  for (int i = 0; i < 4; i++)
    for (int byte = 0; byte < 256; byte++) {
      char text[8];
      tokenizer_byte_char(byte, text);
      /* Bytes that are not printable are represented by characters from U+0100 on, whose UTF-8 begins with 0xC4 or a
       * higher byte. */
      bool printable = (unsigned char)text[0] < 0xC4;
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

static int clip_from_text(struct tokenizer_files *files, char *text, const char *path, const char *pad,
                          struct error *err) {
  struct vocabulary vocabulary = {0};
  char *merges = strchr(text, '\n') + 1;
  cJSON *json = clip_vocabulary(merges);
  const struct listing listings[LISTINGS] = {[LISTING_MAP] = {.json = tokenizer_usual_roles(pad)}};
  int result = json && listings[LISTING_MAP].json
                   ? vocabulary_init(&vocabulary, json, path, "CLIP's vocabulary", err)
                   : error_set(err, STATUS_MODEL, "%s: is not CLIP's list of merges", path);
  result = result ? result : tokenizer_add_tokens(files, &vocabulary, listings, err);
  if (!result) {
    tokenizer_find_bytes(files, &vocabulary);
    result = tokenizer_parse_merges(files, &vocabulary, merges, path, err);
  }
  result = result ? result : tokenizer_check_merges(files, &vocabulary, path, err);
  vocabulary_free(&vocabulary);
  cJSON_Delete(json);
  cJSON_Delete(listings[LISTING_MAP].json);
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
