/* Turns a text into tokens: added tokens are found, the text between them is normalised and split into words, and each
 * word is encoded by byte pairs. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "unet/text/tokenizer.h"

#include <pcre2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "unet/text/bpe.h"
#include "unet/text/chars.h"
#include "unet/text/tokenizer_files.h"

struct tokenizer {
  struct tokenizer_files files;
  pcre2_code *words;
  pcre2_match_data *match;
};

/* CLIP's regular expression for words. It has a space where the published one has \s, because all white space was
 * replaced by spaces before. */
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

static void add_valid(struct builder *b, const char *bytes, size_t length) {
  utf8proc_int32_t c;
  for (size_t at = 0; at < length;) {
    at += next_char(bytes + at, length - at, &c);
    add_char(b, c);
  }
}

/* Returns true for Unicode's White_Space. PCRE2's \s and the C library's isspace differ from it for a few
 * characters. */
static bool is_space(utf8proc_int32_t c) {
  return (c >= 9 && c <= 13) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/* is_cased returns true for upper, lower and title case letters; is_case_ignorable for characters that may stand
 * between the letters of a word, such as an apostrophe. */
static bool is_cased(utf8proc_int32_t c) {
  utf8proc_category_t category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

static bool is_case_ignorable(utf8proc_int32_t c) {
  static const utf8proc_int32_t within_words[] = {'\'',   '.',    ':',    '^',    '`',    0xB7,   0x387,
                                                  0x55F,  0x5F4,  0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                                  0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
  for (size_t i = 0; i < sizeof within_words / sizeof *within_words; i++)
    if (c == within_words[i])
      return true;
  utf8proc_category_t category = utf8proc_category(c);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_ME || category == UTF8PROC_CATEGORY_CF ||
         category == UTF8PROC_CATEGORY_LM || category == UTF8PROC_CATEGORY_SK;
}

/* Returns true if another letter of the same word follows the position `at`. */
static bool is_followed(struct text text, size_t at) {
  utf8proc_int32_t c = '.';
  while (at < text.length && is_case_ignorable(c))
    at += next_char(text.bytes + at, text.length - at, &c);
  return is_cased(c);
}

/* Appends the text in lower case, with all white space between two words as one space. (U+0130 is the only character
 * whose lower case has two code points.) final_sigma: a sigma at the end of a word gets the form that Greek has there,
 * as in Python. */
static void add_folded(struct builder *b, struct text text, bool final_sigma) {
  bool after_space = false, after_letter = false;
  utf8proc_int32_t c;
  for (size_t at = 0; at < text.length;) {
    at += next_char(text.bytes + at, text.length - at, &c);
    bool space = is_space(c);
    if (space && !after_space)
      add_bytes(b, " ", 1);
    else if (c == 0x130)
      add_bytes(b, "i\xCC\x87", 3);
    else if (c == 0x3A3 && final_sigma && after_letter && !is_followed(text, at))
      add_char(b, 0x3C2);
    else if (!space)
      add_char(b, utf8proc_tolower(c));
    after_space = space;
    after_letter = is_cased(c) || (after_letter && is_case_ignorable(c));
  }
}

/* Cleans the text (fix.h), brings it to NFC, lower case and single spaces. The caller frees result->bytes, which ends
 * with a zero byte that result->length does not count. */
static int normalise(enum text_fix fix, struct text text, struct text *result) {
  struct builder fixed = {0}, b = {0};
  add_fixed(&fixed, fix, text.bytes, text.length);
  add_folded(&b, (struct text){fixed.bytes, fixed.length}, fix != FIX_FAST);
  add_bytes(&b, "", 1);
  b.failed |= fixed.failed;
  free(fixed.bytes);
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

/* Encodes one match of the regular expression for words. A marker such as <|endoftext|> is found here only if the
 * prompt had it in capitals; in small letters it was found before, as an added token. transformers' slow tokenizer (any
 * fix but FIX_FAST) encodes it as the marker's token. The fast tokenizer (FIX_FAST) has no markers in its expression,
 * and splits it into three words. */
static int encode_piece(const struct tokenizer *t, enum text_fix fix, struct text piece, struct token_list *sink) {
  bool marker = piece.length > 4 && !memcmp(piece.bytes, "<|", 2) && piece.bytes[2] >= 'a' && piece.bytes[2] <= 'z';
  if (!marker)
    return encode_word(t, piece, sink);
  if (fix != FIX_FAST)
    return emit(sink, piece.bytes[2] == 's' ? t->files.start : t->files.end);
  return encode_word(t, (struct text){piece.bytes, 2}, sink) ||
                 encode_word(t, (struct text){piece.bytes + 2, piece.length - 4}, sink) ||
                 encode_word(t, (struct text){piece.bytes + piece.length - 2, 2}, sink)
             ? -1
             : 0;
}

/* Arguments that the functions that encode a text as tokens have in common. */
struct encoding {
  const struct tokenizer *t;
  enum text_fix fix;
  struct token_list *list;
};

/* Encodes a part of a normalised text that contains no added tokens. */
static int encode_words(const struct encoding *e, struct text text) {
  const PCRE2_SIZE *range = pcre2_get_ovector_pointer(e->t->match);
  size_t at = 0;
  while (at < text.length) {
    int found =
        pcre2_match(e->t->words, (PCRE2_SPTR)text.bytes, text.length, at, PCRE2_NO_UTF_CHECK, e->t->match, NULL);
    if (found == PCRE2_ERROR_NOMATCH)
      break;
    if (found < 0 || encode_piece(e->t, e->fix, (struct text){text.bytes + range[0], range[1] - range[0]}, e->list))
      return -1;
    at = range[1];
  }
  return 0;
}

/* Returns true if a token is to be looked for in normalised text (normalised true) or in the text as written (false).
 * With transformers' fast tokenizer (FIX_FAST) this depends on the token's kind. Its slow tokenizer looks for all
 * tokens in the text as written. In that case this program also looks in normalised text for tokens whose entry says
 * `normalized`, so that the same word in capitals is found, too. */
static bool is_looked_for(const struct encoding *e, bool normalised, const struct added_token *added) {
  if (e->fix == FIX_FAST)
    return normalised == added->normalised;
  return !normalised || (added->normalised && !added->guessed);
}

static const char *added_text(const struct added_token *added, bool normalised) {
  return normalised && added->folded ? added->folded : added->text;
}

/* Returns the longest added token with which the text begins; NULL: it begins with none. */
static const struct added_token *match_added(const struct encoding *e, bool normalised, struct text text) {
  const struct added_token *best = NULL;
  size_t best_length = 0;
  for (int i = 0; i < e->t->files.added_count; i++) {
    const struct added_token *added = &e->t->files.added[i];
    const char *wanted = added_text(added, normalised);
    size_t length = strlen(wanted);
    if (is_looked_for(e, normalised, added) && length > best_length && length <= text.length &&
        !memcmp(wanted, text.bytes, length)) {
      best = added;
      best_length = length;
    }
  }
  return best;
}

/* Returns the first added token at or after *at, and sets *at to its position. NULL: there is none, and *at is the end
 * of the text. */
static const struct added_token *find_added(const struct encoding *e, bool normalised, struct text text, size_t *at) {
  for (; *at < text.length; ++*at) {
    const struct added_token *added = match_added(e, normalised, (struct text){text.bytes + *at, text.length - *at});
    if (added)
      return added;
  }
  return NULL;
}

static int encode_stage(const struct encoding *e, bool normalised, struct text text);

static const struct added_token *find_text(const struct tokenizer *t, const char *text) {
  for (int i = 0; i < t->files.added_count; i++)
    if (!strcmp(t->files.added[i].text, text))
      return &t->files.added[i];
  return NULL;
}

/* Appends an added token to the list. If training has stored a word as several tokens, such as "<toy>", "<toy>_1" and
 * "<toy>_2", appends all of them. */
static int emit_added(const struct encoding *e, const struct added_token *added) {
  char name[256];
  const struct added_token *next = added;
  for (int i = 1; next; i++) {
    if (emit(e->list, next->id))
      return -1;
    int length = snprintf(name, sizeof name, "%s_%d", added->text, i);
    next = length < (int)sizeof name ? find_text(e->t, name) : NULL;
  }
  return 0;
}

/* Encodes a part of the text that is between two added tokens. normalised: true: the text was normalised, and is split
 * into words; false: it is normalised first. */
static int encode_stretch(const struct encoding *e, bool normalised, struct text text) {
  if (normalised)
    return encode_words(e, text);
  struct text folded;
  if (normalise(e->fix, text, &folded))
    return -1;
  int result = encode_stage(e, true, folded);
  free(folded.bytes);
  return result;
}

/* Splits the text at added tokens, and encodes the parts. It is called first for the text as written; then, for the
 * text between the tokens found there, after normalisation. */
static int encode_stage(const struct encoding *e, bool normalised, struct text text) {
  size_t start = 0;
  while (start < text.length) {
    size_t at = start;
    const struct added_token *added = find_added(e, normalised, text, &at);
    if (at > start && encode_stretch(e, normalised, (struct text){text.bytes + start, at - start}))
      return -1;
    if (!added)
      break;
    if (emit_added(e, added))
      return -1;
    start = at + strlen(added_text(added, normalised));
  }
  return 0;
}

int tokenizer_words(struct tokenizer *t, enum text_fix fix, const char *text, size_t length, struct token_list *list,
                    struct error *err) {
  const struct encoding encoding = {t, fix, list};
  struct builder valid = {0};
  add_valid(&valid, text, length);
  int failed = valid.failed || encode_stage(&encoding, false, (struct text){valid.bytes, valid.length});
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

int tokenizer_encode(struct tokenizer *t, enum text_fix fix, const char *text, int *ids, int length,
                     struct error *err) {
  struct token_list words = {0};
  int result = tokenizer_words(t, fix, text, strlen(text), &words, err);
  if (result == 0) {
    tokenizer_frame(t, words.ids, words.count, ids, length);
    result = words.count + 2;
  }
  free(words.ids);
  return result;
}

/* Normalises the texts of those added tokens that are looked for in normalised text. */
static int normalise_added(struct tokenizer *t, struct error *err) {
  for (int i = 0; i < t->files.added_count; i++) {
    struct added_token *added = &t->files.added[i];
    struct text folded;
    if (!added->normalised)
      continue;
    if (normalise(FIX_FAST, (struct text){added->text, strlen(added->text)}, &folded))
      return error_set(err, STATUS_MODEL, "the tokenizer's added token %d cannot be normalised", added->id);
    added->folded = folded.bytes;
  }
  return 0;
}

/* Makes the tokenizer ready for use after its files were read, and stores it in *result. */
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

const char *tokenizer_beyond(const struct tokenizer *tokenizer, int ids, int *id) {
  const struct added_token *first = NULL;
  for (int i = 0; i < tokenizer->files.added_count; i++) {
    const struct added_token *added = &tokenizer->files.added[i];
    if (added->id >= ids && (!first || added->id < first->id))
      first = added;
  }
  *id = first ? first->id : 0;
  return first ? first->text : NULL;
}

int tokenizer_vocabulary(const struct tokenizer *tokenizer) {
  return tokenizer->files.vocabulary;
}

int tokenizer_longest(const struct tokenizer *tokenizer) {
  return tokenizer->files.longest;
}

/* Returns true if the whole text is an added token. Some added tokens are looked for in normalised text, the others in
 * the text as written: normalised tells which of these the text is, and only tokens for that kind of text count. */
static bool is_added(const struct encoding *e, bool normalised, struct text text) {
  for (int i = 0; i < e->t->files.added_count; i++) {
    const struct added_token *added = &e->t->files.added[i];
    const char *wanted = added_text(added, normalised);
    if (is_looked_for(e, normalised, added) && strlen(wanted) == text.length &&
        !memcmp(wanted, text.bytes, text.length))
      return true;
  }
  return false;
}

bool tokenizer_has_added(const struct tokenizer *tokenizer, enum text_fix fix, const char *text, size_t length) {
  const struct encoding encoding = {.t = tokenizer, .fix = fix};
  struct builder valid = {0};
  struct text folded = {0};
  add_valid(&valid, text, length);
  const struct text written = {valid.bytes, valid.length};
  bool found = !valid.failed && (is_added(&encoding, false, written) ||
                                 (!normalise(fix, written, &folded) && is_added(&encoding, true, folded)));
  free(folded.bytes);
  free(valid.bytes);
  return found;
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
