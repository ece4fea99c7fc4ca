/* The byte-pair tokenizer of CLIP, as transformers' CLIPTokenizer defines it. Characters are cleaned (fix.h); text is
 * brought to NFC and lower case with single spaces; words are split by CLIP's regular expression; and pairs of bytes
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

/* Reads a tokenizer from a folder: vocab.json and merges.txt, or tokenizer.json if one of these is missing; and added
 * tokens from further files. The caller closes *tokenizer. Returns 0, or -1 with err: STATUS_FAILED if memory is short
 * or PCRE2 fails, else STATUS_MODEL. */
int tokenizer_open(struct tokenizer **tokenizer, const char *folder, struct error *err);
/* Makes CLIP's own tokenizer from its published merges (gzip). open_clip: texts are padded with "!", as in OpenCLIP.
 * Returns and fails like tokenizer_open. */
int tokenizer_open_clip(struct tokenizer **tokenizer, const char *merges, bool open_clip, struct error *err);
/* Frees the tokenizer. *tokenizer becomes NULL; does nothing if it is NULL. */
void tokenizer_close(struct tokenizer **tokenizer);

/* A list of tokens' ids, without start and end token. An empty one is zeroed. The caller frees ids. */
struct token_list {
  int *ids, count, room;
};

/* Appends the tokens of text[0] to text[length - 1] to a list. Bytes that are not UTF-8 count as U+FFFD.
 * Returns 0, or -1 with err. */
int tokenizer_words(struct tokenizer *tokenizer, enum text_fix fix, const char *text, size_t length,
                    struct token_list *list, struct error *err);
/* Fills ids[0] to ids[length - 1] with the start token, as many of the `words` as fit, the end token, and padding. */
void tokenizer_frame(const struct tokenizer *tokenizer, const int *words, int count, int *ids, int length);
/* Fills ids[0..length) with start token, text, end token and padding. A text that is too long is cut so that the end
 * token fits. Returns how many ids the whole text needs, with start and end token; if this is more than length the text
 * was cut. Returns -1 after a failure. */
int tokenizer_encode(struct tokenizer *tokenizer, enum text_fix fix, const char *text, int *ids, int length,
                     struct error *err);

/* Finds the added token with the lowest id that is at least `ids`. Returns its text and stores its id in *id; NULL:
 * there is none. */
const char *tokenizer_beyond(const struct tokenizer *tokenizer, int ids, int *id);
/* tokenizer_vocabulary returns 1 more than the highest id of a token; tokenizer_start_id, tokenizer_end_id and
 * tokenizer_pad_id return the ids of the start, end and padding tokens. */
int tokenizer_vocabulary(const struct tokenizer *tokenizer);
/* Returns the largest number of tokens, including start, end and padding, that a text may have according to the
 * tokenizer's files; 0: unknown. */
int tokenizer_longest(const struct tokenizer *tokenizer);
/* Returns true if the text is an added token, which the files list besides the vocabulary. */
bool tokenizer_has_added(const struct tokenizer *tokenizer, enum text_fix fix, const char *text, size_t length);
int tokenizer_start_id(const struct tokenizer *tokenizer);
int tokenizer_end_id(const struct tokenizer *tokenizer);
int tokenizer_pad_id(const struct tokenizer *tokenizer);

#endif
