/* Splits a prompt into chunks of tokens. */
#include "unet/text/prompt.h"

#include <stdlib.h>
#include <string.h>

enum { BACKTRACK_MAX = 20 };

/* The prompt that is being split into chunks, and the state of its present chunk. */
struct filling {
  struct prompt *prompt;
  const struct tokenizer *tokenizer;
  enum text_fix fix;
  /* length: number of tokens in a chunk, including start and end token; room: number of tokens for the text itself,
   * length - 2 */
  int length, room;
  int comma; /* id of the token for a comma; -1: a comma is not a single token */
  int done;  /* number of chunks completed so far, including those beyond PROMPT_CHUNKS_MAX */
  int ids[PROMPT_LENGTH_MAX];
  float weights[PROMPT_LENGTH_MAX];
  /* count: number of the text's tokens in this chunk so far; last_comma: index in ids of the last comma, -1: none */
  int count, last_comma;
};

/* Fills a chunk: start token, the `count` tokens ids[], end token and padding, `length` tokens in all. weights: the
 * weights of the tokens ids[]; NULL: all are 1. */
static void fill_chunk(struct prompt_chunk *chunk, const struct tokenizer *tokenizer, const int *ids,
                       const float *weights, int count, int length) {
  tokenizer_frame(tokenizer, ids, count, chunk->ids, length);
  for (int i = 0; i < length; i++)
    chunk->weights[i] = weights && i >= 1 && i <= count ? weights[i - 1] : 1;
}

static void next_chunk(struct filling *f) {
  struct prompt *p = f->prompt;
  if (f->done < PROMPT_CHUNKS_MAX)
    fill_chunk(&p->chunks[p->count++], f->tokenizer, f->ids, f->weights, f->count, f->length);
  else
    p->left_out += f->count;
  f->done++;
  f->count = 0;
  f->last_comma = -1;
}

/* Ends the present chunk, which is full: after its last comma if fewer than BACKTRACK_MAX tokens follow it, else at its
 * end. The tokens after the comma begin the next chunk. */
static void end_full_chunk(struct filling *f) {
  int kept = f->count, moved = 0;
  if (f->last_comma >= 0 && f->count - f->last_comma <= BACKTRACK_MAX) {
    kept = f->last_comma + 1;
    moved = f->count - kept;
  }
  f->count = kept;
  next_chunk(f);
  memmove(f->ids, f->ids + kept, (size_t)moved * sizeof *f->ids);
  memmove(f->weights, f->weights + kept, (size_t)moved * sizeof *f->weights);
  f->count = moved;
}

static void add_token(struct filling *f, int id, float weight) {
  f->prompt->words++;
  if (id == f->comma)
    f->last_comma = f->count;
  else if (f->count == f->room)
    end_full_chunk(f);
  if (f->count == f->room)
    next_chunk(f);
  f->ids[f->count] = id;
  f->weights[f->count++] = weight;
}

static int add_span(struct filling *f, struct tokenizer *tokenizer, const struct spans *spans, const struct span *span,
                    struct error *err) {
  struct token_list words = {0};
  int result = tokenizer_words(tokenizer, f->fix, spans->text + span->start, span->length, &words, err);
  for (int i = 0; result == 0 && i < words.count; i++)
    add_token(f, words.ids[i], (float)span->weight);
  free(words.ids);
  return result;
}

static int find_comma(struct tokenizer *tokenizer, int *comma, struct error *err) {
  struct token_list words = {0};
  int result = tokenizer_words(tokenizer, FIX_FAST, ",", 1, &words, err);
  *comma = result == 0 && words.count == 1 ? words.ids[0] : -1;
  free(words.ids);
  return result;
}

static void pad(struct prompt *prompt, const struct tokenizer *tokenizer, int length) {
  for (int i = prompt->count; i < PROMPT_CHUNKS_MAX; i++)
    fill_chunk(&prompt->chunks[i], tokenizer, NULL, NULL, 0, length);
}

int prompt_from_spans(struct prompt *prompt, struct tokenizer *tokenizer, enum text_fix fix, const struct spans *spans,
                      int length, struct error *err) {
  struct filling f = {
      .prompt = prompt, .tokenizer = tokenizer, .fix = fix, .length = length, .room = length - 2, .last_comma = -1};
  *prompt = (struct prompt){0};
  if (find_comma(tokenizer, &f.comma, err))
    return -1;
  for (int i = 0; i < spans->count; i++)
    if (spans->list[i].ends_chunk)
      next_chunk(&f);
    else if (add_span(&f, tokenizer, spans, &spans->list[i], err))
      return -1;
  if (f.count || !f.done)
    next_chunk(&f);
  pad(prompt, tokenizer, length);
  return 0;
}

int prompt_from_text(struct prompt *prompt, struct tokenizer *tokenizer, enum text_fix fix, const char *text,
                     int length, struct error *err) {
  struct token_list words = {0};
  if (tokenizer_words(tokenizer, fix, text, strlen(text), &words, err))
    return -1;
  *prompt = (struct prompt){.count = 1, .words = words.count};
  prompt->left_out = words.count > length - 2 ? words.count - (length - 2) : 0;
  fill_chunk(&prompt->chunks[0], tokenizer, words.ids, NULL, words.count, length);
  free(words.ids);
  pad(prompt, tokenizer, length);
  return 0;
}
