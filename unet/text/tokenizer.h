/* The byte-pair tokenizer of CLIP, as transformers' CLIPTokenizer defines it: characters are cleaned (fix.h), text is
 * brought to NFC and lower case with single spaces, words are split by CLIP's regular expression, and pairs of bytes
 * are merged in the order of their ranks.
 *
 * Threads: one thread at a time uses a tokenizer. */
#ifndef UNET_TEXT_TOKENIZER_H
#define UNET_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/error.h"
#include "unet/text/fix.h"

struct tokenizer;

/* Reads vocab.json and merges.txt of a folder, or tokenizer.json if one of these is missing, and the added tokens of
 * its other files. The caller closes *tokenizer. Errors are STATUS_MODEL. */
int tokenizer_open(struct tokenizer **tokenizer, const char *folder, struct error *err);
/* Makes CLIP's own tokenizer from its published merges (gzip). open_clip: texts are padded with "!", as in OpenCLIP. */
int tokenizer_open_clip(struct tokenizer **tokenizer, const char *merges, bool open_clip, struct error *err);
void tokenizer_close(struct tokenizer **tokenizer); /* Frees the tokenizer. Stores NULL; takes NULL. */

/* A list of tokens' ids, without start and end token. An empty one is zeroed. The caller frees ids. */
struct token_list {
  int *ids, count, room;
};

/* Appends all tokens of text[0..length). Bytes that are not UTF-8 count as U+FFFD. */
int tokenizer_words(struct tokenizer *tokenizer, enum text_fix fix, const char *text, size_t length,
                    struct token_list *list, struct error *err);
/* Fills ids[0..length) with the start token, as many words as fit, the end token, and padding. */
void tokenizer_frame(const struct tokenizer *tokenizer, const int *words, int count, int *ids, int length);
/* Fills ids[0..length) with start token, text, end token and padding. A text that is too long is cut so that the end
 * token fits. Returns the number of ids that the whole text needs, with start and end; more than length: it was cut.
 * Returns -1 after a failure. */
int tokenizer_encode(struct tokenizer *tokenizer, enum text_fix fix, const char *text, int *ids, int length,
                     struct error *err);

/* Returns the text of the added token with the lowest id that is at least `ids`, and stores its id in *id; NULL: there
 * is none. */
const char *tokenizer_beyond(const struct tokenizer *tokenizer, int ids, int *id);
/* tokenizer_vocabulary returns the highest id + 1; the others return the ids of the start, end and padding tokens. */
int tokenizer_vocabulary(const struct tokenizer *tokenizer);
/* Returns how many tokens, at most, a text may have by the tokenizer's files, including start, end and padding; 0:
 * unknown. */
int tokenizer_longest(const struct tokenizer *tokenizer);
/* Returns true if the text is an added token, which the files list besides the vocabulary. */
bool tokenizer_has_added(const struct tokenizer *tokenizer, enum text_fix fix, const char *text, size_t length);
int tokenizer_start_id(const struct tokenizer *tokenizer);
int tokenizer_end_id(const struct tokenizer *tokenizer);
int tokenizer_pad_id(const struct tokenizer *tokenizer);

#endif
