/* The tokenizer's files from the inside: what the files that read them share.
 *
 * vocabulary.c       tokens by their text and by their id
 * merges.c           the tokens of bytes, and which pairs merge
 * added_tokens.c     tokens that are found in the text itself
 * tokenizer_files.c  a folder's files
 * tokenizer_clip.c   CLIP's own vocabulary */
#ifndef UNET_TEXT_TOKENIZER_IMPL_H
#define UNET_TEXT_TOKENIZER_IMPL_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "unet/base/error.h"
#include "unet/text/tokenizer_files.h"

enum { ID_MAX = 1 << 22 };

/* --- vocabulary.c --- */

struct token {
  const char *text; /* NULL: nothing is here */
  int id;
};

/* A vocabulary as a hash table, token to id. Token texts are borrowed from the parsed file. */
struct vocabulary {
  const char *path, *name; /* of the file; and of the list, for messages: "vocab.json" */
  struct token *table;
  size_t capacity, count; /* capacity is a power of two and at least twice count: searches are short and end */
  const char **text;      /* of each id; NULL: none */
  int ids;                /* highest id + 1 */
};

/* Lists an object's tokens. Tokens without an id, or with the id of another, are errors. vocabulary_free must follow,
 * also on failure. */
int vocabulary_init(struct vocabulary *vocabulary, const cJSON *json, const char *path, const char *name,
                    struct error *err);
void vocabulary_free(struct vocabulary *vocabulary);
/* Returns the id of a token, or -1. */
int vocabulary_find(const struct vocabulary *vocabulary, const char *text);
/* Returns the token of an id; NULL: there is none. */
const char *vocabulary_text(const struct vocabulary *vocabulary, int id);

/* Reads an id. False: it is no whole number from 0 to below ID_MAX. */
bool tokenizer_read_id(const cJSON *item, int *id);
int tokenizer_refuse_id(const char *path, const char *text, struct error *err);
/* Refuses two tokens of one id. */
int tokenizer_refuse_same(const char *path, const char *text, const char *other, int id, struct error *err);

/* --- merges.c --- */

/* Writes the printable character that stands for a byte in a vocabulary, as UTF-8: Latin-1's printable ones for
 * themselves, the other 68 in order from U+0100. */
void tokenizer_byte_char(int byte, char text[3]);
/* Finds the tokens of the bytes; the token for what is unknown must be there. */
void tokenizer_find_bytes(struct tokenizer_files *files, const struct vocabulary *vocabulary);
/* Reads merges, one a line, from a text that is changed. */
int tokenizer_parse_merges(struct tokenizer_files *files, const struct vocabulary *vocabulary, char *text,
                           const char *path, struct error *err);
/* Reads them from a list of texts or pairs. */
int tokenizer_list_merges(struct tokenizer_files *files, const struct vocabulary *vocabulary, const cJSON *list,
                          const char *path, struct error *err);
/* Refuses merges that were cut at the end of one: tokens then lack theirs. */
int tokenizer_check_merges(const struct tokenizer_files *files, const struct vocabulary *vocabulary, const char *path,
                           struct error *err);

/* --- added_tokens.c --- */

/* A file that may be in the folder. json NULL: it is not there. */
struct listing {
  char *path;
  cJSON *json;
};

enum { LISTING_CONFIG, LISTING_MAP, LISTING_LEARNED, LISTING_WHOLE, LISTINGS };

/* Lists the tokens with a role, and those that training added. listings: tokenizer_config.json,
 * special_tokens_map.json, added_tokens.json and tokenizer.json. */
int tokenizer_add_tokens(struct tokenizer_files *files, const struct vocabulary *vocabulary,
                         const struct listing listings[LISTINGS], struct error *err);
/* Makes what CLIP's published models have in special_tokens_map.json; NULL: out of memory. */
cJSON *tokenizer_usual_roles(const char *pad);

#endif
