/* Fuzzes the tokenizer and the syntax of prompts (weights, chunks). "t": a prompt follows; "v" vocab.json, "m"
 * merges.txt, "c" tokenizer_config.json, "w" tokenizer.json as the only file. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "unet/text/prompt.h"

#define VOCABULARY                                                                                                     \
  "{\"a\":0,\"b\":1,\"a</w>\":2,\"b</w>\":3,\"ab\":4,\"ab</w>\":5,\"aab</w>\":6,\"\\u0120\":7,\"!\":8,\"\xC3\x83\":9," \
  "\"<|startoftext|>\":10,\"<|endoftext|>\":11}"
#define MERGES "#version: 0.2\na b\na b</w>\na ab</w>\n"
#define CONFIG                                                                                                         \
  "{\"bos_token\":{\"content\":\"<|startoftext|>\",\"normalized\":true},\"pad_token\":\"!\",\"added_tokens_decoder\":" \
  "{\"12\":{\"content\":\"Ab!\",\"normalized\":true},\"8\":{\"content\":\"!\"}}}"

#define WHOLE                                                                                                          \
  "{\"model\":{\"type\":\"BPE\",\"end_of_word_suffix\":\"</w>\",\"vocab\":" VOCABULARY                                 \
  ",\"merges\":[\"a b\",[\"a\",\"b</w>\"],\"a ab</w>\"]},\"added_tokens\":["                                           \
  "{\"id\":12,\"content\":\"Ab!\",\"normalized\":true},{\"id\":11,\"content\":\"<|endoftext|>\"}]}"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("t", "An aaaabbb aab! <|endoftext|> b'll 12 \xC4\xB0 e\xCC\x81 \xF0\x9F\x8E\xA8 \xE2\x80\x83x"),
    FUZZ_SEED("t", "<|STARTOFTEXT|><|endoftext\xFF\xED\xA0\x80 \xEA\xB0\x80\xE1\x86\xA8"),
    FUZZ_SEED("t",
              "a (b:1.2) [[aab]] \\(ab\\) BREAK ((a:-3) b:1e9, (a:nan), a AND [a|b] [a:b:0.5] <lora:b:1> a, b, aab"),
    FUZZ_SEED("t", ")](a [b) BREAKb aBREAK \\\\ \\ (:0) : (a : +.5 ) (a:99999999999) ((((((((b:1.2.3)"),
    FUZZ_SEED("t", "&lt;&#97;&#xE9;&EACUTE;&amp;amp;&#0;&#99999999999;&nbsp; \xE2\x80\x9C\xE2\x80\x99 \xEF\xAC\x81 "
                   "\xEF\xBC\xA1 \x1B[1;31m \xC2\x93 \xC7\x85"),
    FUZZ_SEED("v", VOCABULARY),
    FUZZ_SEED("m", MERGES),
    FUZZ_SEED("c", CONFIG),
    FUZZ_SEED("w", WHOLE),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

enum { LENGTH = 16 };

/* Checks that any prompt gives ids of the vocabulary between a start and an end token. */
static void check_prompt(struct tokenizer *tokenizer, const char *text) {
  int ids[LENGTH], vocabulary = tokenizer_vocabulary(tokenizer);
  int needed = tokenizer_encode(tokenizer, FIX_FAST, text, ids, LENGTH, NULL);
  FUZZ_CHECK(needed >= 2 && ids[0] == tokenizer_start_id(tokenizer));
  int end = needed < LENGTH ? needed : LENGTH;
  FUZZ_CHECK(ids[end - 1] == tokenizer_end_id(tokenizer));
  for (int i = 0; i < LENGTH; i++) {
    FUZZ_CHECK(ids[i] >= 0 && ids[i] < vocabulary);
    FUZZ_CHECK(i < end || ids[i] == tokenizer_pad_id(tokenizer));
  }
}

static void check_chunk(struct tokenizer *tokenizer, const struct prompt_chunk *chunk) {
  FUZZ_CHECK(chunk->ids[0] == tokenizer_start_id(tokenizer) && chunk->weights[0] == 1);
  for (int i = 0; i < LENGTH; i++) {
    FUZZ_CHECK(chunk->ids[i] >= 0 && chunk->ids[i] < tokenizer_vocabulary(tokenizer));
    FUZZ_CHECK(chunk->weights[i] >= -SYNTAX_WEIGHT_MAX && chunk->weights[i] <= SYNTAX_WEIGHT_MAX);
  }
}

static void check_spans(const struct spans *spans, size_t length) {
  FUZZ_CHECK(spans->count >= 1 && spans->notes < 1 << NOTES);
  size_t at = 0;
  for (int i = 0; i < spans->count; i++) {
    const struct span *span = &spans->list[i];
    FUZZ_CHECK(span->start == at && span->weight >= -SYNTAX_WEIGHT_MAX && span->weight <= SYNTAX_WEIGHT_MAX);
    FUZZ_CHECK(!span->ends_chunk || !span->length);
    at += span->length;
  }
  FUZZ_CHECK(at <= length);
}

/* Checks that each text has spans and each span tokens, and that each token is in a chunk or counted as left out. */
static void check_syntax(struct tokenizer *tokenizer, enum text_fix fix, const char *text) {
  struct spans spans;
  struct prompt *prompt = malloc(sizeof *prompt);
  FUZZ_CHECK(prompt && !spans_read(&spans, text));
  check_spans(&spans, strlen(text));
  FUZZ_CHECK(!prompt_from_spans(prompt, tokenizer, fix, &spans, LENGTH, NULL));
  FUZZ_CHECK(prompt->count >= 1 && prompt->count <= PROMPT_CHUNKS_MAX);
  FUZZ_CHECK(prompt->words - prompt->left_out <= prompt->count * (LENGTH - 2));
  for (int i = 0; i < PROMPT_CHUNKS_MAX; i++)
    check_chunk(tokenizer, &prompt->chunks[i]);
  FUZZ_CHECK(!prompt_from_text(prompt, tokenizer, fix, text, LENGTH, NULL) && prompt->count == 1);
  check_chunk(tokenizer, &prompt->chunks[0]);
  spans_free(&spans);
  free(prompt);
}

static char *folder; /* folder in which all files are good */

static void clean(void) {
  fixture_remove(folder);
}

static void make_folder(void) {
  if (folder)
    return;
  folder = fixture_make();
  atexit(clean);
  fixture_text(folder, "vocab.json", VOCABULARY);
  fixture_text(folder, "merges.txt", MERGES);
  fixture_text(folder, "tokenizer_config.json", CONFIG);
}

static struct tokenizer *open_folder(void) {
  struct tokenizer *tokenizer = NULL;
  struct error err = {0};
  if (!tokenizer_open(&tokenizer, folder, &err))
    return tokenizer;
  FUZZ_CHECK(!tokenizer && err.status == STATUS_MODEL && *err.message && !strchr(err.message, '\n'));
  return NULL;
}

/* Opens the folder with one file replaced, and puts the good one back. */
static void check_file(const char *name, const char *text, const char *good) {
  fixture_text(folder, name, text);
  struct tokenizer *tokenizer = open_folder();
  if (tokenizer)
    check_prompt(tokenizer, "a aab <|endoftext|>!b");
  tokenizer_close(&tokenizer);
  fixture_text(folder, name, good);
}

static void remove_file(const char *name) {
  char *path = fixture_path(folder, name);
  remove(path);
  free(path);
}

/* Opens the folder with this tokenizer.json and without the two older files, then puts those back. */
static void check_whole(const char *text) {
  remove_file("vocab.json");
  remove_file("merges.txt");
  check_file("tokenizer.json", text, "");
  remove_file("tokenizer.json");
  fixture_text(folder, "vocab.json", VOCABULARY);
  fixture_text(folder, "merges.txt", MERGES);
}

static void check_text(const char *text) {
  static struct tokenizer *tokenizer; /* kept from one input to the next, for speed */
  if (!tokenizer)
    tokenizer = open_folder();
  FUZZ_CHECK(tokenizer);
  check_prompt(tokenizer, text);
  for (int fix = FIX_FTFY; fix <= FIX_FAST; fix++)
    check_syntax(tokenizer, (enum text_fix)fix, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size)
    return 0;
  make_folder();
  char *text = malloc(size);
  FUZZ_CHECK(text);
  memcpy(text, data + 1, size - 1);
  text[size - 1] = 0;
  if (data[0] == 'v')
    check_file("vocab.json", text, VOCABULARY);
  else if (data[0] == 'm')
    check_file("merges.txt", text, MERGES);
  else if (data[0] == 'w')
    check_whole(text);
  else if (data[0] == 'c')
    check_file("tokenizer_config.json", text, CONFIG);
  else
    check_text(text);
  free(text);
  return 0;
}
