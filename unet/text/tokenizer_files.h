/* The files of a tokenizer folder, read and checked: what tokenizer.c works with. */
#ifndef UNET_TEXT_TOKENIZER_FILES_H
#define UNET_TEXT_TOKENIZER_FILES_H

#include <stdbool.h>

#include "unet/text/bpe.h"
#include "unet/base/error.h"

/* A token found in the text itself, before any word is cut. */
struct added_token {
  char *text;
  char *folded; /* the same normalised; NULL: nobody looks for that */
  int id;
  bool normalised; /* found in normalised text, else in the text as written */
  bool guessed;    /* no entry says which */
};

struct tokenizer_files {
  struct bpe bpe;
  int byte_id[2][256]; /* of a byte [0] within a word, [1] at its end */
  struct added_token *added;
  int added_count;
  int start, end, pad, unknown;
  int vocabulary; /* highest id + 1 */
  int longest;    /* model_max_length: tokens of a text, padding among them; 0: nothing is said */
};

/* Reads vocab.json and merges.txt, or tokenizer.json where one of the two is missing; and, where there are such files,
 * tokenizer_config.json, special_tokens_map.json, added_tokens.json and tokenizer.json's added tokens. files must be
 * zeroed; tokenizer_files_free must follow, also on failure. Errors are STATUS_MODEL. */
int tokenizer_files_read(struct tokenizer_files *files, const char *folder, struct error *err);
/* The same from CLIP's published merges (gzip) alone, from which its vocabulary follows. pad is the text of the token
 * that fills up: its own end token for CLIP, "!" for OpenCLIP. */
int tokenizer_files_clip(struct tokenizer_files *files, const char *merges, const char *pad, struct error *err);
void tokenizer_files_free(struct tokenizer_files *files);

#endif
