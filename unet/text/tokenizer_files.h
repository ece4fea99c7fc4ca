/* The contents of a tokenizer's folder after they were read and checked. tokenizer.c makes a tokenizer from them. */
#ifndef UNET_TEXT_TOKENIZER_FILES_H
#define UNET_TEXT_TOKENIZER_FILES_H

#include <stdbool.h>

#include "unet/text/bpe.h"
#include "unet/base/error.h"

/* An added token, which is found in the text itself before the text is split into words. */
struct added_token {
  char *text;
  /* The token's text in lower case and NFC, by which it is found in normalised text; NULL: normalised text is not
   * searched for the token. */
  char *folded;
  int id;
  bool normalised; /* true: the token is looked for in normalised text; false: in the text as written */
  /* True: no file tells in which text the token is looked for, so that `normalised` is a guess. */
  bool guessed;
};

struct tokenizer_files {
  struct bpe bpe;
  int byte_id[2][256]; /* ids of the tokens of all bytes: byte_id[0] inside a word, byte_id[1] at its end */
  struct added_token *added;
  int added_count;
  int start, end, pad, unknown;
  int vocabulary; /* 1 more than the highest id of a token */
  int longest;    /* model_max_length: largest number of tokens of a text, including padding; 0: unknown */
};

/* Reads vocab.json and merges.txt, or tokenizer.json if one of these is missing; and added tokens from
 * tokenizer_config.json, special_tokens_map.json, added_tokens.json and tokenizer.json, where these exist. files must
 * be zeroed; tokenizer_files_free must be called afterwards, even after a failure. Returns 0, or -1 with err of
 * STATUS_MODEL, or of STATUS_FAILED if memory is short. */
int tokenizer_files_read(struct tokenizer_files *files, const char *folder, struct error *err);
/* Makes the same data as tokenizer_files_read, from CLIP's published list of merges of tokens (gzip) alone, because
 * CLIP's vocabulary follows from the list. pad: text of the padding token, which is the end token for CLIP and "!" for
 * OpenCLIP. */
int tokenizer_files_clip(struct tokenizer_files *files, const char *merges, const char *pad, struct error *err);
void tokenizer_files_free(struct tokenizer_files *files);

#endif
