/* Tests presets as JSON: which values they set and refuse, and that a frame has the same bits before a preset is saved
 * and after it is loaded. args: the folder of goldens, the device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "app/control/picture_words.h"
#include "app/control/png_text.h"
#include "app/control/presets_file.h"
#include "app/control/settings.h"
#include "app/control/usual_prompts.h"
#include "tests/rigs/rig.h"
#include "unet/base/platform.h"

enum { PATIENCE_MS = 60000 };

static char **arguments;
static char folder[] = "/tmp/reverie-presets-XXXXXX";

static struct parameters values, other, changes, start; /* static, because they are too large for the stack */

static void set_text(struct parameters *to, enum parameter id, int index, const char *text) {
  assert_int_equal(parameters_set_text(to, id, index, text, NULL), 0);
}

static void set_number(struct parameters *to, enum parameter id, int index, double number) {
  assert_int_equal(parameters_set_number(to, id, index, number, NULL), 0);
}

/* Sets numbers without a short decimal form, texts that JSON must escape, and gaps in lists. */
static void fill(struct parameters *to) {
  parameters_init(to);
  set_text(to, PARAMETER_PROMPT, 1, "a \"quoted\" cat\n\\ \xc3\xa9");
  set_text(to, PARAMETER_PROMPT, 3, "");
  set_text(to, PARAMETER_NEGATIVE, 0, "blurry");
  set_number(to, PARAMETER_STRENGTH, 0, 0.1 + 0.2);
  set_number(to, PARAMETER_SEED, 0, PARAMETER_WHOLE_MAX);
  set_number(to, PARAMETER_SEED_POSITION, 0, 1.0 / 3);
  set_number(to, PARAMETER_BLEND, 1, 0.7);
  set_number(to, PARAMETER_BLEND, 3, 1e-7);
  set_number(to, PARAMETER_SAMPLER, 0, 2);
  set_number(to, PARAMETER_STEPS, 0, 4);
  set_number(to, PARAMETER_STREAM_BATCH, 0, 1);
  set_number(to, PARAMETER_LORA_WEIGHT, 2, -0.35);
  set_text(to, PARAMETER_LFO, 2, "mix");
  set_number(to, PARAMETER_LFO_WAVE, 2, 3);
  set_number(to, PARAMETER_LFO_PERIOD, 2, 1.5);
  assert_int_equal(parameters_set_size(to, PARAMETER_SIZE, 0, 320, 192, NULL), 0);
}

static struct presets *read_presets(const char *text) {
  struct presets *presets;
  struct error err = {0};
  if (presets_read(&presets, text, &err))
    fail_msg("%s", err.message);
  return presets;
}

static char *saved(const struct parameters *from) {
  struct presets *presets = read_presets(NULL);
  assert_int_equal(presets_add(presets, "now", from, NULL), 0);
  char *text = presets_print(presets);
  assert_non_null(text);
  presets_free(&presets);
  return text;
}

static void load(struct parameters *into, const char *text, int number) {
  struct presets *presets = read_presets(text);
  assert_int_equal(presets_values(presets, number, &start, &changes, NULL), 0);
  parameters_apply(into, &changes);
  presets_free(&presets);
}

/* Values that the program was started with, which differ from the defaults in all lists. */
static void begin_otherwise(void) {
  parameters_init(&start);
  set_text(&start, PARAMETER_PROMPT, 1, "first");
  set_text(&start, PARAMETER_PROMPT, 2, "second");
  set_text(&start, PARAMETER_PROMPT, 3, "third");
  assert_int_equal(usual_prompts_add(&start, NULL), 0);
  set_text(&start, PARAMETER_LORA, 2, "ink.safetensors");
  set_text(&start, PARAMETER_STYLE, 4, "style.png");
  set_number(&start, PARAMETER_LORA_WEIGHT, 2, 0.8);
  set_number(&start, PARAMETER_LORA_WEIGHT, 8, -0.5);
  set_number(&start, PARAMETER_BLEND, 9, 0.25);
  set_number(&start, PARAMETER_STYLE_WEIGHT, 3, 0.6);
  set_number(&start, PARAMETER_CONTROL, 2, 3);
  set_number(&start, PARAMETER_CONTROL_ON, 2, 0);
  set_number(&start, PARAMETER_CONTROL_WEIGHT, 4, 0.3);
  set_number(&start, PARAMETER_CONTROL_LOW, 2, 17);
}

/* All values that a picture depends on are restored, over any other values, whatever the program was started with. */
static void test_everything_comes_back(void **state) {
  (void)state;
  begin_otherwise();
  fill(&values);
  char *text = saved(&values);
  parameters_init(&other);
  for (int i = 1; i <= SLOT_PRESETS; i++) {
    set_text(&other, PARAMETER_PROMPT, i, "something else");
    set_number(&other, PARAMETER_BLEND, i, 0.9);
  }
  set_text(&other, PARAMETER_LORA, 1, "loras/one.safetensors");
  set_number(&other, PARAMETER_MIX, 0, 0.5);
  set_number(&other, PARAMETER_GUIDANCE, 0, 7.5);
  load(&other, text, 1);
  unsigned all = ~(1u << NEED_START | 1u << NEED_NOTHING);
  assert_true(parameters_equal(&values, &other, all));
  assert_string_equal(parameters_text(&other, PARAMETER_LFO, 2), "mix");
  assert_true(other.lfo_wave[1] == 3 && other.lfo_period[1] == 1.5);
  free(text);
}

static void test_partial(void **state) {
  (void)state;
  static const char text[] = "{\"presets\": [{\"name\": \"a\", \"values\": {}},"
                             " {\"name\": \"b\", \"values\": {\"prompt[2]\": \"ink\", \"strength\": 0.25,"
                             " \"blend[]\": [0, 1], \"size\": \"64x32\", \"stream-batch\": true, \"seed\": \"12\"}}]}";
  struct presets *presets = read_presets(text);
  assert_int_equal(presets_count(presets), 2);
  assert_string_equal(presets_name(presets, 2), "b");
  assert_null(presets_name(presets, 3));
  assert_int_equal(presets_values(presets, 3, &start, &changes, NULL), -1);
  presets_free(&presets);
  fill(&values);
  load(&values, text, 1);
  assert_true(values.strength == 0.1 + 0.2);
  load(&values, text, 2);
  assert_true(values.strength == 0.25 && values.blend[0] == 0 && values.blend[1] == 1 && values.blend[2] == 0);
  assert_string_equal(values.prompt[1].words, "ink");
  assert_string_equal(values.negative.words, "blurry");
  assert_int_equal(values.size.width, 64);
  assert_int_equal(values.seed, 12);
}

/* A preset whose list for a parameter is shorter than the number of the parameter's instances: the others get the
 * values that the program was started with. For each parameter that has several instances. */
static void test_ends_of_lists(void **state) {
  (void)state;
  char text[200], choice[60];
  begin_otherwise();
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    bool word = row->type == TYPE_TEXT;
    if (!row->count)
      continue;
    fill(&values);
    for (int i = row->first; i < row->first + row->count; i++)
      if (word)
        set_text(&values, id, i, "changed since");
      else
        set_number(&values, id, i, row->max > 1 ? 2 : 1);
    if (row->type == TYPE_CHOICE)
      snprintf(choice, sizeof choice, "\"%.*s\"", (int)strcspn(row->choices, "|"), row->choices);
    const char *first = word ? "\"neon\"" : row->type == TYPE_CHOICE ? choice : "1";
    if (row->type == TYPE_SWITCH)
      first = "true";
    snprintf(text, sizeof text, "{\"presets\": [{\"name\": \"x\", \"values\": {\"%s\": [%s]}}]}", row->name, first);
    load(&values, text, 1);
    for (int i = row->first + 1; i < row->first + row->count; i++)
      if (!parameters_same(&values, &start, id, i) || !parameters_marked(&values, id, i))
        fail_msg("%s is not as at the start in %d", row->name, i);
    assert_true(!word || !strcmp(parameters_text(&values, id, 1), "neon"));
  }
  load(&values, "{\"presets\": [{\"name\": \"x\", \"values\": {\"prompt[]\": [null, \"ink\"]}}]}", 1);
  assert_null(parameters_text(&values, PARAMETER_PROMPT, 1));
  assert_string_equal(parameters_text(&values, PARAMETER_PROMPT, 3), "third");
  assert_string_equal(parameters_text(&values, PARAMETER_PROMPT, 4), "neon");
  assert_string_equal(parameters_text(&values, PARAMETER_PROMPT, 9), "cartoon");
}

static void expect_prompts(const char *given, const char *more, const char *const expected[SLOT_PRESETS]) {
  parameters_init(&values);
  if (given)
    set_text(&values, PARAMETER_PROMPT, 1, given);
  if (more)
    set_text(&values, PARAMETER_PROMPT, 2, more);
  assert_int_equal(usual_prompts_add(&values, NULL), 0);
  for (int i = 0; i < SLOT_PRESETS; i++)
    assert_string_equal(parameters_text(&values, PARAMETER_PROMPT, i + 1), expected[i]);
}

/* A prompt that the user asked for is not repeated among the usual prompts, however it was given. */
static void test_usual_prompts(void **state) {
  (void)state;
#define REST "pencil sketch", "ink drawing", "cartoon", "mosaic", "vintage film", "pop art"
  static const char *const oil[] = {"oil", "An OIL-painting of a cat", "oil painting", "Painting"};
  expect_prompts(NULL, NULL, (const char *const[]){"neon", "oil painting", "watercolor", REST});
  expect_prompts("", NULL,
                 (const char *const[]){"", "neon", "oil painting", "watercolor", "pencil sketch", "ink drawing",
                                       "cartoon", "mosaic", "vintage film"});
  for (int i = 0; i < 4; i++)
    expect_prompts(oil[i], NULL, (const char *const[]){oil[i], "neon", "watercolor", REST});
  expect_prompts("watercolors", "foil",
                 (const char *const[]){"watercolors", "foil", "neon", "oil painting", "watercolor", "pencil sketch",
                                       "ink drawing", "cartoon", "mosaic"});
  expect_prompts("neon ink drawing", NULL, /* the prompt contains two of the usual ones, so the list is filled up */
                 (const char *const[]){"neon ink drawing", "oil painting", "watercolor", "pencil sketch", "cartoon",
                                       "mosaic", "vintage film", "pop art", "neon"});
}

static void refused(const char *text, const char *why) {
  struct presets *presets;
  struct error err = {0};
  assert_int_equal(presets_read(&presets, text, &err), -1);
  assert_null(presets);
  if (!strstr(err.message, why))
    fail_msg("'%s' is not in '%s'", why, err.message);
}

#define PRESET(values) "{\"presets\": [{\"name\": \"x\", \"values\": {" values "}}]}"

/* The seconds within which a preset comes, where it says so; what the program saves says nothing about it. */
static void test_source_and_name(void **state) {
  (void)state;
  struct presets *presets = read_presets("{\"presets\": [{\"name\": \"x\", \"source\": \"sea.mp4\", \"values\": {}}, "
                                         "{\"name\": \"y\", \"values\": {}}, {\"name\": \"y\", \"values\": {}}]}");
  assert_string_equal(presets_source(presets, 1), "sea.mp4");
  assert_null(presets_source(presets, 2));
  assert_true(presets_find(presets, "y") == 2 && presets_find(presets, "x") == 1 && presets_find(presets, "z") == 0);
  presets_free(&presets);
  refused("{\"presets\": [{\"name\": \"x\", \"source\": \"\", \"values\": {}}]}", "\"source\": the name of a source");
  refused("{\"presets\": [{\"name\": \"x\", \"source\": 2, \"values\": {}}]}", "\"source\": the name of a source");
}

static void test_fade(void **state) {
  (void)state;
  struct presets *presets = read_presets("{\"presets\": [{\"name\": \"x\", \"fade\": 2.5, \"values\": {}}, "
                                         "{\"name\": \"y\", \"values\": {}}]}");
  assert_true(presets_fade(presets, 1) == 2.5 && presets_fade(presets, 2) < 0);
  presets_free(&presets);
  refused("{\"presets\": [{\"name\": \"x\", \"fade\": -1, \"values\": {}}]}", "\"fade\": seconds from 0 to 600");
  refused("{\"presets\": [{\"name\": \"x\", \"fade\": \"2\", \"values\": {}}]}", "\"fade\": seconds");
}

static void test_refusals(void **state) {
  (void)state;
  refused("", "no JSON");
  refused("{\n\n  \"presets\": [}", "line 3");
  refused("{\"presets\": []} more", "no JSON");
  refused("[]", "\"presets\"");
  refused("{\"presets\": [{}]}", "\"name\"");
  refused("{\"presets\": [{\"name\": \"x\"}]}", "preset 1 (x): \"values\"");
  refused(PRESET("\"strenght\": 1"), "strenght: there is no parameter");
  refused(PRESET("\"strength\": 2"), "preset 1 (x): strength 2: a number from 0 to 1");
  refused(PRESET("\"strength\": []"), "a number");
  refused(PRESET("\"steps\": 2.5"), "a whole number");
  refused(PRESET("\"prompt\": \"a\""), "no parameter");
  refused(PRESET("\"prompt[]\": \"a\""), "a list");
  refused(PRESET("\"prompt[12]\": \"a\""), "there are 1 to 9");
  refused(PRESET("\"prompt[]\": [1]"), "prompt[1]: a text or null");
  refused(PRESET("\"prompt[]\": [\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\"]"), "at most 9");
  refused(PRESET("\"sampler\": \"magic\""), "one of");
  refused(PRESET("\"size\": 512"), "a word in quotes");
}

/* Fields of the file that the program does not know are kept. */
static void test_keeps_what_it_does_not_know(void **state) {
  (void)state;
  struct presets *presets = read_presets("{\"author\": \"me\", \"presets\": [{\"name\": \"a\", \"color\": 3, "
                                         "\"values\": {\"strength\": 0.5}}]}");
  fill(&values);
  assert_int_equal(presets_add(presets, "b", &values, NULL), 0);
  char *text = presets_print(presets);
  presets_free(&presets);
  assert_non_null(strstr(text, "\"author\""));
  assert_non_null(strstr(text, "\"color\""));
  presets = read_presets(text);
  assert_int_equal(presets_count(presets), 2);
  assert_string_equal(presets_name(presets, 2), "b");
  presets_free(&presets);
  free(text);
}

static void write_file(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

static void await_line(struct presets_file *file, const char *words) {
  char line[200] = "";
  enum log_level level = LOG_DEBUG;
  for (int waited = 0; waited < PATIENCE_MS; waited++) {
    if (presets_file_refresh(file, line, sizeof line, &level) && strstr(line, words)) {
      bool bad = strstr(line, "not saved") || strstr(line, "stay as they were");
      assert_int_equal(level, bad ? LOG_WARNING : LOG_INFO);
      return;
    }
    platform_sleep_ns(1000000);
  }
  fail_msg("never said '%s', but '%s'", words, line);
}

/* Saving a preset while a picture is shown also saves a small copy of it beside the file, and a line says where. */
static void test_thumbnail(void **state) {
  (void)state;
  enum { WIDTH = 480, HEIGHT = 240 };
  struct presets_file *file;
  struct error err;
  char path[sizeof folder + 16], line[sizeof folder + 400];
  uint8_t *pixels = malloc(WIDTH * HEIGHT * 4);
  assert_non_null(pixels);
  for (int i = 0; i < WIDTH * HEIGHT; i++) /* white and black columns in turn, which become grey when reduced */
    memset(pixels + 4 * i, i % 2 ? 255 : 0, 4);
  const struct frame picture = {
      .format = PIXEL_RGBA, .width = WIDTH, .height = HEIGHT, .plane = {pixels}, .pitch = {WIDTH * 4}};
  snprintf(path, sizeof path, "%s/seen.json", folder);
  assert_int_equal(presets_file_open(&file, path, NULL, &err), 0);
  fill(&values);
  presets_file_save(file, &values, &picture);
  await_line(file, "saved preset 1");
  char *list = presets_file_list(file), *pictures = presets_file_pictures(file), begin[sizeof folder + 32];
  assert_non_null(strstr(list, "[{\"number\":1,\"name\":\""));
  assert_non_null(strstr(list, "\"picture\":true}]"));
  snprintf(begin, sizeof begin, "[\"%s/seen.json-pictures/", folder);
  assert_memory_equal(pictures, begin, strlen(begin));
  free(list);
  free(pictures);
  presets_file_close(&file);
  snprintf(line, sizeof line,
           "cd %s && ls seen.json-pictures/*.png && grep -q '\"picture\":.\"seen.json-pictures/..:..:.. "
           "....-..-...png\"' seen.json && head -c 24 seen.json-pictures/*.png | tail -c 8 | od -An -tu1 | grep -q "
           "'0 *0 *0 *160 *0 *0 *0 *80'",
           folder);
  assert_int_equal(system(line), 0);
  free(pixels);
}

/* A file of presets may come from a stranger: the paths of pictures in it are used only if they are in the file's
 * folder or below. */
static void test_pictures_are_beside_the_file(void **state) {
  (void)state;
#define NAMED(picture) "{\"name\": \"x\", \"picture\": " picture ", \"values\": {}}"
  struct presets *presets = read_presets(
      "{\"presets\": [" NAMED("\"/etc/a.png\"") "," NAMED("\"../a.png\"") "," NAMED("\"p/../../a.png\"") "," NAMED(
          "\"p/..\"") "," NAMED("7") "," NAMED("\"passwd\"") "," NAMED("\"p/b.png\"") ", {\"name\": \"y\", "
                                                                                      "\"fade\": 2, \"values\": {}}]}");
  char *list = presets_list(presets), *pictures = presets_pictures(presets, "/show/set.json");
  assert_string_equal(pictures, "[\"\",\"\",\"\",\"\",\"\",\"\",\"/show/p/b.png\",\"\"]");
  assert_non_null(strstr(list, "{\"number\":7,\"name\":\"x\",\"picture\":true}"));
  assert_non_null(strstr(list, "{\"number\":8,\"name\":\"y\",\"fade\":2,\"picture\":false}"));
  free(list);
  free(pictures);
  presets_free(&presets);
}

/* Made by the first preset that is saved, read again when somebody else changes it; one that is damaged changes
 * nothing, and is not written over. */
static void test_file(void **state) {
  (void)state;
  struct presets_file *file;
  struct error err;
  char path[sizeof folder + 16], name[81];
  snprintf(path, sizeof path, "%s/set.json", folder);
  assert_int_equal(presets_file_open(&file, path, NULL, &err), 0);
  assert_int_equal(presets_file_count(file), 0);
  assert_int_equal(presets_file_values(file, 1, &start, &changes, name, &err), -1);
  fill(&values);
  presets_file_save(file, &values, NULL);
  await_line(file, "saved preset 1");
  write_file(path, PRESET("\"strength\": 0.125"));
  await_line(file, "1 presets, read again");
  assert_int_equal(presets_file_values(file, 1, &start, &changes, name, &err), 0);
  assert_string_equal(name, "x");
  assert_true(changes.strength == 0.125);
  write_file(path, PRESET("\"strength\": 3"));
  await_line(file, "the presets stay as they were");
  assert_int_equal(presets_file_values(file, 1, &start, &changes, name, &err), 0);
  presets_file_save(file, &values, NULL);
  await_line(file, "not saved");
  presets_file_close(&file);
  assert_int_equal(presets_file_open(&file, path, NULL, &err), -1);
  assert_non_null(strstr(err.message, "strength 3"));
  write_file(path, PRESET("\"strength\": 0.5"));
  assert_int_equal(presets_file_open(&file, path, NULL, &err), 0);
  presets_file_save(file, &values, NULL);
  presets_file_close(&file); /* waits until the file is written */
  assert_int_equal(presets_file_open(&file, path, NULL, &err), 0);
  assert_int_equal(presets_file_count(file), 2);
  presets_file_close(&file);
  remove(path);
}

/* Reads a preset from a picture that live saved. */
static void test_picture(void **state) {
  (void)state;
  static const uint8_t pixels[2 * 8] = {1, 2, 3, 255, 4, 5, 6, 255, 7, 8, 9, 255};
  const struct frame picture = {.format = PIXEL_RGBA, .width = 2, .height = 2, .plane = {pixels}, .pitch = {8}};
  struct presets_file *file;
  struct error err;
  char path[sizeof folder + 16], name[81], *words, *text;
  snprintf(path, sizeof path, "%s/shot.png", folder);
  fill(&values);
  set_text(&values, PARAMETER_LORA, 1, "loras/ink.safetensors");
  const struct png_words texts[] = {{WORDS_PNG_KEY, words = picture_words(&values, "sd-turbo", 320, 192)},
                                    {PRESETS_PNG_KEY, text = presets_print_one("snapshot", &values)}};
  FILE *out = fopen(path, "wb");
  assert_int_equal(png_text_write(out, &picture, texts, 2, &err), 0);
  fclose(out);
  assert_string_equal(words,
                      "a \"quoted\" cat\n\\ \xc3\xa9 <lora:ink:1>\nNegative prompt: blurry\nSteps: 4, Sampler: DDIM, "
                      "CFG scale: 1, Seed: 9007199254740991, Size: 320x192, Model: sd-turbo, Denoising strength: "
                      "0.3, stream-batch: on, seed-position: 0.3333333333333333, Version: reverie " REVERIE_VERSION);
  free(words);
  free(text);
  assert_int_equal(png_text_read(path, WORDS_PNG_KEY, &words, &err), 0);
  assert_int_equal(strncmp(words, "a \"quoted\" cat", 14), 0);
  free(words);
  assert_int_equal(presets_file_open(&file, path, NULL, &err), 0);
  assert_int_equal(presets_file_values(file, 1, &start, &changes, name, &err), 0);
  parameters_init(&other);
  parameters_apply(&other, &changes);
  assert_true(parameters_equal(&values, &other, ~(1u << NEED_START | 1u << NEED_NOTHING)));
  presets_file_save(file, &values, NULL);
  await_line(file, "no preset is saved in a picture");
  presets_file_close(&file);
  out = fopen(path, "wb");
  assert_int_equal(png_text_write(out, &picture, texts, 0, &err), 0);
  fclose(out);
  assert_int_equal(presets_file_open(&file, path, NULL, &err), -1);
  assert_non_null(strstr(err.message, "without a preset"));
  out = fopen(path, "r+b"); /* the picture is cut off */
  assert_int_equal(ftruncate(fileno(out), 20), 0);
  fclose(out);
  assert_int_equal(presets_file_open(&file, path, NULL, &err), -1);
  remove(path);
  out = fopen("/dev/full", "w");
  if (!out)
    return;
  setvbuf(out, NULL, _IONBF, 0);
  assert_int_equal(png_text_write(out, &picture, texts, 0, &err), -1);
  assert_non_null(strstr(err.message, "No space left"));
  fclose(out);
}

static uint8_t *picture_of(struct rig *rig, const struct parameters *of) {
  values_controls(of, &rig->controls);
  must(engine_set_prompt(rig->engine, 1, parameters_text(of, PARAMETER_PROMPT, 1), &rig->err), &rig->err);
  return generate_default(rig);
}

static void test_a_frame_comes_back(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, arguments, "sd15", false);
  parameters_init(&values);
  set_text(&values, PARAMETER_PROMPT, 1, "a cat");
  set_number(&values, PARAMETER_STRENGTH, 0, 2.0 / 3);
  set_number(&values, PARAMETER_SEED, 0, 12345678901);
  set_number(&values, PARAMETER_SEED_POSITION, 0, 0.1 + 0.2);
  set_number(&values, PARAMETER_MIX, 0, 0.9);
  uint8_t *before = picture_of(&rig, &values);
  char *text = saved(&values);
  parameters_init(&other);
  set_text(&other, PARAMETER_PROMPT, 1, "a dog");
  uint8_t *between = picture_of(&rig, &other);
  load(&other, text, 1);
  uint8_t *after = picture_of(&rig, &other);
  assert_memory_not_equal(before, between, picture_bytes(&rig));
  free(between);
  assert_same(&rig, before, after);
  free(text);
  rig_close(&rig);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  arguments = argv;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_everything_comes_back),
      cmocka_unit_test(test_partial),
      cmocka_unit_test(test_ends_of_lists),
      cmocka_unit_test(test_usual_prompts),
      cmocka_unit_test(test_source_and_name),
      cmocka_unit_test(test_fade),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_keeps_what_it_does_not_know),
      cmocka_unit_test(test_thumbnail),
      cmocka_unit_test(test_pictures_are_beside_the_file),
      cmocka_unit_test(test_file),
      cmocka_unit_test(test_picture),
      cmocka_unit_test(test_a_frame_comes_back),
  };
  if (!mkdtemp(folder))
    return 1;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  rmdir(folder);
  return failed;
}
