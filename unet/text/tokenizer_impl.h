/* Declarations shared by the files that read a tokenizer's folder.
 *
 * vocabulary.c       finds tokens by text and by id
 * merges.c           the tokens of bytes, and the merges of pairs
 * added_tokens.c     tokens that are found in the text itself
 * tokenizer_files.c  reads the files of a folder
 * tokenizer_clip.c   makes CLIP's own vocabulary */
#ifndef UNET_TEXT_TOKENIZER_IMPL_H
#define UNET_TEXT_TOKENIZER_IMPL_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "unet/base/error.h"
#include "unet/text/tokenizer_files.h"

enum { ID_MAX = 1 << 22 };

/* --- vocabulary.c: finding tokens by text and by id --- */

struct token {
  const char *text; /* the token's text; NULL: this element of the hash table is unused */
  int id;
};

/* A hash table from a token's text to its id. Texts are borrowed from the parsed file. */
struct vocabulary {
  const char *path, *name; /* path of the file, and name of the list for messages: "vocab.json" */
  struct token *table;
  /* capacity: number of entries of the hash table, a power of two; count: number of tokens in it, at most half of the
   * capacity, so that searches are short and always end */
  size_t capacity, count;
  const char **text; /* text of the token with each id; NULL: no token has this id */
  int ids;           /* 1 more than the highest id of a token */
};

/* Lists the tokens of a JSON object. Fails if a token has no id, or the id of another token. `json`, `path` and `name`
 * are borrowed. vocabulary_free must be called afterwards, even after a failure. */
int vocabulary_init(struct vocabulary *vocabulary, const cJSON *json, const char *path, const char *name,
                    struct error *err);
void vocabulary_free(struct vocabulary *vocabulary);
/* Returns the id of a token; -1: the vocabulary has no such token. */
int vocabulary_find(const struct vocabulary *vocabulary, const char *text);
/* Returns the text of the token with an id; NULL: there is none. */
const char *vocabulary_text(const struct vocabulary *vocabulary, int id);

/* Reads a token's id from a JSON value. Returns false if that is not a whole number from 0 to ID_MAX - 1. */
bool tokenizer_read_id(const cJSON *item, int *id);
/* Sets the error that a token has no valid id. Returns -1. */
int tokenizer_refuse_id(const char *path, const char *text, struct error *err);
/* Sets the error that two tokens have the same id. Returns -1. */
int tokenizer_refuse_same(const char *path, const char *text, const char *other, int id, struct error *err);

/* --- merges.c: tokens of single bytes, and merges of pairs of tokens --- */

/* Writes the printable character that stands for a byte in a vocabulary, as UTF-8: printable characters of Latin-1
 * stand for themselves, and the other 68 bytes, from the lowest to the highest, are U+0100 to U+0143. */
void tokenizer_byte_char(int byte, char text[3]);
/* Finds the ids of the tokens that stand for single bytes, and stores them in files->byte_id. files->unknown must be
 * set already. */
void tokenizer_find_bytes(struct tokenizer_files *files, const struct vocabulary *vocabulary);
/* Reads merges (of two tokens into one) from `text`, which has one on each line. The function overwrites parts of
 * `text`. */
int tokenizer_parse_merges(struct tokenizer_files *files, const struct vocabulary *vocabulary, char *text,
                           const char *path, struct error *err);
/* Reads merges (of two tokens into one) from a JSON list whose items are texts or pairs. */
int tokenizer_list_merges(struct tokenizer_files *files, const struct vocabulary *vocabulary, const cJSON *list,
                          const char *path, struct error *err);
/* Refuses a list of merges that is incomplete: there are tokens in the vocabulary that no merge makes. */
int tokenizer_check_merges(const struct tokenizer_files *files, const struct vocabulary *vocabulary, const char *path,
                           struct error *err);

/* --- added_tokens.c: tokens that are looked for in the prompt's text before it is split into words --- */

/* A parsed file of the tokenizer's folder; json is NULL if the file is missing. */
struct listing {
  char *path;
  cJSON *json;
};

enum { LISTING_CONFIG, LISTING_MAP, LISTING_LEARNED, LISTING_WHOLE, LISTINGS };

/* Adds the tokens with a role (such as the end token), and those that training added. The listings are
 * tokenizer_config.json, special_tokens_map.json, added_tokens.json and tokenizer.json. */
int tokenizer_add_tokens(struct tokenizer_files *files, const struct vocabulary *vocabulary,
                         const struct listing listings[LISTINGS], struct error *err);
/* Makes the special_tokens_map.json of CLIP's published models, with `pad` as the padding token; NULL: out of memory.
 * The caller frees it. */
cJSON *tokenizer_usual_roles(const char *pad);

#endif
