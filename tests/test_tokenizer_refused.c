/* Tests tokenizer files that must be refused with a message that names the error. */
#include "tests/rigs/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "unet/text/tokenizer.h"

/* Checks that the folder is refused with these words, and removes it. */
static void expect_refused(char *bad, size_t number, const char *says) {
  struct tokenizer *tokenizer;
  struct error err = {0};
  if (!tokenizer_open(&tokenizer, bad, &err))
    fail_msg("case %zu was accepted", number);
  assert_int_equal(err.status, STATUS_MODEL);
  if (!strstr(err.message, says))
    fail_msg("case %zu says: %s", number, err.message);
  fixture_remove(bad);
}

static void test_bad_files(void **state) {
  (void)state;
  static const struct {
    const char *vocabulary, *merges, *config, *says;
  } cases[] = {
      {NULL, "", NULL, "vocab.json"},
      {"", "", NULL, "vocab.json"},
      {"[1]", "", NULL, "vocab.json"},
      {"{\"a\": \"b\"}", "", NULL, "has no id"},
      {"{\"a\": -1}", "", NULL, "has no id"},
      {"{\"a\": 1e99}", "", NULL, "has no id"},
      {"{\"a\": 531.5}", "", NULL, "token a has no id"},
      {"{\"a\": 1, \"b\": 1}", "", NULL, "tokens a and b have one id, 1"},
      {"{\"a\": 1, \"a\": 2}", "", NULL, "token a is there twice"},
      {"{\"a\": 1}", "", NULL, "<|startoftext|>"},
      {"{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1}", NULL, NULL, "merges.txt"},
      {"{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1}", "ab\n", NULL, "merge 1"},
      {"{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1}", "#version: 0.2\na b\n", NULL, "merge 1"},
      {"{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1}", "", "{", "tokenizer_config.json"},
      {"{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1}", "", "{\"pad_token\": \"x\"}", "pad_token"},
      {"{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1}", "",
       "{\"bos_token\": {\"content\": \"<|startoftext|>\", \"lstrip\": true}}", "lstrip"},
      {"{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1}", "", "{\"added_tokens_decoder\": [1]}", "added_tokens_decoder"},
      {"{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1}", "", "{\"added_tokens_decoder\": {\"9999999\": \"x\"}}",
       "added_tokens_decoder"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *bad = fixture_make();
    const char *const texts[] = {cases[i].vocabulary, cases[i].merges, cases[i].config}, *const names[] = {
                                                                                             "vocab.json", "merges.txt",
                                                                                             "tokenizer_config.json"};
    for (int k = 0; k < 3; k++)
      if (texts[k])
        fixture_text(bad, names[k], texts[k]);
    expect_refused(bad, i, cases[i].says);
  }
}

/* Impossible entries in lists of learned tokens are refused with the token's name. */
static void test_bad_learned(void **state) {
  (void)state;
  static const struct {
    const char *file, *text, *says;
  } cases[] = {
      {"added_tokens.json", "{\"<a>\": 5.5}", "added_tokens.json: token <a> has no id"},
      {"added_tokens.json", "{\"<a>\": 5, \"<b>\": 5}", "added_tokens.json: tokens <b> and <a> have one id, 5"},
      {"added_tokens.json", "{\"<a>\": 5, \"<a>\": 6}", "token <a> has the id 6, and 5 elsewhere"},
      {"added_tokens.json", "{\"<a>\": 2}", "tokens <a> and a have one id, 2"},
      {"tokenizer_config.json",
       "{\"added_tokens_decoder\": {\"5\": {\"content\": \"<a>\"}, \"5\": {\"content\": \"<b>\"}}}",
       "tokens <b> and <a> have one id, 5"},
      {"tokenizer_config.json", "{\"added_tokens_decoder\": {\"5.5\": {\"content\": \"<a>\"}}}",
       "added_tokens_decoder"},
      {"tokenizer_config.json", "{\"added_tokens_decoder\": {\"\": {\"content\": \"<a>\"}}}", "added_tokens_decoder"},
      {"tokenizer.json", "{\"added_tokens\": [{\"id\": 5.5, \"content\": \"<a>\"}]}", "token <a> has no id"},
      {"tokenizer.json", "{\"added_tokens\": [{\"id\": 5, \"content\": \"<a>\"}, {\"id\": 5, \"content\": \"<b>\"}]}",
       "tokenizer.json: tokens <b> and <a> have one id, 5"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *bad = fixture_make();
    fixture_text(bad, "vocab.json", "{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1, \"a\": 2}");
    fixture_text(bad, "merges.txt", "");
    fixture_text(bad, cases[i].file, cases[i].text);
    expect_refused(bad, i, cases[i].says);
  }
}

/* Start, end and padding tokens may be among the added ones only. A file of another kind of tokenizer is refused with
 * the name of the field. */
static void test_small_whole(void **state) {
  (void)state;
#define MODEL(fields)                                                                                                  \
  "{\"model\": {\"vocab\": {\"a</w>\": 0, \"b\": 1, \"ba</w>\": 2}, " fields "}, \"added_tokens\": "                   \
  "[{\"id\": 3, \"content\": \"<|startoftext|>\"}, {\"id\": 4, \"content\": \"<|endoftext|>\"}]}"
#define SUFFIX "\"end_of_word_suffix\": \"</w>\", "
  static const struct {
    const char *text, *says; /* says NULL: the file is accepted */
  } cases[] = {
      {MODEL(SUFFIX "\"merges\": [\"b a</w>\"]"), NULL},
      {MODEL(SUFFIX "\"merges\": [[\"b\", \"a</w>\"]]"), NULL},
      {MODEL(SUFFIX "\"merges\": [[\"b\"]]"), "merge 1 is not two tokens"},
      {MODEL(SUFFIX "\"merges\": [[\"b\", \"c\"]]"), "merge 1 (bc) is not in its vocab"},
      {MODEL(SUFFIX "\"merges\": [7]"), "merge 1 is not two tokens"},
      {MODEL(SUFFIX "\"type\": \"Unigram\""), "model.type: Unigram is not supported"},
      {MODEL("\"end_of_word_suffix\": \"\""), "model.end_of_word_suffix"},
      {MODEL("\"merges\": []"), "model.end_of_word_suffix"},
      {MODEL(SUFFIX "\"type\": \"BPE\""), "has no model with vocab and merges"},
  };
#undef MODEL
#undef SUFFIX
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *own = fixture_make();
    struct tokenizer *tokenizer;
    struct error err = {0};
    int ids[4];
    fixture_text(own, "tokenizer.json", cases[i].text);
    bool good = !tokenizer_open(&tokenizer, own, &err);
    if (good != !cases[i].says || (!good && !strstr(err.message, cases[i].says)))
      fail_msg("case %zu: %s", i, err.message);
    if (good) {
      assert_int_equal(tokenizer_encode(tokenizer, FIX_FAST, "BA", ids, 4, NULL), 3);
      assert_memory_equal(ids, ((int[]){3, 2, 4, 4}), sizeof ids);
      tokenizer_close(&tokenizer);
    }
    fixture_remove(own);
  }
}

static void test_clip_refused(void **state) {
  (void)state;
  static const char *const names[] = {/* a file that does not exist, one without merges, one with too few merges */
                                      "none.gz", "vocab.json", "merges.txt"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct tokenizer *tokenizer;
    struct error err = {0};
    char *small = fixture_make(), *path = fixture_path(small, names[i]);
    if (i)
      fixture_text(small, names[i], i == 1 ? "{}" : "#version: 0.2\ni n\n");
    assert_int_equal(tokenizer_open_clip(&tokenizer, path, false, &err), -1);
    assert_int_equal(err.status, STATUS_MODEL);
    assert_non_null(strstr(err.message, names[i]));
    free(path);
    fixture_remove(small);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bad_files),
      cmocka_unit_test(test_bad_learned),
      cmocka_unit_test(test_small_whole),
      cmocka_unit_test(test_clip_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
