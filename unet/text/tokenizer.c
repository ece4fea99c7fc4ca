#define PCRE2_CODE_UNIT_WIDTH 8
#include "unet/text/tokenizer.h"

#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "unet/text/bpe.h"
#include "unet/text/tokenizer_files.h"

struct tokenizer {
  struct tokenizer_files files;
  pcre2_code *words;
  pcre2_match_data *match;
};

/* CLIP's expression. Where the published one has \s a space is enough: all white space was made one before. */
static const char words_pattern[] =
    "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|\\p{L}+|\\p{N}|[^ \\p{L}\\p{N}]+";

static int compile_words(struct tokenizer *tokenizer, struct error *err) {
  int code;
  PCRE2_SIZE at;
  tokenizer->words = pcre2_compile((PCRE2_SPTR)words_pattern, PCRE2_ZERO_TERMINATED,
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NO_UTF_CHECK, &code, &at, NULL);
  tokenizer->match = tokenizer->words ? pcre2_match_data_create_from_pattern(tokenizer->words, NULL) : NULL;
  return tokenizer->match ? 0 : error_set(err, STATUS_FAILED, "PCRE2 cannot compile the tokenizer's expression");
}

struct text {
  char *bytes;
  size_t length;
};

/* Growing text. failed sticks. */
struct builder {
  char *bytes;
  size_t length, capacity;
  bool failed;
};

static void add_bytes(struct builder *b, const void *bytes, size_t length) {
  if (b->length + length > b->capacity) {
    size_t capacity = 2 * (b->length + length) + 64;
    char *grown = realloc(b->bytes, capacity);
    b->failed |= !grown;
    if (!grown)
      return;
    b->bytes = grown;
    b->capacity = capacity;
  }
  memcpy(b->bytes + b->length, bytes, length);
  b->length += length;
}

static void add_char(struct builder *b, utf8proc_int32_t c) {
  utf8proc_uint8_t bytes[4];
  add_bytes(b, bytes, (size_t)utf8proc_encode_char(c, bytes));
}

/* Reads one code point; what is not UTF-8 is U+FFFD, a byte at a time. Returns the bytes it took. */
static size_t next_char(const char *bytes, size_t length, utf8proc_int32_t *c) {
  utf8proc_ssize_t used = utf8proc_iterate((const utf8proc_uint8_t *)bytes, (utf8proc_ssize_t)length, c);
  if (used > 0)
    return (size_t)used;
  *c = 0xFFFD;
  return 1;
}

static void add_valid(struct builder *b, const char *bytes, size_t length) {
  utf8proc_int32_t c;
  for (size_t at = 0; at < length;) {
    at += next_char(bytes + at, length - at, &c);
    add_char(b, c);
  }
}

/* Unicode's White_Space. PCRE2's \s and the C library's isspace each differ from it in a few places. */
static bool is_space(utf8proc_int32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/* White space collapsed, lower case. U+0130 alone becomes two code points in lower case. */
static void add_folded(struct builder *b, struct text text) {
  bool after_space = false;
  utf8proc_int32_t c;
  for (size_t at = 0; at < text.length;) {
    at += next_char(text.bytes + at, text.length - at, &c);
    bool space = is_space(c);
    if (space && !after_space)
      add_bytes(b, " ", 1);
    else if (c == 0x130)
      add_bytes(b, "i\xCC\x87", 3);
    else if (!space)
      add_char(b, utf8proc_tolower(c));
    after_space = space;
  }
}

/* NFC, then folding. result->bytes is allocated, and ends with a zero byte that its length does not count. */
static int normalise(struct text text, struct text *result) {
  utf8proc_uint8_t *composed;
  utf8proc_ssize_t length = utf8proc_map((const utf8proc_uint8_t *)text.bytes, (utf8proc_ssize_t)text.length, &composed,
                                         UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  if (length < 0)
    return -1;
  struct builder b = {0};
  add_folded(&b, (struct text){(char *)composed, (size_t)length});
  free(composed);
  add_bytes(&b, "", 1);
  *result = (struct text){b.bytes, b.length - 1};
  if (b.failed)
    free(b.bytes);
  return b.failed ? -1 : 0;
}

static int emit(struct token_list *list, int id) {
  if (list->count == list->room) {
    int room = 2 * list->room + 64;
    int *ids = realloc(list->ids, (size_t)room * sizeof *ids);
    if (!ids)
      return -1;
    list->ids = ids;
    list->room = room;
  }
  list->ids[list->count++] = id;
  return 0;
}

static int encode_word(const struct tokenizer *t, struct text word, struct token_list *sink) {
  int *ids = malloc((word.length + 1) * sizeof *ids);
  if (!ids)
    return -1;
  for (size_t i = 0; i < word.length; i++)
    ids[i] = t->files.byte_id[i + 1 == word.length][(unsigned char)word.bytes[i]];
  int count = bpe_merge(&t->files.bpe, ids, (int)word.length);
  int failed = count < 0;
  for (int i = 0; i < count && !failed; i++)
    failed = emit(sink, ids[i]) < 0;
  free(ids);
  return failed ? -1 : 0;
}

/* The reference cuts words a second time, by an expression without the two markers, so a marker that got here (it was
 * written in capitals) falls into three. */
static int encode_piece(const struct tokenizer *t, struct text piece, struct token_list *sink) {
  bool marker = piece.length > 4 && !memcmp(piece.bytes, "<|", 2) && piece.bytes[2] >= 'a' && piece.bytes[2] <= 'z';
  if (!marker)
    return encode_word(t, piece, sink);
  return encode_word(t, (struct text){piece.bytes, 2}, sink) ||
                 encode_word(t, (struct text){piece.bytes + 2, piece.length - 4}, sink) ||
                 encode_word(t, (struct text){piece.bytes + piece.length - 2, 2}, sink)
             ? -1
             : 0;
}

/* Text without added tokens, normalised. */
static int encode_words(const struct tokenizer *t, struct text text, struct token_list *sink) {
  const PCRE2_SIZE *range = pcre2_get_ovector_pointer(t->match);
  size_t at = 0;
  while (at < text.length) {
    int found = pcre2_match(t->words, (PCRE2_SPTR)text.bytes, text.length, at, PCRE2_NO_UTF_CHECK, t->match, NULL);
    if (found == PCRE2_ERROR_NOMATCH)
      break;
    if (found < 0 || encode_piece(t, (struct text){text.bytes + range[0], range[1] - range[0]}, sink))
      return -1;
    at = range[1];
  }
  return 0;
}

/* The added token that begins at text's first byte, the longest of several; NULL: none. */
static const struct added_token *match_added(const struct tokenizer *t, bool normalised, struct text text) {
  const struct added_token *best = NULL;
  size_t best_length = 0;
  for (int i = 0; i < t->files.added_count; i++) {
    const struct added_token *added = &t->files.added[i];
    size_t length = strlen(added->text);
    if (added->normalised == normalised && length > best_length && length <= text.length &&
        !memcmp(added->text, text.bytes, length)) {
      best = added;
      best_length = length;
    }
  }
  return best;
}

/* The first added token at or after *at, which moves there, or to the end of the text where there is none (NULL). */
static const struct added_token *find_added(const struct tokenizer *t, bool normalised, struct text text, size_t *at) {
  for (; *at < text.length; ++*at) {
    const struct added_token *added = match_added(t, normalised, (struct text){text.bytes + *at, text.length - *at});
    if (added)
      return added;
  }
  return NULL;
}

static int encode_stage(const struct tokenizer *t, bool normalised, struct text text, struct token_list *sink);

/* Text between two added tokens of a stage. */
static int encode_stretch(const struct tokenizer *t, bool normalised, struct text text, struct token_list *sink) {
  if (normalised)
    return encode_words(t, text, sink);
  struct text folded;
  if (normalise(text, &folded))
    return -1;
  int result = encode_stage(t, true, folded, sink);
  free(folded.bytes);
  return result;
}

/* Added tokens are cut out of the text as written, and those of the normalised kind out of what is left, normalised. */
static int encode_stage(const struct tokenizer *t, bool normalised, struct text text, struct token_list *sink) {
  size_t start = 0;
  while (start < text.length) {
    size_t at = start;
    const struct added_token *added = find_added(t, normalised, text, &at);
    if (at > start && encode_stretch(t, normalised, (struct text){text.bytes + start, at - start}, sink))
      return -1;
    if (!added)
      break;
    if (emit(sink, added->id))
      return -1;
    start = at + strlen(added->text);
  }
  return 0;
}

int tokenizer_words(struct tokenizer *t, const char *text, size_t length, struct token_list *list, struct error *err) {
  struct builder valid = {0};
  add_valid(&valid, text, length);
  int failed = valid.failed || encode_stage(t, false, (struct text){valid.bytes, valid.length}, list);
  free(valid.bytes);
  return failed ? error_set(err, STATUS_FAILED, "the prompt cannot be tokenized: out of memory") : 0;
}

void tokenizer_frame(const struct tokenizer *t, const int *words, int count, int *ids, int length) {
  int kept = count < length - 2 ? count : length - 2;
  ids[0] = t->files.start;
  for (int i = 0; i < kept; i++)
    ids[1 + i] = words[i];
  ids[1 + kept] = t->files.end;
  for (int i = kept + 2; i < length; i++)
    ids[i] = t->files.pad;
}

int tokenizer_encode(struct tokenizer *t, const char *text, int *ids, int length, struct error *err) {
  struct token_list words = {0};
  int result = tokenizer_words(t, text, strlen(text), &words, err);
  if (result == 0) {
    tokenizer_frame(t, words.ids, words.count, ids, length);
    result = words.count + 2;
  }
  free(words.ids);
  return result;
}

/* Added tokens of the normalised kind are looked for in normalised text, so theirs must be normalised too. */
static int normalise_added(struct tokenizer *t, struct error *err) {
  for (int i = 0; i < t->files.added_count; i++) {
    struct added_token *added = &t->files.added[i];
    struct text folded;
    if (!added->normalised)
      continue;
    if (normalise((struct text){added->text, strlen(added->text)}, &folded))
      return error_set(err, STATUS_MODEL, "the tokenizer's added token %d cannot be normalised", added->id);
    free(added->text);
    added->text = folded.bytes;
  }
  return 0;
}

/* What follows the reading of files. */
static int finish(struct tokenizer **result, struct tokenizer *tokenizer, int status, struct error *err) {
  if (status || normalise_added(tokenizer, err) || compile_words(tokenizer, err)) {
    tokenizer_close(&tokenizer);
    return -1;
  }
  *result = tokenizer;
  return 0;
}

static struct tokenizer *make(const char *path, struct error *err) {
  struct tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
  if (!tokenizer)
    error_set(err, STATUS_FAILED, "%s: out of memory", path);
  return tokenizer;
}

int tokenizer_open(struct tokenizer **result, const char *folder, struct error *err) {
  struct tokenizer *tokenizer = make(folder, err);
  return tokenizer ? finish(result, tokenizer, tokenizer_files_read(&tokenizer->files, folder, err), err) : -1;
}

int tokenizer_open_clip(struct tokenizer **result, const char *merges, bool open_clip, struct error *err) {
  struct tokenizer *tokenizer = make(merges, err);
  const char *pad = open_clip ? "!" : "<|endoftext|>";
  return tokenizer ? finish(result, tokenizer, tokenizer_files_clip(&tokenizer->files, merges, pad, err), err) : -1;
}

void tokenizer_close(struct tokenizer **tokenizer) {
  struct tokenizer *t = *tokenizer;
  *tokenizer = NULL;
  if (!t)
    return;
  pcre2_match_data_free(t->match);
  pcre2_code_free(t->words);
  tokenizer_files_free(&t->files);
  free(t);
}

int tokenizer_vocabulary(const struct tokenizer *tokenizer) {
  return tokenizer->files.vocabulary;
}

int tokenizer_longest(const struct tokenizer *tokenizer) {
  return tokenizer->files.longest;
}

int tokenizer_start_id(const struct tokenizer *tokenizer) {
  return tokenizer->files.start;
}

int tokenizer_end_id(const struct tokenizer *tokenizer) {
  return tokenizer->files.end;
}

int tokenizer_pad_id(const struct tokenizer *tokenizer) {
  return tokenizer->files.pad;
}
