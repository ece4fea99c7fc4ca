/* Tests how prompts are read and encoded, compared with tests/goldens/prompts.py, which writes data/prompts.json.gz and
 * data/goldens/NAME/prompts.safetensors.
 *
 *   test_prompts GOLDENS DEVICE       skipped where there is no such device */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "unet/text/named.h"
#include "unet/text/prompt.h"

enum { LENGTH = 77 };

static char **args; /* arguments of the test program */
static cJSON *goldens;

static const cJSON *item(const cJSON *array, int index) {
  const cJSON *found = cJSON_GetArrayItem(array, index);
  assert_non_null(found);
  return found;
}

/* --- a text to weighted spans, spans to chunks --- */

static bool same_spans(const struct spans *spans, const cJSON *golden) {
  if (cJSON_GetArraySize(golden) != spans->count)
    return false;
  for (int i = 0; i < spans->count; i++) {
    const struct span *span = &spans->list[i];
    const char *words = cJSON_GetStringValue(item(item(golden, i), 0));
    double weight = item(item(golden, i), 1)->valuedouble;
    if (span->ends_chunk != !words || (words && (strlen(words) != span->length || span->weight != weight ||
                                                 memcmp(spans->text + span->start, words, span->length))))
      return false;
  }
  return true;
}

static bool same_chunk(const struct tokenizer *tokenizer, const struct prompt_chunk *chunk, const cJSON *golden) {
  int ids[LENGTH], words[LENGTH], count = cJSON_GetArraySize(item(golden, 0)), at = 1;
  const cJSON *run;
  for (int i = 0; i < count; i++)
    words[i] = item(item(golden, 0), i)->valueint;
  tokenizer_frame(tokenizer, words, count, ids, LENGTH);
  if (memcmp(ids, chunk->ids, sizeof ids) || chunk->weights[0] != 1)
    return false;
  cJSON_ArrayForEach(run, item(golden, 1)) {
    for (int i = 0; i < item(run, 1)->valueint; i++)
      if (chunk->weights[at++] != (float)item(run, 0)->valuedouble)
        return false;
  }
  while (at < LENGTH)
    if (chunk->weights[at++] != 1)
      return false;
  return true;
}

static bool same_chunks(const struct tokenizer *tokenizer, const struct prompt *prompt, const cJSON *golden) {
  const cJSON *chunks = cJSON_GetObjectItem(golden, "chunks");
  bool same = prompt->count == cJSON_GetArraySize(chunks) &&
              prompt->left_out == cJSON_GetObjectItem(golden, "left_out")->valueint;
  for (int i = 0; same && i < prompt->count; i++)
    same = same_chunk(tokenizer, &prompt->chunks[i], item(chunks, i));
  return same;
}

static struct tokenizer *open_clip(bool fill_as_openclip) {
  struct tokenizer *tokenizer;
  struct error err;
  char *merges = fixture_path(args[1], "../../../assets/clip/bpe_simple_vocab_16e6.txt.gz");
  must(tokenizer_open_clip(&tokenizer, merges, fill_as_openclip, &err), &err);
  free(merges);
  return tokenizer;
}

/* Reads a packed file beside the goldens' folder. */
static cJSON *read_beside(const char *name) {
  char *path = fixture_path(args[1], name), *text = fixture_unpack(path, NULL);
  assert_non_null(text);
  cJSON *json = cJSON_Parse(text);
  assert_non_null(json);
  free(text);
  free(path);
  return json;
}

static void test_goldens(void **state) {
  (void)state;
  struct tokenizer *tokenizer = open_clip(true);
  int total = 0, wrong = 0;
  const cJSON *golden;
  cJSON_ArrayForEach(golden, cJSON_GetObjectItem(goldens, "texts")) {
    const char *text = cJSON_GetObjectItem(golden, "text")->valuestring;
    struct spans spans;
    struct prompt prompt;
    struct error err;
    assert_int_equal(spans_read(&spans, text), 0);
    assert_int_equal(spans.notes, 0);
    must(prompt_from_spans(&prompt, tokenizer, FIX_FAST, &spans, LENGTH, &err), &err);
    bool same = same_spans(&spans, cJSON_GetObjectItem(golden, "spans")),
         alike = same_chunks(tokenizer, &prompt, golden);
    if (!same || !alike)
      print_error("\"%s\": its %s differ\n", text, same ? "chunks" : "spans");
    wrong += !same || !alike;
    total++;
    spans_free(&spans);
  }
  print_message("%d texts, %d wrong\n", total, wrong);
  tokenizer_close(&tokenizer);
  assert_true(total > 200);
  assert_int_equal(wrong, 0);
}

/* Prints a text's spans as "words=weight", separated by |; BREAK is printed as /. */
static void print_spans(const struct spans *spans, char *out, size_t size) {
  size_t used = 0;
  for (int i = 0; i < spans->count && used < size; i++) {
    const struct span *span = &spans->list[i];
    used += (size_t)(span->ends_chunk ? snprintf(out + used, size - used, "/")
                                      : snprintf(out + used, size - used, "%.*s=%.3g|", (int)span->length,
                                                 spans->text + span->start, span->weight));
  }
}

/* A note tells what is read differently from AUTOMATIC1111. */
static void test_notes(void **state) {
  (void)state;
  static const struct {
    const char *text, *spans;
    unsigned notes;
  } cases[] = {
      {"[a:b:0.5]", "[a:b:0.5]=1|", NOTE_SCHEDULE},
      {"x ([a:(b):.5])", "x =1|[a:=1.1|b=1.21|:.5]=1.1|", NOTE_SCHEDULE},
      {"[a:3]", "[a:3]=1|", NOTE_SCHEDULE},
      {"[(a:3)]", "a=2.73|", 0},
      {"[a|b]", "[a|b]=1|", NOTE_ALTERNATION},
      {"[[a|b]]", "[a|b]=0.909|", NOTE_ALTERNATION},
      {"[a|b:0.5] [c:d:1]", "[a|b:0.5] [c:d:1]=1|", NOTE_ALTERNATION | NOTE_SCHEDULE},
      {"a|b", "a|b=1|", 0},
      {"[a:b]", "a:b=0.909|", 0},
      {"[a\\|b", "a|b=0.909|", 0},
      {"a AND b", "a AND b=1|", NOTE_AND},
      {"SAND ANDES", "SAND ANDES=1|", 0},
      {"(a:1e30)", "a:1e30=1.1|", NOTE_NUMBER},
      {"(a:nan)", "a:nan=1.1|", NOTE_NUMBER},
      {"(a: inf)", "a: inf=1.1|", NOTE_NUMBER},
      {"(a:1.2.3)", "a:1.2.3=1.1|", NOTE_NUMBER},
      {"(a:.)", "a:.=1.1|", NOTE_NUMBER},
      {"(a:1,5)", "a:1,5=1.1|", NOTE_NUMBER},
      {"(a:b)", "a:b=1.1|", 0},
      {"(a:1000)", "a=10|", NOTE_RANGE},
      {"(a:-1000)", "a=-10|", NOTE_RANGE},
      {"((a:1000):0.001)", "a=1|", 0},
      {"(a BREAK b:2)", "a=2|/b=2|", 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct spans spans;
    char text[256] = "";
    assert_int_equal(spans_read(&spans, cases[i].text), 0);
    print_spans(&spans, text, sizeof text);
    assert_string_equal(text, cases[i].spans);
    if (spans.notes != cases[i].notes)
      fail_msg("%s: notes %#x", cases[i].text, spans.notes);
    spans_free(&spans);
  }
}

/* Names of LoRA files in a prompt are removed from it; other names in brackets stay. */
static void test_named(void **state) {
  (void)state;
  static const struct {
    const char *text, *rest, *name, *weight;
    enum named_kind kind;
  } cases[] = {
      {"a cat <lora:x:0.8>", "a cat ", "x", "0.8", NAMED_LORA},
      {"<lora:x>", "", "x", "", NAMED_LORA},
      {"a <lora:x:0.8 cat", "a <lora:x:0.8 cat", "<lora:x:0.8", "", NAMED_OPEN},
      {"a <Lyco: x, b", "a <Lyco: x, b", "<Lyco: x", "", NAMED_OPEN},
      {"<lora:x:1<lora:y:1>", "<lora:x:1", "<lora:x:1", "", NAMED_OPEN},
      {"<LoRA: my style v2 :-1.5:0.4>, dog", ", dog", "my style v2", "-1.5", NAMED_LORA},
      {"a<lyco:b/c.safetensors:.5>(d:1.2)", "a(d:1.2)", "b/c.safetensors", ".5", NAMED_LORA},
      {"(a <lora:b:1>:1.3)", "(a :1.3)", "b", "1", NAMED_LORA},
      {"<lora:b:1:lbw=OUTD>", "", "b", "1", NAMED_LORA},
      {"<lora:a:1><lora:b:2> x <lora:c:3>", " x ", "a", "1", NAMED_LORA},
      {"<hypernet:h:1> x", " x", "h", "1", NAMED_NETWORK},
      {"x embedding:easy-neg, y", "x embedding:easy-neg, y", "easy-neg", "", NAMED_EMBEDDING},
      {"(embedding:bad.pt:1.2)", "(embedding:bad.pt:1.2)", "bad.pt", "", NAMED_EMBEDDING},
      {"a <s0><s1> cat", "a <s0><s1> cat", "<s0>", "", NAMED_TOKEN},
  };
  static const char *const none[] = {"",        "a < b > c",     "<lora:",        "lora:x:1", "<>",
                                     "a <3",    "embedding: x",  "reembedding:x", "<a, b>",   "<lora:>",
                                     "<lora:<", "1 <2 and 3> 2", "embedding:,",   "(a:1.2)",  "<a b>"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *text = cases[i].text;
    struct named named;
    char *rest = named_take_out(text);
    assert_true(named_find(text, 0, &named));
    assert_int_equal(named.kind, cases[i].kind);
    assert_string_equal(rest, cases[i].rest);
    assert_int_equal(named.name_length, strlen(cases[i].name));
    assert_memory_equal(text + named.name, cases[i].name, named.name_length);
    assert_int_equal(named.weight_length, strlen(cases[i].weight));
    assert_memory_equal(text + named.weight, cases[i].weight, named.weight_length);
    free(rest);
  }
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    struct named named;
    char *rest = named_take_out(none[i]);
    if (named_find(none[i], 0, &named))
      fail_msg("\"%s\" names something", none[i]);
    assert_string_equal(rest, none[i]);
    free(rest);
  }
}

/* Extremely long numbers and many brackets. */
static void test_absurd(void **state) {
  (void)state;
  enum { SIZE = 20000 };
  char *text = malloc(SIZE + 1);
  assert_non_null(text);
  static const char *const repeated[] = {"(",   "[",   ")",      "]", "\\",      ":",   "(a",
                                         "(a)", "[a|", "BREAK ", "9", "(a:1.5)", "\xff"};
  struct tokenizer *tokenizer = open_clip(true);
  for (size_t i = 0; i < sizeof repeated / sizeof *repeated; i++) {
    struct spans spans;
    struct prompt prompt;
    struct error err;
    size_t length = strlen(repeated[i]);
    for (size_t at = 0; at < SIZE; at++)
      text[at] = repeated[i][at % length];
    text[SIZE] = 0;
    assert_int_equal(spans_read(&spans, text), 0);
    for (int s = 0; s < spans.count; s++)
      assert_true(fabs(spans.list[s].weight) <= SYNTAX_WEIGHT_MAX);
    must(prompt_from_spans(&prompt, tokenizer, FIX_FAST, &spans, LENGTH, &err), &err);
    assert_in_range(prompt.count, 1, PROMPT_CHUNKS_MAX);
    spans_free(&spans);
  }
  memset(text, '9', SIZE);
  memcpy(text, "(a:", 3);
  memcpy(text + SIZE - 1, ")", 2);
  struct spans spans;
  assert_int_equal(spans_read(&spans, text), 0);
  assert_int_equal(spans.notes, NOTE_RANGE);
  assert_true(spans.list[0].weight == SYNTAX_WEIGHT_MAX); /* the weight "infinity" is limited */
  spans_free(&spans);
  tokenizer_close(&tokenizer);
  free(text);
}

/* --- characters --- */

static bool same_words(struct tokenizer *tokenizer, enum text_fix fix, const char *text, const cJSON *golden) {
  struct token_list words = {0};
  struct error err;
  must(tokenizer_words(tokenizer, fix, text, strlen(text), &words, &err), &err);
  bool same = words.count == cJSON_GetArraySize(golden);
  for (int i = 0; same && i < words.count; i++)
    same = words.ids[i] == item(golden, i)->valueint;
  free(words.ids);
  return same;
}

/* Corrections of text as in the slow tokenizer of transformers 4, with the library ftfy and without. */
static void test_fixes(void **state) {
  (void)state;
  static const char *const names[] = {"ftfy", "basic"};
  cJSON *rows = read_beside("../text_fix.json.gz");
  struct tokenizer *tokenizer = open_clip(false);
  int total = 0, wrong = 0;
  const cJSON *row;
  cJSON_ArrayForEach(row, rows) {
    const char *prompt = cJSON_GetStringValue(item(row, 0));
    for (int fix = FIX_FTFY; fix <= FIX_BASIC; fix++) {
      if (same_words(tokenizer, (enum text_fix)fix, prompt, item(row, 1 + fix)))
        continue;
      print_error("%s: \"%s\"\n", names[fix], prompt);
      wrong++;
    }
    total++;
  }
  print_message("%d texts, %d wrong\n", total, wrong);
  assert_true(total > 1000);
  assert_int_equal(wrong, 0);
  tokenizer_close(&tokenizer);
  cJSON_Delete(rows);
}

/* --- engines --- */

struct prompts_rig {
  struct rig rig;
  struct warnings warnings;
  struct log log;
};

static void open_rig(struct prompts_rig *r, const char *name, enum engine_prompt_syntax syntax, int chunks,
                     bool text_to_image) {
  *r = (struct prompts_rig){.rig.controls = CONTROLS_DEFAULTS, .log = {remember_warning, &r->warnings}};
  if (golden_open(&r->rig.golden, args[1], name) < 0)
    fail_msg("%s", r->rig.golden.missing);
  struct engine_params params = default_params(&r->rig.golden, args[2]);
  struct engine_shape shape = default_shape(&r->rig.golden);
  params.prompt_syntax = syntax;
  params.device.log = &r->log;
  shape.text_to_image = text_to_image;
  shape.guidance = text_to_image ? GUIDANCE_FULL : GUIDANCE_NONE;
  shape.steps = text_to_image ? 2 : 1;
  shape.chunks = chunks;
  must(rig_engine(&r->rig, &params, &shape), &r->rig.err);
  r->warnings.count = 0; /* warnings about the model are not counted */
}

static void set(struct prompts_rig *r, int slot, const char *text) {
  must(engine_set_prompt(r->rig.engine, slot, text, &r->rig.err), &r->rig.err);
}

/* Makes the picture with a handle for this number of chunks. */
static uint8_t *picture_of(struct prompts_rig *r, int chunks) {
  struct prepared_info info;
  prepared_get_info(r->rig.prepared, &info);
  info.shape.chunks = chunks;
  struct prepared *former = r->rig.prepared;
  must(engine_prepare(r->rig.engine, &info.shape, &r->rig.prepared, &r->rig.err), &r->rig.err);
  engine_release(r->rig.engine, &former);
  return generate_default(&r->rig);
}

static void check_picture(const char *name, const struct golden *pictures, const cJSON *run) {
  struct prompts_rig r;
  open_rig(&r, name, PROMPT_SYNTAX_WEIGHTS, 0, true);
  set(&r, 1, json_string(run, "prompt", ""));
  set(&r, 2, json_string(run, "prompt_to", ""));
  set(&r, SLOT_NEGATIVE, json_string(run, "negative", ""));
  r.rig.controls.blend[1] = (float)json_number(run, "blend", 0);
  r.rig.controls.blend[0] = 1 - r.rig.controls.blend[1];
  r.rig.controls.guidance = (float)json_number(run, "guidance", 1);
  r.rig.controls.seed = (uint64_t)json_number(run, "seed", 0);
  uint8_t *pixels = picture_of(&r, engine_chunks(r.rig.engine, &r.rig.controls));
  struct values expected = golden_values(pictures, "run.%s", json_string(run, "name", ""));
  struct frame frame = r.rig.golden.frame;
  frame.plane[0] = pixels;
  double db = picture_psnr(&frame, &expected), least = 60;
  if (!strcmp(args[2], "cuda")) /* the error that diffusers' networks have in FP16, and 3 dB for chance */
    least = fmin(40, json_number(run, "fp16", NAN) - 3);
  print_message("  %s, %s: %.1f dB\n", name, json_string(run, "name", ""), db);
  if (!(db >= least))
    fail_msg("%s, %s: %.1f dB", name, json_string(run, "name", ""), db);
  free(expected.data);
  free(pixels);
  rig_close(&r.rig);
}

static void test_pictures(void **state) {
  (void)state;
  const cJSON *model, *run;
  cJSON_ArrayForEach(model, cJSON_GetObjectItem(goldens, "pictures")) {
    struct golden pictures = {0};
    struct error err;
    char path[1024];
    snprintf(path, sizeof path, "%s/%s/prompts.safetensors", args[1], model->string);
    must(safetensors_open_file(&pictures.tensors, path, &err), &err);
    cJSON_ArrayForEach(run, model) {
      check_picture(model->string, &pictures, run);
    }
    golden_close(&pictures);
  }
}

static double picture_distance(const struct prompts_rig *r, uint8_t *a, uint8_t *b) {
  struct frame first = r->rig.golden.frame, second = first;
  first.plane[0] = a, second.plane[0] = b;
  double db = frame_psnr(&first, &second);
  free(a);
  free(b);
  return db;
}

#define LONG "an oil painting, a cat at night, an oil painting of a cat"

/* A handle with more chunks than the prompts need repeats them, and gives the same picture. */
static void test_handles_for_more(void **state) {
  (void)state;
  struct prompts_rig r;
  open_rig(&r, "turbo", PROMPT_SYNTAX_WEIGHTS, 0, true);
  r.rig.controls.guidance = 30;
  set(&r, 1, "a cat at night");
  set(&r, 2, LONG);
  /* for the second prompt, which may be used later */
  assert_int_equal(engine_chunks(r.rig.engine, &r.rig.controls), 2);
  assert_true(picture_distance(&r, picture_of(&r, 1), picture_of(&r, 2)) > 60);
  assert_true(picture_distance(&r, picture_of(&r, 1), picture_of(&r, 3)) > 60);
  r.rig.controls.prompt = 2;
  assert_true(picture_distance(&r, picture_of(&r, 2), picture_of(&r, 4)) > 60);
  /* this handle shows only the first chunk */
  assert_true(picture_distance(&r, picture_of(&r, 2), picture_of(&r, 1)) < 50);
  /* this handle repeats chunks unequally, so the picture is only similar */
  assert_true(picture_distance(&r, picture_of(&r, 2), picture_of(&r, 3)) < 99);
  set(&r, 3, LONG " BREAK " LONG);
  assert_int_equal(engine_chunks(r.rig.engine, &r.rig.controls), 4);
  set(&r, 3, LONG " BREAK a cat");
  /* the prompts have 2 and 3 chunks, and 3 is no multiple of 2 */
  assert_int_equal(engine_chunks(r.rig.engine, &r.rig.controls), 2);
  r.rig.controls.blend[1] = r.rig.controls.blend[2] = 0.5f;
  assert_int_equal(engine_chunks(r.rig.engine, &r.rig.controls), 3);
  assert_int_equal(r.warnings.count, 0);
  for (int chunks = -1; chunks < 10; chunks += 6) {
    struct engine_shape shape = default_shape(&r.rig.golden);
    struct prepared *prepared;
    shape.chunks = chunks;
    assert_int_equal(engine_prepare(r.rig.engine, &shape, &prepared, &r.rig.err), -1);
    assert_error(&r.rig.err, STATUS_USAGE, "chunks: 1 to 4");
  }
  rig_close(&r.rig);
}

/* Memory for keys and values of long prompts is allocated when the first one is set. */
static void test_memory(void **state) {
  (void)state;
  struct prompts_rig r;
  struct engine_info before, after;
  open_rig(&r, "turbo", PROMPT_SYNTAX_WEIGHTS, 0, false);
  set(&r, 1, LONG);
  engine_get_info(r.rig.engine, &before);
  free(picture_of(&r, 2));
  engine_get_info(r.rig.engine, &after);
  assert_true(after.prompt_bytes > before.prompt_bytes);
  if (strcmp(args[2], "cuda")) /* on a GPU several small allocations share a block */
    assert_true(after.device_bytes >= before.device_bytes + after.prompt_bytes - before.prompt_bytes);
  rig_close(&r.rig);
}

/* Changing to prompts whose keys and values exist allocates and captures nothing, also with several chunks. */
static void test_chunks_are_kept(void **state) {
  (void)state;
  struct prompts_rig r;
  struct engine_info before, after;
  open_rig(&r, "turbo", PROMPT_SYNTAX_WEIGHTS, 2, false);
  set(&r, 1, LONG);
  free(generate_default(&r.rig));
  engine_get_info(r.rig.engine, &before);
  free(generate_default(&r.rig));
  engine_get_info(r.rig.engine, &after);
  long steady = after.device_launches - before.device_launches;
  set(&r, 2, "a cat");
  r.rig.controls.prompt = 2;
  free(generate_default(&r.rig));
  r.rig.controls.prompt = 1;
  engine_get_info(r.rig.engine, &before);
  free(generate_default(&r.rig));
  engine_get_info(r.rig.engine, &after);
  assert_int_equal(after.device_launches - before.device_launches, steady);
  rig_close(&r.rig);
}

static void test_syntaxes(void **state) {
  (void)state;
  struct prompts_rig weights, plain;
  open_rig(&weights, "sd15", PROMPT_SYNTAX_WEIGHTS, 0, true);
  open_rig(&plain, "sd15", PROMPT_SYNTAX_PLAIN, 0, true);
  weights.rig.controls.guidance = plain.rig.controls.guidance = 30;
  static const struct {
    const char *weights, *plain;
    bool same;
  } cases[] = {
      {"a cat", "a cat", true},      {"", "", true},   {"\\(cat\\)", "(cat)", true},
      {"(cat:3)", "(cat:3)", false}, {"()", "", true}, {"(cat:1)", "cat", true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    set(&weights, 1, cases[i].weights);
    set(&plain, 1, cases[i].plain);
    double db = picture_distance(&weights, picture_of(&weights, 1), picture_of(&plain, 1));
    if (cases[i].same != (db >= 90))
      fail_msg("%s: %.1f dB", cases[i].weights, db);
  }
  assert_int_equal(weights.warnings.count + plain.warnings.count, 0);
  rig_close(&weights.rig);
  rig_close(&plain.rig);
}

/* Names of LoRA files in a prompt do not change the picture, because they are removed before it is encoded. */
static void test_without_networks(void **state) {
  (void)state;
  static const struct {
    const char *with, *without;
  } cases[] = {
      {"a cat <lora:style:0.8>", "a cat"},
      {"<lora:x><LYCO:y:1:0.5> (a cat:1.2)", "(a cat:1.2)"},
      {"<hypernet:h:1>", ""},
  };
  struct prompts_rig r;
  open_rig(&r, "sdxl", PROMPT_SYNTAX_WEIGHTS, 0, true);
  r.rig.controls.guidance = 7;
  for (int slot = 0; slot < 2; slot++)
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      const int place = slot ? 1 : SLOT_NEGATIVE;
      set(&r, place, cases[i].with);
      uint8_t *with = picture_of(&r, 1);
      set(&r, place, cases[i].without);
      assert_same(&r.rig, with, picture_of(&r, 1));
    }
  rig_close(&r.rig);
}

/* One line says what is left out of a prompt, and what is read in this program's own way. */
static void test_warnings(void **state) {
  (void)state;
  static const struct {
    enum engine_prompt_syntax syntax;
    const char *text, *says;
  } cases[] = {
      {PROMPT_SYNTAX_PLAIN, LONG, "--prompt-syntax plain"},
      {PROMPT_SYNTAX_PLAIN, "[a|b] (c:1e9)", NULL},
      {PROMPT_SYNTAX_WEIGHTS, LONG, NULL},
      {PROMPT_SYNTAX_WEIGHTS, LONG " " LONG " " LONG, "at most 4 chunks of 14 are read"},
      {PROMPT_SYNTAX_WEIGHTS, "a [b|c]", "[a|b] is plain text"},
      {PROMPT_SYNTAX_WEIGHTS, "(cat:99)", "-10 to 10"},
      {PROMPT_SYNTAX_WEIGHTS, "a cat <lora:style:0.8", "<lora:style:0.8 has no closing bracket, is read as plain text"},
      {PROMPT_SYNTAX_WEIGHTS, "a cat <lora:style:0.8>",
       "<lora:style:0.8> is left out of it, and loads nothing: --lora "
       "style:0.8 does"},
      {PROMPT_SYNTAX_WEIGHTS, "a <hypernet:h:1> cat", "hypernetworks are not supported"},
      {PROMPT_SYNTAX_WEIGHTS, "cat, embedding:easyneg", "embedding:easyneg is read as plain text"},
      {PROMPT_SYNTAX_PLAIN, "a <s0>", "<s0> is read as plain text"},
      {PROMPT_SYNTAX_WEIGHTS, "a <3 cat", NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct prompts_rig r;
    open_rig(&r, "turbo", cases[i].syntax, 0, false);
    set(&r, 1, cases[i].text);
    assert_int_equal(r.warnings.count, cases[i].says ? 1 : 0);
    if (cases[i].says && !strstr(r.warnings.last, cases[i].says))
      fail_msg("%s: %s", cases[i].text, r.warnings.last);
    free(generate_default(&r.rig));
    rig_close(&r.rig);
  }
}

static int setup(void **state) {
  (void)state;
  goldens = read_beside("../prompts.json.gz");
  return 0;
}

static int teardown(void **state) {
  (void)state;
  cJSON_Delete(goldens);
  return 0;
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_goldens),          cmocka_unit_test(test_notes),    cmocka_unit_test(test_named),
      cmocka_unit_test(test_absurd),           cmocka_unit_test(test_fixes),    cmocka_unit_test(test_pictures),
      cmocka_unit_test(test_handles_for_more), cmocka_unit_test(test_memory),   cmocka_unit_test(test_chunks_are_kept),
      cmocka_unit_test(test_syntaxes),         cmocka_unit_test(test_warnings), cmocka_unit_test(test_without_networks),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
