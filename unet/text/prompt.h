/* A prompt in the form that text encoders read: chunks of tokens, each token with a weight.
 *
 * A chunk has as many tokens as an encoder reads at once, including its start and end token. A longer prompt has
 * several chunks. They are encoded separately, and the network attends to all their tokens. */
#ifndef UNET_TEXT_PROMPT_H
#define UNET_TEXT_PROMPT_H

#include "unet/text/syntax.h"
#include "unet/text/tokenizer.h"

enum {
  PROMPT_CHUNKS_MAX = 4,
  PROMPT_LENGTH_MAX = 256, /* largest number of tokens in a chunk */
};

struct prompt_chunk {
  int ids[PROMPT_LENGTH_MAX];
  float weights[PROMPT_LENGTH_MAX]; /* weight of each token; with 1 its encoding is not changed */
};

struct prompt {
  int count; /* number of chunks, at least 1 */
  /* the chunks; the entries from index `count` on are chunks of the empty prompt */
  struct prompt_chunk chunks[PROMPT_CHUNKS_MAX];
  int words;    /* number of tokens that the text has, without start and end tokens */
  int left_out; /* number of tokens of the text that were left out, because the chunks were full */
};

/* Fills *prompt from `spans` (texts with weights), divided into chunks as by AUTOMATIC1111. If fewer than 20 tokens
 * follow the last comma of a full chunk, these tokens move to the next chunk. BREAK begins a new chunk. length: number
 * of tokens in a chunk, 3 to PROMPT_LENGTH_MAX. Returns 0, or -1 with err. */
int prompt_from_spans(struct prompt *prompt, struct tokenizer *tokenizer, enum text_fix fix, const struct spans *spans,
                      int length, struct error *err);
/* Fills *prompt as diffusers does: with one chunk. Tokens that do not fit are left out. */
int prompt_from_text(struct prompt *prompt, struct tokenizer *tokenizer, enum text_fix fix, const char *text,
                     int length, struct error *err);

#endif
