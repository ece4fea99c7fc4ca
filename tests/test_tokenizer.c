/* Compares the tokenizer with transformers: tests/goldens/tokenizer.py writes data/tokenizer.json.gz. */
#include "tests/rigs/cmocka_all.h"

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utf8proc.h>

#include "tests/rigs/fixture.h"
#include "unet/text/tokenizer.h"

enum { LENGTH = 77, MERGES = 48894 };

static cJSON *goldens;
static char *folder; /* folder with CLIP's vocab.json and merges.txt, written by setup */

/* Reads the next line of CLIP's file of merges. */
static char *next_line(FILE *in, char *line, int size) {
  if (!fgets(line, size, in))
    fail_msg("the merges are cut short");
  line[strcspn(line, "\n")] = 0;
  return line;
}

static void add_token(cJSON *vocabulary, const char *text) {
  static int count;
  count = vocabulary->child ? count + 1 : 0;
  cJSON_AddItemToObject(vocabulary, text, cJSON_CreateNumber(count));
}

/* Adds the 256 characters of CLIP's alphabet in order, then the same with the end-of-word mark. */
static void add_alphabet(cJSON *vocabulary) {
  for (int end = 0; end < 2; end++) {
    int others = 0;
    for (int pass = 0; pass < 2; pass++)
      for (int b = 0; b < 256; b++) {
        int printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        if (printable == pass)
          continue;
        char text[16] = {0};
        utf8proc_encode_char(printable ? b : 256 + others++, (utf8proc_uint8_t *)text);
        add_token(vocabulary, strcat(text, end ? "</w>" : ""));
      }
  }
}

/* Writes vocab.json and merges.txt from CLIP's list of merges. */
static void write_vocabulary(void) {
  FILE *in = popen("gzip -dc '" SOURCE_DIR "/assets/clip/bpe_simple_vocab_16e6.txt.gz'", "r");
  char *path = fixture_path(folder, "merges.txt"), line[256];
  FILE *out = fopen(path, "w");
  assert_non_null(in);
  assert_non_null(out);
  cJSON *vocabulary = cJSON_CreateObject();
  add_alphabet(vocabulary);
  fprintf(out, "#version: 0.2\n");
  next_line(in, line, sizeof line);
  for (int i = 0; i < MERGES; i++) {
    fprintf(out, "%s\n", next_line(in, line, sizeof line));
    char *space = strchr(line, ' ');
    assert_non_null(space);
    memmove(space, space + 1, strlen(space));
    add_token(vocabulary, line);
  }
  add_token(vocabulary, "<|startoftext|>");
  add_token(vocabulary, "<|endoftext|>");
  pclose(in);
  assert_int_equal(fclose(out), 0);
  char *text = cJSON_PrintUnformatted(vocabulary);
  fixture_text(folder, "vocab.json", text);
  cJSON_free(text);
  cJSON_Delete(vocabulary);
  free(path);
}

static int setup(void **state) {
  (void)state;
  char *text = fixture_unpack(SOURCE_DIR "/tests/data/tokenizer.json.gz", NULL);
  assert_non_null(text);
  goldens = cJSON_Parse(text);
  assert_non_null(goldens);
  free(text);
  folder = fixture_make();
  write_vocabulary();
  return 0;
}

static int teardown(void **state) {
  (void)state;
  fixture_remove(folder);
  cJSON_Delete(goldens);
  return 0;
}

static void write_json(const char *to, const char *name, const cJSON *content) {
  char *text = cJSON_PrintUnformatted(content);
  fixture_text(to, name, text);
  cJSON_free(text);
}

static void write_optional(const char *name, const cJSON *content) {
  char *path = fixture_path(folder, name);
  unlink(path);
  free(path);
  if (cJSON_IsObject(content))
    write_json(folder, name, content);
}

static struct tokenizer *open_folder(const char *path) {
  struct tokenizer *tokenizer;
  struct error err;
  if (tokenizer_open(&tokenizer, path, &err))
    fail_msg("%s", err.message);
  return tokenizer;
}

/* Opens the tokenizer of a variant: CLIP's vocabulary with the variant's config files, or a folder of the repository.
 * NULL: that folder is missing. */
static struct tokenizer *open_variant(const cJSON *variant) {
  const char *own = cJSON_GetStringValue(cJSON_GetObjectItem(variant, "folder"));
  if (own) {
    char *path = fixture_path(SOURCE_DIR, own);
    struct tokenizer *tokenizer = access(path, F_OK) ? NULL : open_folder(path);
    free(path);
    return tokenizer;
  }
  write_optional("tokenizer_config.json", cJSON_GetObjectItem(variant, "config"));
  write_optional("special_tokens_map.json", cJSON_GetObjectItem(variant, "special"));
  return open_folder(folder);
}

static void print_ids(const char *label, const int *ids, int count) {
  print_error("%s", label);
  for (int i = 0; i < count; i++)
    print_error(" %d", ids[i]);
  print_error("\n");
}

/* golden: [text, ids, number of ids needed]. Returns 1 if the tokenizer gives the same ids, else 0. */
static int check_case(struct tokenizer *tokenizer, const cJSON *golden, int pad) {
  const char *text = cJSON_GetArrayItem(golden, 0)->valuestring;
  int ids[LENGTH], wanted[LENGTH], count = 0;
  const cJSON *id;
  cJSON_ArrayForEach(id, cJSON_GetArrayItem(golden, 1)) wanted[count++] = id->valueint;
  for (int i = count; i < LENGTH; i++)
    wanted[i] = pad;
  int needed = tokenizer_encode(tokenizer, FIX_FAST, text, ids, LENGTH, NULL);
  if (needed == cJSON_GetArrayItem(golden, 2)->valueint && !memcmp(ids, wanted, sizeof ids))
    return 1;
  print_error("text \"%s\" needs %d, expected %d\n", text, needed, cJSON_GetArrayItem(golden, 2)->valueint);
  print_ids("  got", ids, LENGTH);
  print_ids("  expected", wanted, LENGTH);
  return 0;
}

static void test_goldens(void **state) {
  (void)state;
  int total = 0, wrong = 0;
  const cJSON *variant, *golden;
  cJSON_ArrayForEach(variant, cJSON_GetObjectItem(goldens, "variants")) {
    struct tokenizer *tokenizer = open_variant(variant);
    if (!tokenizer)
      continue;
    int pad = cJSON_GetObjectItem(variant, "pad")->valueint;
    assert_int_equal(tokenizer_pad_id(tokenizer), pad);
    cJSON_ArrayForEach(golden, cJSON_GetObjectItem(variant, "cases")) {
      wrong += !check_case(tokenizer, golden, pad);
      total++;
    }
    tokenizer_close(&tokenizer);
  }
  print_message("%d strings, %d wrong\n", total, wrong);
  if (wrong)
    print_message("if only mini's are: tests/goldens/tokenizer.py writes its part anew\n");
  assert_true(total >= 2000);
  assert_int_equal(wrong, 0);
}

static const cJSON *find_variant(const char *name) {
  const cJSON *variant;
  cJSON_ArrayForEach(variant, cJSON_GetObjectItem(goldens, "variants")) {
    if (!strcmp(cJSON_GetObjectItem(variant, "name")->valuestring, name))
      return variant;
  }
  fail_msg("no variant %s", name);
  return NULL;
}

static void check_clip(const char *path, bool open_clip) {
  struct tokenizer *tokenizer;
  struct error err;
  if (tokenizer_open_clip(&tokenizer, path, open_clip, &err))
    fail_msg("%s", err.message);
  assert_int_equal(tokenizer_vocabulary(tokenizer), 49408);
  assert_int_equal(tokenizer_pad_id(tokenizer), open_clip ? 0 : 49407);
  int wrong = 0;
  const cJSON *golden;
  cJSON_ArrayForEach(golden, cJSON_GetObjectItem(find_variant(open_clip ? "sd21" : "sd15"), "cases")) {
    wrong += !check_case(tokenizer, golden, tokenizer_pad_id(tokenizer));
  }
  assert_int_equal(wrong, 0);
  tokenizer_close(&tokenizer);
}

/* Made from the merges file, the vocabulary has the token ids of the published models. The list that CLIP publishes
 * goes on behind the merges that it uses: these lines count for nothing. */
static void test_clip(void **state) {
  (void)state;
  char *used = fixture_path(folder, "merges.txt"), *longer = fixture_path(folder, "longer.txt");
  size_t length;
  char *text = fixture_read(used, &length);
  text = realloc(text, length + 16);
  assert_non_null(text);
  strcpy(text + length, "jeky llz</w>\n");
  fixture_text(folder, "longer.txt", text);
  for (int open_clip = 0; open_clip < 2; open_clip++) {
    check_clip(SOURCE_DIR "/assets/clip/bpe_simple_vocab_16e6.txt.gz", open_clip);
    check_clip(longer, open_clip);
  }
  free(text);
  free(longer);
  free(used);
}

/* Continues an FNV-1a hash with an id as 4 little-endian bytes. */
static uint64_t hash_id(uint64_t hash, uint32_t id) {
  for (int i = 0; i < 4; i++)
    hash = (hash ^ (id >> 8 * i & 255)) * 0x100000001b3;
  return hash;
}

static uint64_t hash_run(struct tokenizer *tokenizer, int first, int count) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int c = first; c < first + count; c++) {
    char text[8] = "a";
    utf8proc_ssize_t used = utf8proc_encode_char(c, (utf8proc_uint8_t *)text + 1);
    text[1 + used] = 'b';
    int ids[LENGTH], needed = tokenizer_encode(tokenizer, FIX_FAST, text, ids, LENGTH, NULL);
    assert_in_range(needed, 3, LENGTH);
    for (int i = 0; i < needed; i++)
      hash = hash_id(hash, (uint32_t)ids[i]);
    hash = hash_id(hash, 0xffffffff);
  }
  return hash;
}

/* Every character of Unicode 14, between two letters. */
static void test_code_points(void **state) {
  (void)state;
  struct tokenizer *tokenizer = open_variant(cJSON_GetObjectItem(goldens, "variants")->child);
  int total = 0, wrong = 0;
  const cJSON *run;
  cJSON_ArrayForEach(run, cJSON_GetObjectItem(goldens, "code_points")) {
    int first = cJSON_GetArrayItem(run, 0)->valueint, count = cJSON_GetArrayItem(run, 1)->valueint;
    uint64_t wanted = strtoull(cJSON_GetArrayItem(run, 2)->valuestring, NULL, 16);
    if (hash_run(tokenizer, first, count) != wanted) {
      print_error("U+%04X and the %d after it differ\n", (unsigned)first, count - 1);
      wrong++;
    }
    total += count;
  }
  print_message("%d characters\n", total);
  tokenizer_close(&tokenizer);
  assert_true(total > 140000);
  assert_int_equal(wrong, 0);
}

/* Each byte that is not valid UTF-8 counts as U+FFFD. */
static void test_invalid_utf8(void **state) {
  (void)state;
  static const struct {
    const char *text, *same;
  } cases[] = {
      {"a\xff"
       "b",
       "a\uFFFD"
       "b"},
      {"\xc3", "\uFFFD"},                               /* a sequence that is cut off */
      {"\xc0\xaf", "\uFFFD\uFFFD"},                     /* an overlong form */
      {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},           /* a surrogate */
      {"\xf4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"}, /* a number beyond Unicode */
      {"oil\x80 painting", "oil\uFFFD painting"},
  };
  struct tokenizer *tokenizer = open_variant(cJSON_GetObjectItem(goldens, "variants")->child);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int ids[LENGTH], same[LENGTH];
    int needed = tokenizer_encode(tokenizer, FIX_FAST, cases[i].text, ids, LENGTH, NULL);
    assert_int_equal(needed, tokenizer_encode(tokenizer, FIX_FAST, cases[i].same, same, LENGTH, NULL));
    assert_memory_equal(ids, same, sizeof ids);
  }
  tokenizer_close(&tokenizer);
}

/* A word of a million letters: the time for merging must not grow with the square of its length. */
static void test_long_word(void **state) {
  (void)state;
  struct tokenizer *tokenizer = open_variant(cJSON_GetObjectItem(goldens, "variants")->child);
  size_t length = 1000000;
  char *text = malloc(length + 1);
  assert_non_null(text);
  for (size_t i = 0; i < length; i++)
    text[i] = "aehlo"[i * i % 5];
  text[length] = 0;
  int ids[4], needed = tokenizer_encode(tokenizer, FIX_FAST, text, ids, 4, NULL);
  assert_in_range(needed, 1000, 1000000);
  assert_int_equal(ids[0], tokenizer_start_id(tokenizer));
  assert_int_equal(ids[3], tokenizer_end_id(tokenizer));
  free(text);
  tokenizer_close(&tokenizer);
}

/* --- tokenizer.json alone --- */

/* Makes CLIP's tokenizer.json from the two older files. pairs: merges are lists of two strings, as newer programs write
 * them. */
static cJSON *make_whole(bool pairs) {
  cJSON *json = cJSON_CreateObject(), *model = cJSON_AddObjectToObject(json, "model");
  char *path = fixture_path(folder, "vocab.json"), *text = fixture_read(path, NULL);
  cJSON_AddStringToObject(model, "type", "BPE");
  cJSON_AddStringToObject(model, "end_of_word_suffix", "</w>");
  cJSON_AddItemToObject(model, "vocab", cJSON_Parse(text));
  free(text);
  free(path);
  path = fixture_path(folder, "merges.txt");
  text = fixture_read(path, NULL);
  cJSON *merges = cJSON_AddArrayToObject(model, "merges");
  char *rest = NULL, *line = strtok_r(text, "\n", &rest); /* skips the version line */
  while ((line = strtok_r(NULL, "\n", &rest))) {
    char *space = strchr(line, ' ');
    *space = pairs ? 0 : ' ';
    const char *const two[] = {line, space + 1};
    cJSON_AddItemToArray(merges, pairs ? cJSON_CreateStringArray(two, 2) : cJSON_CreateString(line));
  }
  free(text);
  free(path);
  return json;
}

static void add_entry(cJSON *json, int id, const char *text, bool normalised) {
  cJSON *list = cJSON_GetObjectItem(json, "added_tokens");
  list = list ? list : cJSON_AddArrayToObject(json, "added_tokens");
  cJSON *entry = cJSON_CreateObject();
  cJSON_AddNumberToObject(entry, "id", id);
  cJSON_AddStringToObject(entry, "content", text);
  cJSON_AddBoolToObject(entry, "normalized", normalised);
  cJSON_AddItemToArray(list, entry);
}

/* A folder with only tokenizer.json has the tokens of the two older files and the tokens that it adds. Added tokens
 * marked "normalized" are found in upper and lower case. */
static void test_whole(void **state) {
  (void)state;
  char *own = fixture_make();
  for (int pairs = 0; pairs < 2; pairs++) {
    int wrong = 0;
    cJSON *json = make_whole(pairs);
    const cJSON *golden;
    add_entry(json, 49406, "<|startoftext|>", true);
    add_entry(json, 49407, "<|endoftext|>", false);
    add_entry(json, 49408, "<Toy>", true);
    add_entry(json, 49409, "<Cat>", false);
    write_json(own, "tokenizer.json", json);
    cJSON_Delete(json);
    struct tokenizer *tokenizer = open_folder(own);
    assert_int_equal(tokenizer_pad_id(tokenizer), 49407);
    assert_int_equal(tokenizer_vocabulary(tokenizer), 49410);
    cJSON_ArrayForEach(golden, cJSON_GetObjectItem(find_variant("sd15"), "cases")) wrong +=
        !check_case(tokenizer, golden, 49407);
    assert_int_equal(wrong, 0);
    for (int fix = FIX_FTFY; fix <= FIX_FAST; fix++) {
      int ids[8];
      assert_int_equal(tokenizer_encode(tokenizer, (enum text_fix)fix, "<TOY> <Toy><Cat>", ids, 8, NULL), 5);
      assert_memory_equal(ids, ((int[]){49406, 49408, 49408, 49409, 49407}), 5 * sizeof *ids);
      assert_true(tokenizer_encode(tokenizer, (enum text_fix)fix, "<CAT>", ids, 8, NULL) > 3);
      assert_true(tokenizer_has_added(tokenizer, (enum text_fix)fix, "<TOY>", 5));
      assert_false(tokenizer_has_added(tokenizer, (enum text_fix)fix, "<CAT>", 5));
    }
    tokenizer_close(&tokenizer);
  }
  fixture_remove(own);
}

/* A word that was learned as several tokens becomes all of them; upper case matters if the kind of tokenizer says
 * so. */
static void test_learned(void **state) {
  (void)state;
  static const char added[] = "{\"<Toy>\": 49408, \"<Toy>_1\": 49409, \"<Toy>_2\": 49410, \"toy\": 49411}";
  static const struct {
    const char *text;
    int count, fast[4], basic[4]; /* expected ids, without the start and end tokens */
  } cases[] = {
      {"<Toy>", 3, {49408, 49409, 49410}, {49408, 49409, 49410}},
      {"<Toy>_1", 1, {49409}, {49409}},
      {"a <Toy>!", 5, {320, 49408, 49409, 49410}, {320, 49408, 49409, 49410}},
      {"toy", 1, {49411}, {49411}},
      {"<toy>", 3, {49408, 49409, 49410}, {283, 49411, 285}},
  };
  fixture_text(folder, "added_tokens.json", added);
  struct tokenizer *tokenizer = open_folder(folder);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int fix = FIX_BASIC; fix <= FIX_FAST; fix++) {
      struct token_list list = {0};
      struct error err;
      assert_int_equal(
          tokenizer_words(tokenizer, (enum text_fix)fix, cases[i].text, strlen(cases[i].text), &list, &err), 0);
      const int *ids = fix == FIX_FAST ? cases[i].fast : cases[i].basic;
      if (list.count != cases[i].count ||
          memcmp(list.ids, ids, (size_t)(list.count < 4 ? list.count : 4) * sizeof *ids))
        fail_msg("%s: %d tokens, %d ...", cases[i].text, list.count, list.ids[0]);
      free(list.ids);
    }
  int id;
  assert_int_equal(tokenizer_vocabulary(tokenizer), 49412);
  assert_string_equal(tokenizer_beyond(tokenizer, 49409, &id), "<Toy>_1");
  assert_int_equal(id, 49409);
  assert_null(tokenizer_beyond(tokenizer, 49412, &id));
  assert_true(tokenizer_has_added(tokenizer, FIX_FAST, "<Toy>", 5));
  assert_false(tokenizer_has_added(tokenizer, FIX_FAST, "<Toy", 4));
  tokenizer_close(&tokenizer);
  char *path = fixture_path(folder, "added_tokens.json");
  remove(path);
  free(path);
}

/* A merges.txt without its last lines is refused, because tokens would differ. */
static void test_cut_merges(void **state) {
  (void)state;
  char *path = fixture_path(folder, "merges.txt");
  size_t length;
  char *merges = fixture_read(path, &length);
  assert_non_null(merges);
  for (int lines = 0; lines < 3; lines++) {
    struct tokenizer *tokenizer;
    struct error err = {0};
    if (!lines) { /* the complete file */
      tokenizer = open_folder(folder);
      tokenizer_close(&tokenizer);
    } else {
      fixture_write(folder, "merges.txt", merges, length);
      assert_int_equal(tokenizer_open(&tokenizer, folder, &err), -1);
      assert_int_equal(err.status, STATUS_MODEL);
      assert_non_null(strstr(err.message, lines == 1 ? ", 1 too few" : ", 2 too few"));
    }
    for (length--; merges[length - 1] != '\n'; length--)
      ;
  }
  length = strlen(merges);
  fixture_write(folder, "merges.txt", merges, length);
  free(merges);
  free(path);
}

/* A vocabulary without some bytes: each such byte becomes the unknown token. */
static void test_unknown_bytes(void **state) {
  (void)state;
  char *small = fixture_make();
  fixture_text(small, "vocab.json",
               "{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1, \"a\": 2, \"b</w>\": 3, \"ab</w>\": 4}");
  fixture_text(small, "merges.txt", "#version: 0.2\r\na b</w>\r\n");
  struct tokenizer *tokenizer = open_folder(small);
  int ids[8];
  assert_int_equal(tokenizer_encode(tokenizer, FIX_FAST, "AB zab a", ids, 8, NULL), 6);
  assert_memory_equal(ids, ((int[]){0, 4, 1, 4, 1, 1, 1, 1}), sizeof ids);
  assert_int_equal(tokenizer_vocabulary(tokenizer), 5);
  tokenizer_close(&tokenizer);
  fixture_remove(small);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_goldens),      cmocka_unit_test(test_clip),       cmocka_unit_test(test_code_points),
      cmocka_unit_test(test_invalid_utf8), cmocka_unit_test(test_long_word),  cmocka_unit_test(test_whole),
      cmocka_unit_test(test_learned),      cmocka_unit_test(test_cut_merges), cmocka_unit_test(test_unknown_bytes),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
