/* The declarations that the files reading a tokenizer's folder share.
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

/* --- vocabulary.c --- */

struct token {
  const char *text; /* NULL: the entry is free */
  int id;
};

/* A hash table from a token's text to its id. Texts are borrowed from the parsed file. */
struct vocabulary {
  const char *path, *name; /* path of the file, and name of the list for messages: "vocab.json" */
  struct token *table;
  /* capacity is a power of two and at least twice count, so that searches are short and always end */
  size_t capacity, count;
  const char **text; /* text of each id; NULL: none */
  int ids;           /* highest id + 1 */
};

/* Lists the tokens of an object. Fails if a token has no id, or the id of another token. json, path and name are
 * borrowed. vocabulary_free must be called afterwards, even after a failure. */
int vocabulary_init(struct vocabulary *vocabulary, const cJSON *json, const char *path, const char *name,
                    struct error *err);
void vocabulary_free(struct vocabulary *vocabulary);
/* Returns the id of a token, or -1. */
int vocabulary_find(const struct vocabulary *vocabulary, const char *text);
/* Returns the token of an id; NULL: there is none. */
const char *vocabulary_text(const struct vocabulary *vocabulary, int id);

/* Reads an id. Returns false if it is not a whole number from 0 to ID_MAX - 1. */
bool tokenizer_read_id(const cJSON *item, int *id);
/* Writes the error about a token without a valid id. Returns -1. */
int tokenizer_refuse_id(const char *path, const char *text, struct error *err);
/* Writes the error about two tokens that have the same id. Returns -1. */
int tokenizer_refuse_same(const char *path, const char *text, const char *other, int id, struct error *err);

/* --- merges.c --- */

/* Writes the printable character that stands for a byte in a vocabulary, as UTF-8: printable characters of Latin-1
 * stand for themselves, and the other 68 bytes are U+0100 and up in order. */
void tokenizer_byte_char(int byte, char text[3]);
/* Finds the tokens of single bytes. files->unknown must be set already. */
void tokenizer_find_bytes(struct tokenizer_files *files, const struct vocabulary *vocabulary);
/* Reads merges from a text with one on each line. The text is changed. */
int tokenizer_parse_merges(struct tokenizer_files *files, const struct vocabulary *vocabulary, char *text,
                           const char *path, struct error *err);
/* Reads merges from a JSON list of texts or pairs. */
int tokenizer_list_merges(struct tokenizer_files *files, const struct vocabulary *vocabulary, const cJSON *list,
                          const char *path, struct error *err);
/* Refuses a list of merges that is incomplete: some tokens of the vocabulary are then the result of no merge. */
int tokenizer_check_merges(const struct tokenizer_files *files, const struct vocabulary *vocabulary, const char *path,
                           struct error *err);

/* --- added_tokens.c --- */

/* A file of the folder that may be missing; json is then NULL. */
struct listing {
  char *path;
  cJSON *json;
};

enum { LISTING_CONFIG, LISTING_MAP, LISTING_LEARNED, LISTING_WHOLE, LISTINGS };

/* Adds the tokens with a role, and those that training added. The listings are tokenizer_config.json,
 * special_tokens_map.json, added_tokens.json and tokenizer.json. */
int tokenizer_add_tokens(struct tokenizer_files *files, const struct vocabulary *vocabulary,
                         const struct listing listings[LISTINGS], struct error *err);
/* Makes the special_tokens_map.json of CLIP's published models; NULL: out of memory. The caller frees it. */
cJSON *tokenizer_usual_roles(const char *pad);

#endif
