/* Show files: what they hold comes back, what is wrong in them is told by its name while the rest counts, and a show of
 * a stranger's opens nothing outside its folder. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/options/show_file.h"
#include "tests/rigs/scratch.h"
#include "unet/base/platform.h"

static char told[8192];

static void complain(void *opaque, const char *why) {
  (void)opaque;
  size_t used = strlen(told);
  snprintf(told + used, sizeof told - used, "%s\n", why);
}

static void complain_of_line(void *opaque, int line, const char *why) {
  (void)line;
  complain(opaque, why);
}

static struct show_file *read_show(const char *text, bool trusted) {
  struct show_file *show = NULL;
  struct error err;
  char folder[600];
  told[0] = 0;
  snprintf(folder, sizeof folder, "%s/show", scratch);
  if (show_file_read(&show, text, folder, trusted, complain, NULL, &err))
    fail_msg("%s", err.message);
  return show;
}

static void expect_told(const char *words) {
  if (!strstr(told, words))
    fail_msg("not told: '%s', but: %s", words, told);
}

static void make_file(const char *name) {
  char path[600];
  snprintf(path, sizeof path, "%s/%s", scratch, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
}

static int make_folders(void **state) {
  char folder[600], link[600];
  scratch_make(state);
  snprintf(folder, sizeof folder, "%s/show", scratch);
  assert_int_equal(mkdir(folder, 0700), 0);
  make_file("show/sea.mp4");
  make_file("show/own.safetensors");
  make_file("secret.mp4");
  snprintf(link, sizeof link, "%s/show/link.mp4", scratch);
  return symlink("../secret.mp4", link);
}

static void test_stranger(void **state) {
  (void)state;
  struct show_file *show = read_show(
      "{\"sources\": [\"sea.mp4\", \"../secret.mp4\", \"link.mp4\", \"/etc/passwd\", \"rtsp://me:pass@host/x\", "
      "\"/dev/video0\", 7], \"options\": {\"budget\": 33, \"loop\": true, \"to\": [\"srt://host\"], \"web\": "
      "\"0.0.0.0:1\", "
      "\"mask\": \"sea.mp4\", \"spare-style\": \"../secret.mp4\", \"yes\": true, \"ipc\": \"x\", \"input-options\": "
      "\"a=b\", "
      "\"playlist\": \"sea.mp4\", \"no such\": 1}, \"values\": {\"strength\": 0.25, \"lora[1]\": \"own.safetensors\", "
      "\"style[1]\": \"../secret.mp4\", \"prompt[1]\": \"../secret.mp4\", \"mix\": 7, \"nothing\": 1}, "
      "\"keys\": [\"F1 strength 0.3\", \"F style[1] x.png\", 3], \"midi\": {\"bindings\": []}}",
      false);
  assert_int_equal(show->source_count, 1);
  assert_true(show->left_out);
  assert_non_null(strstr(show->sources[0], "/show/sea.mp4"));
  assert_non_null(strstr(show->options, "budget=\"33\"\nloop=\"yes\"\nmask=\"/"));
  assert_null(strstr(show->options, "host"));
  assert_null(strstr(show->options, "secret"));
  assert_null(strstr(show->options, "playlist"));
  assert_string_equal(show->keys, "F1 strength 0.3\n");
  assert_string_equal(show->midi, "{\"bindings\":[]}");
  assert_true(show->values.strength == 0.25 && parameters_marked(&show->values, PARAMETER_STRENGTH, 0));
  assert_non_null(strstr(parameters_text(&show->values, PARAMETER_LORA, 1), "/show/own.safetensors"));
  assert_null(parameters_text(&show->values, PARAMETER_STYLE, 1));
  assert_string_equal(parameters_text(&show->values, PARAMETER_PROMPT, 1), "../secret.mp4"); /* words, no file */
  expect_told("sources: secret.mp4 does not lie in the show's folder");
  expect_told("sources: link.mp4 does not lie");
  expect_told("sources: names are needed");
  expect_told("options: to is left out: only --trust-show");
  expect_told("options: web is left out");
  expect_told("options: ipc is left out");
  expect_told("options: input-options is left out");
  expect_told("options: a show has no option no such");
  expect_told("options: a show has no option yes");
  expect_told("values: mix");
  expect_told("nothing");
  expect_told("keys: style[1] is left out");
  expect_told("keys: lines as in keys.conf");
  assert_null(strstr(told, "pass@"));
  show_file_free(&show);
}

static void test_trusted(void **state) {
  (void)state;
  struct show_file *show = read_show("{\"sources\": [\"sea.mp4\", \"/dev/video0\", \"rtsp://me:pass@host/x\"], "
                                     "\"options\": {\"to\": [\"srt://host\", \"x.mp4\"]}}",
                                     true);
  assert_string_equal(told, "");
  assert_false(show->left_out);
  assert_int_equal(show->source_count, 3);
  assert_string_equal(show->sources[2], "rtsp://me:pass@host/x");
  assert_string_equal(show->options, "to=\"srt://host\"\nto=\"x.mp4\"\n");
  show_file_free(&show);
}

/* Sources with in and out points are objects; points that are no times are told, and the source counts without them. */
static void test_points(void **state) {
  (void)state;
  struct show_file *show =
      read_show("{\"sources\": [{\"name\": \"sea.mp4\", \"in\": 2, \"out\": 3.5}, \"a.mp4\", {\"name\": "
                "\"b.mp4\", \"in\": -1, \"out\": 1e300}, {\"name\": \"c.mp4\", \"in\": \"x\"}, "
                "{\"in\": 1}]}",
                true);
  assert_int_equal(show->source_count, 4);
  assert_true(show->points[0].in_s == 2 && show->points[0].out_s == 3.5);
  for (int i = 1; i < 4; i++)
    assert_true(show->points[i].in_s == 0 && show->points[i].out_s == 0);
  expect_told("sources: \"in\": seconds from 0 to 1000000 are needed");
  expect_told("sources: \"out\": seconds");
  expect_told("sources: names are needed");
  struct options *options = calloc(1, sizeof *options);
  assert_non_null(options);
  parameters_init(&options->values);
  show_file_apply(show, options);
  assert_true(options->points == show->points && options->file_count == 3);
  free(options);
  show_file_free(&show);
  cJSON *plain = show_file_source("a.mp4", 0, 0), *cut = show_file_source("a.mp4", 1.5, 0);
  char *text = cJSON_PrintUnformatted(cut);
  assert_string_equal(cJSON_GetStringValue(plain), "a.mp4");
  assert_string_equal(text, "{\"name\":\"a.mp4\",\"in\":1.5,\"out\":0}");
  free(text);
  cJSON_Delete(plain);
  cJSON_Delete(cut);
}

static void test_no_show(void **state) {
  (void)state;
  static const char *const wrong[] = {"", "[]", "{", "\"x\""};
  struct show_file *show = NULL;
  struct error err;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    assert_int_equal(show_file_read(&show, wrong[i], scratch, false, complain, NULL, &err), -1);
  assert_null(show);
  show = read_show("{\"options\": [], \"sources\": {}, \"values\": 3, \"keys\": \"x\"}", false);
  expect_told("\"options\": an object is needed");
  expect_told("\"sources\": a list is needed");
  show_file_free(&show);
}

/* What the command line gave is in the file, and comes back by it alone; what another command line gives counts
 * before it. */
static void test_comes_back(void **state) {
  (void)state;
  static char *first[] = {"reverie",   "live",
                          "--budget",  "display",
                          "--to",      "srt://a",
                          "--to",      "srt://b",
                          "--window",  "640x360",
                          "--loop",    "--deinterlace",
                          "yes",       "--quality",
                          "20.5",      "--model",
                          "mini",      "--prompt",
                          "a \"dog\"", "--prompt",
                          "ink",       "--strength",
                          "0.25",      "--midi",
                          "--lfo",     "strength=sine*0.2@4b"},
              *second[] = {"reverie", "live", "other.mp4", "--strength", "0.5", "--quality", "7"};
  struct options before, after;
  struct options_request request;
  struct error err;
  enum { FIRST = sizeof first / sizeof *first, SECOND = sizeof second / sizeof *second };
  assert_int_equal(options_parse(&before, &request, FIRST, first, &err), 0);
  cJSON *root = cJSON_CreateObject(), *sources = cJSON_CreateArray();
  cJSON_AddItemToArray(sources, cJSON_CreateString("sea.mp4"));
  cJSON_AddItemToObject(root, "options", show_file_options(&before));
  cJSON_AddItemToObject(root, "values", show_file_values(&before.values));
  cJSON_AddItemToObject(root, "sources", sources);
  char *text = cJSON_Print(root);
  cJSON_Delete(root);
  struct show_file *show = read_show(text, true);
  free(text);
  char *lines = strdup(show->options);
  const struct options_config config = {lines, complain_of_line, NULL};
  assert_int_equal(options_parse_with(&after, &request, 2, first, &config, &err), 0);
  show_file_apply(show, &after);
  assert_string_equal(told, "");
  assert_true(after.budget_ms == BUDGET_DISPLAY && after.loop && after.deinterlace == FILTER_YES &&
              after.quality == 20.5);
  assert_true(after.to.count == 2 && !strcmp(after.to.text[1], "srt://b") && after.window_width == 640);
  assert_true(after.models.count == 1 && after.midi && !*after.midi && after.values.strength == 0.25);
  assert_true(after.prompt_count == 2 && after.values.lfo_amount[0] == 0.2);
  assert_string_equal(parameters_text(&after.values, PARAMETER_PROMPT, 1), "a \"dog\"");
  assert_non_null(strstr(after.input, "/show/sea.mp4"));
  free(lines);
  lines = strdup(show->options);
  const struct options_config again = {lines, complain_of_line, NULL};
  assert_int_equal(options_parse_with(&after, &request, SECOND, second, &again, &err), 0);
  show_file_apply(show, &after);
  assert_true(after.values.strength == 0.5 && after.quality == 7 && !strcmp(after.input, "other.mp4"));
  free(lines);
  show_file_free(&show);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_stranger), cmocka_unit_test(test_trusted),    cmocka_unit_test(test_points),
      cmocka_unit_test(test_no_show),  cmocka_unit_test(test_comes_back),
  };
  return cmocka_run_group_tests(tests, make_folders, scratch_remove);
}
