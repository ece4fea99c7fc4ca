/* A prompt as text encoders read it: chunks of tokens, each token with a weight.
 *
 * A chunk is as many tokens as the encoder reads, its start and end among them. A prompt that needs more has several,
 * which are encoded apart and attended to side by side. */
#ifndef UNET_TEXT_PROMPT_H
#define UNET_TEXT_PROMPT_H

#include "unet/text/syntax.h"
#include "unet/text/tokenizer.h"

enum {
  PROMPT_CHUNKS_MAX = 4,
  PROMPT_LENGTH_MAX = 256, /* tokens of a chunk */
};

struct prompt_chunk {
  int ids[PROMPT_LENGTH_MAX];
  float weights[PROMPT_LENGTH_MAX]; /* of each token: 1 leaves it as it is */
};

struct prompt {
  int count;                                     /* of chunks, at least 1 */
  struct prompt_chunk chunks[PROMPT_CHUNKS_MAX]; /* those beyond count are the empty prompt's */
  int words;                                     /* tokens of the text, without those that begin and end chunks */
  int left_out;                                  /* of these: they found no room */
};

/* length: tokens of a chunk, at least 3. As AUTOMATIC1111 cuts them: where the words between the last comma and a
 * chunk's end are at most 20 tokens, they go to the next chunk; BREAK begins another one. */
int prompt_from_spans(struct prompt *prompt, struct tokenizer *tokenizer, enum text_fix fix, const struct spans *spans,
                      int length, struct error *err);
/* As diffusers reads it: one chunk, and what does not fit into it is left out. */
int prompt_from_text(struct prompt *prompt, struct tokenizer *tokenizer, enum text_fix fix, const char *text,
                     int length, struct error *err);

#endif
