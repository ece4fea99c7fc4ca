/* Tests facts about a model that no tensor holds: what it predicts, the words of learned tokens, which layer of the
 * text encoder is used. Pictures are compared with those of diffusers: tests/goldens/facts.py writes data/facts.json
 * and data/goldens/NAME/facts.safetensors.
 *
 *   test_facts GOLDENS DEVICE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/rig.h"
#include "tests/rigs/scratch.h"
#include "unet/checkpoint/checkpoint.h"

static char **args; /* arguments of the test program */

static int choice(const char *word, const char *const *words) {
  int found = 0;
  for (int i = 1; words[i]; i++)
    found = !strcmp(word, words[i]) ? i : found;
  return found;
}

/* --- a model with learned tokens --- */

enum { OLD_ROWS = 531, WIDTH = 24 };

static void copy_file(const char *from, const char *folder, const char *name) {
  size_t length;
  char *path = fixture_path(from, name), *bytes = fixture_read(path, &length);
  assert_non_null(bytes);
  fixture_write(folder, name, bytes, length);
  free(bytes);
  free(path);
}

/* Adds rows to a tensor in a file's header, and moves the offsets of the tensors behind it by as many bytes. */
static void add_rows(cJSON *header, const char *name, int rows, size_t bytes) {
  cJSON *tensor = cJSON_GetObjectItemCaseSensitive(header, name), *other;
  assert_non_null(tensor);
  cJSON_SetIntValue(cJSON_GetArrayItem(cJSON_GetObjectItem(tensor, "shape"), 0), rows);
  double end = cJSON_GetArrayItem(cJSON_GetObjectItem(tensor, "data_offsets"), 1)->valuedouble;
  cJSON_ArrayForEach(other, header) {
    cJSON *offsets = cJSON_GetObjectItem(other, "data_offsets");
    for (int i = 0; offsets && i < 2; i++) {
      cJSON *offset = cJSON_GetArrayItem(offsets, i);
      bool moves = other == tensor ? i == 1 : offset->valuedouble >= end;
      cJSON_SetNumberHelper(offset, offset->valuedouble + (moves ? (double)bytes : 0));
    }
  }
}

/* Writes the golden's text encoder with the rows of facts.safetensors added to its own. */
static void write_encoder(const struct golden *golden, const struct golden *facts) {
  static const char table[] = "text_model.embeddings.token_embedding.weight";
  const struct safetensor *rows = safetensors_find(facts->tensors, "rows");
  char *path = fixture_path(golden->folder, "text_encoder/model.safetensors");
  size_t length;
  char *file = fixture_read(path, &length), *added = malloc(rows->bytes);
  uint64_t size;
  struct error err;
  assert_true(file && added && rows->shape[1] == WIDTH && rows->shape[0] == 2);
  must(weight_file_read(rows->file, rows->offset, added, rows->bytes, &err), &err);
  memcpy(&size, file, sizeof size);
  char *data = file + 8 + size, held = *data;
  *data = 0;
  cJSON *header = cJSON_Parse(file + 8);
  *data = held;
  assert_non_null(header);
  const char *name = cJSON_HasObjectItem(header, table) ? table : table + strlen("text_model.");
  add_rows(header, name, OLD_ROWS + 2, rows->bytes);
  size_t end = (size_t)cJSON_GetArrayItem(cJSON_GetObjectItem(cJSON_GetObjectItem(header, name), "data_offsets"), 1)
                   ->valuedouble -
               rows->bytes;
  size_t whole = length - 8 - size, total = whole + rows->bytes;
  char *bytes = malloc(total), *text = cJSON_PrintUnformatted(header);
  memcpy(bytes, data, end);
  memcpy(bytes + end, added, rows->bytes);
  memcpy(bytes + end + rows->bytes, data + end, whole - end);
  fixture_tensors(scratch, "text_encoder/model.safetensors", text, -1, bytes, total);
  cJSON_free(text);
  cJSON_Delete(header);
  free(bytes);
  free(added);
  free(file);
  free(path);
}

/* Writes its config with this number of rows. */
static void write_config(const struct golden *golden, int rows) {
  char *path = fixture_path(golden->folder, "text_encoder/config.json"), *text = fixture_read(path, NULL);
  cJSON *config = cJSON_Parse(text);
  cJSON_SetIntValue(cJSON_GetObjectItem(config, "vocab_size"), rows);
  char *changed = cJSON_PrintUnformatted(config);
  fixture_text(scratch, "text_encoder/config.json", changed);
  cJSON_free(changed);
  cJSON_Delete(config);
  free(text);
  free(path);
}

/* Makes the golden's folder with two more tokens, which the named file of the tokenizer lists. */
static void write_model(const struct golden *golden, const struct golden *facts, const char *file, const char *json) {
  static const char *const same[] = {"unet", "vae", "scheduler", "model_index.json"};
  static const char *const copied[] = {"tokenizer/vocab.json", "tokenizer/merges.txt",
                                       "tokenizer/tokenizer_config.json", "tokenizer/special_tokens_map.json"};
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    char *from = fixture_path(golden->folder, same[i]), *to = fixture_path(scratch, same[i]);
    remove(to);
    assert_int_equal(symlink(from, to), 0);
    free(from);
    free(to);
  }
  for (size_t i = 0; i < sizeof copied / sizeof *copied; i++)
    copy_file(golden->folder, scratch, copied[i]);
  write_encoder(golden, facts);
  write_config(golden, OLD_ROWS + 2);
  static const char *const lists[] = {"tokenizer/added_tokens.json", "tokenizer/tokenizer.json"};
  for (int i = 0; i < 2; i++) {
    char *path = fixture_path(scratch, lists[i]);
    remove(path);
    free(path);
  }
  if (file)
    fixture_text(scratch, file, json);
}

static const char added_tokens[] = "{\"<cat-toy>\": 531, \"sksart\": 532}";
static const char whole_tokenizer[] =
    "{\"version\": \"1.0\", \"added_tokens\": ["
    "{\"id\": 529, \"content\": \"<|startoftext|>\", \"normalized\": false, \"special\": true},"
    "{\"id\": 531, \"content\": \"<cat-toy>\", \"normalized\": true, \"special\": false},"
    "{\"id\": 532, \"content\": \"sksart\", \"normalized\": true, \"special\": false}], \"model\": {}}";
static const char decoder[] =
    "{\"tokenizer_class\": \"CLIPTokenizer\", \"model_max_length\": 24, \"added_tokens_decoder\": {"
    "\"529\": {\"content\": \"<|startoftext|>\"}, \"530\": {\"content\": \"<|endoftext|>\"},"
    "\"531\": {\"content\": \"<cat-toy>\"}, \"532\": {\"content\": \"sksart\"}}, \"bos_token\": \"<|startoftext|>\","
    "\"eos_token\": \"<|endoftext|>\", \"pad_token\": \"<|endoftext|>\", \"unk_token\": \"<|endoftext|>\"}";

/* --- pictures --- */

struct facts {
  struct rig rig;
  struct golden pictures;
  struct warnings warnings;
  struct log log;
};

static void facts_open(struct facts *f, const char *name) {
  char path[1024];
  *f = (struct facts){.rig.controls = CONTROLS_DEFAULTS, .log = {remember_warning, &f->warnings}};
  if (golden_open(&f->rig.golden, args[1], name) < 0)
    fail_msg("%s", f->rig.golden.missing);
  snprintf(path, sizeof path, "%s/%s/facts.safetensors", args[1], name);
  must(safetensors_open_file(&f->pictures.tensors, path, &f->rig.err), &f->rig.err);
}

static void facts_close(struct facts *f) {
  golden_close(&f->pictures);
  golden_close(&f->rig.golden);
}

static double distance(struct facts *f, const cJSON *run, uint8_t *pixels) {
  struct values expected = golden_values(&f->pictures, "run.%s", json_string(run, "name", ""));
  struct frame frame = f->rig.golden.frame;
  frame.plane[0] = pixels;
  double db = picture_psnr(&frame, &expected);
  free(expected.data);
  free(pixels);
  return db;
}

/* Returns how near the picture of a run is to diffusers', as PSNR in dB. */
static double run_of(struct facts *f, struct engine_params params, const cJSON *run) {
  static const char *const samplers[] = {"auto", "euler", "ddim", NULL}, *const spacings[] = {"auto", "trailing", NULL};
  struct engine_shape shape = default_shape(&f->rig.golden);
  params.device.log = &f->log;
  shape.sampler = (enum sampler)choice(json_string(run, "sampler", ""), samplers);
  shape.spacing = (enum spacing)choice(json_string(run, "spacing", ""), spacings);
  shape.text_to_image = true;
  shape.guidance = GUIDANCE_FULL;
  shape.steps = (int)json_number(run, "steps", 1);
  must(rig_engine(&f->rig, &params, &shape), &f->rig.err);
  must(engine_set_prompt(f->rig.engine, 1, json_string(run, "prompt", ""), &f->rig.err), &f->rig.err);
  must(engine_set_prompt(f->rig.engine, SLOT_NEGATIVE, json_string(run, "negative", ""), &f->rig.err), &f->rig.err);
  f->rig.controls.prompt = 1;
  f->rig.controls.guidance = (float)json_number(run, "guidance", 1);
  f->rig.controls.seed = (uint64_t)json_number(run, "seed", 0);
  uint8_t *pixels = generate_default(&f->rig);
  engine_close(&f->rig.engine);
  double db = distance(f, run, pixels);
  print_message("  %s: %.1f dB\n", json_string(run, "name", ""), db);
  return db;
}

static cJSON *read_runs(void) {
  char path[1024];
  snprintf(path, sizeof path, "%s/../facts.json", args[1]);
  char *text = fixture_read(path, NULL);
  cJSON *runs = text ? cJSON_Parse(text) : NULL;
  assert_non_null(runs);
  free(text);
  return runs;
}

static struct engine_params params_of(const struct facts *f, const cJSON *run) {
  struct engine_params params = default_params(&f->rig.golden, args[2]);
  params.prediction = *json_string(run, "prediction", "") == 'v' ? ENGINE_PREDICTION_V : ENGINE_PREDICTION_AUTO;
  params.zero_snr = cJSON_IsTrue(cJSON_GetObjectItem(run, "zero_snr")) ? ENGINE_ON : ENGINE_AUTO;
  params.clip_skip = (int)json_number(run, "clip_skip", 0);
  return params;
}

/* With options that give the missing facts pictures equal diffusers'; without them they differ. */
static void test_pictures(void **state) {
  (void)state;
  cJSON *all = read_runs(), *model, *run;
  cJSON_ArrayForEach(model, all) {
    struct facts f;
    facts_open(&f, model->string);
    cJSON_ArrayForEach(run, model) {
      if (cJSON_HasObjectItem(run, "tokens"))
        continue;
      struct engine_params params = params_of(&f, run), usual = default_params(&f.rig.golden, args[2]);
      double db = run_of(&f, params, run), other = run_of(&f, usual, run);
      if (!(db >= 65) || !(other < 55))
        fail_msg("%s: %.1f dB, without its options %.1f", json_string(run, "name", ""), db, other);
    }
    facts_close(&f);
  }
  cJSON_Delete(all);
}

/* Each word of a learned token is one token, whichever of the tokenizer's files lists it. */
static void test_tokens(void **state) {
  (void)state;
  static const char *const files[][2] = {{"tokenizer/added_tokens.json", added_tokens},
                                         {"tokenizer/tokenizer.json", whole_tokenizer},
                                         {"tokenizer/tokenizer_config.json", decoder}};
  cJSON *all = read_runs();
  const cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(all, "sd15"), 2);
  struct facts f;
  facts_open(&f, "sd15");
  struct engine_params params = default_params(&f.rig.golden, args[2]);
  params.model = scratch;
  for (int fix = 0; fix < 3; fix++)
    for (int i = 0; i < 3; i++) {
      write_model(&f.rig.golden, &f.pictures, files[i][0], files[i][1]);
      params.text_fix = (enum engine_text_fix)fix;
      double db = run_of(&f, params, run);
      if (!(db >= 65))
        fail_msg("%s: %.1f dB", files[i][0], db);
      assert_int_equal(f.warnings.count, 0);
    }
  write_model(&f.rig.golden, &f.pictures, NULL, NULL); /* no file names the added rows */
  assert_true(run_of(&f, params, run) < 60);
  assert_int_equal(f.warnings.count, 2); /* one warning about the rows, and one about a word in brackets */
  facts_close(&f);
  cJSON_Delete(all);
}

static void open_fails(struct facts *f, const struct engine_params *params, const char *says) {
  assert_int_equal(rig_engine(&f->rig, params, &(struct engine_shape){0}), -1);
  assert_error(&f->rig.err, STATUS_MODEL, says);
}

static void test_refused(void **state) {
  (void)state;
  struct facts f;
  facts_open(&f, "sd15");
  struct engine_params params = default_params(&f.rig.golden, args[2]), skip = params;
  params.model = scratch;
  write_model(&f.rig.golden, &f.pictures, "tokenizer/added_tokens.json", "{\"<cat-toy>\": 531, \"beyond\": 533}");
  open_fails(&f, &params, "whose added token beyond has the id 533");
  write_model(&f.rig.golden, &f.pictures, "tokenizer/added_tokens.json", "{\"beyond\": -1}");
  open_fails(&f, &params, "added_tokens.json: token beyond has no id");
  write_model(&f.rig.golden, &f.pictures, "tokenizer/tokenizer.json", "{\"added_tokens\": [{\"content\": \"x\"}]}");
  open_fails(&f, &params, "tokenizer.json: added_tokens");
  skip.clip_skip = 4;
  open_fails(&f, &skip, "has 2 layers, and 3 takes what goes into the first");
  facts_close(&f);
}

int main(int argc, char **argv) {
  args = argv;
  if (argc != 3)
    return 2;
  if (!golden_has_device(argv[1], "sd15", argv[2]))
    return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pictures),
      cmocka_unit_test(test_tokens),
      cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
