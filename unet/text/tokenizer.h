/* The byte-pair tokenizer of CLIP, as transformers' CLIPTokenizer defines it: characters fixed (fix.h), NFC, white
 * space collapsed, lower case, words cut by CLIP's expression, byte-level pairs merged in rank order.
 *
 * Threads: one thread at a time uses a tokenizer. */
#ifndef UNET_TEXT_TOKENIZER_H
#define UNET_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"
#include "unet/text/fix.h"

struct tokenizer;

/* Reads a folder's vocab.json and merges.txt, or its tokenizer.json where one of the two is missing, and what its other
 * files say of added tokens. Errors are STATUS_MODEL. */
int tokenizer_open(struct tokenizer **tokenizer, const char *folder, struct error *err);
/* CLIP's own, from its published merges (gzip). With open_clip the texts are filled up as OpenCLIP does, with "!". */
int tokenizer_open_clip(struct tokenizer **tokenizer, const char *merges, bool open_clip, struct error *err);
void tokenizer_close(struct tokenizer **tokenizer); /* stores NULL; takes NULL */

/* Tokens of a text, without start and end. Zeroed: none; ids are to be freed. */
struct token_list {
  int *ids, count, room;
};

/* Appends the tokens of text[0..length), all of them. Bytes that are not UTF-8 count as U+FFFD. */
int tokenizer_words(struct tokenizer *tokenizer, enum text_fix fix, const char *text, size_t length,
                    struct token_list *list, struct error *err);
/* Fills ids[0..length): start, as many of the words as fit, end, padding. */
void tokenizer_frame(const struct tokenizer *tokenizer, const int *words, int count, int *ids, int length);
/* Fills ids[0..length): start, text, end, padding. Text too long is cut so that the end token fits. Returns how many
 * ids the text needs with start and end (more than length: it was cut), or -1. */
int tokenizer_encode(struct tokenizer *tokenizer, enum text_fix fix, const char *text, int *ids, int length,
                     struct error *err);

/* The added token with the lowest id that is not below `ids`; NULL: there is none. *id is its own. */
const char *tokenizer_beyond(const struct tokenizer *tokenizer, int ids, int *id);
/* Highest id + 1, and the ids that frame a text. */
int tokenizer_vocabulary(const struct tokenizer *tokenizer);
int tokenizer_longest(const struct tokenizer *tokenizer); /* tokens of a text, as the files say; 0: they do not */
/* True if the text is a token that the files add to those of the vocabulary. */
bool tokenizer_has_added(const struct tokenizer *tokenizer, enum text_fix fix, const char *text, size_t length);
int tokenizer_start_id(const struct tokenizer *tokenizer);
int tokenizer_end_id(const struct tokenizer *tokenizer);
int tokenizer_pad_id(const struct tokenizer *tokenizer);

#endif
