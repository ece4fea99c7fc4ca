/* Tests models given by name: what is found in the folder of models and in the cache of Hugging Face's programs, and
 * the messages if nothing is found, or several. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/models/catalog.h"
#include "app/models/names.h"
#include "app/models/places.h"
#include "tests/rigs/scratch.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define OTHER_COMMIT "fedcba9876543210fedcba9876543210fedcba98"
#define CACHE "hf/hub/models--"

static void set(const char *variable, const char *folder) {
  char *path = fixture_path(scratch, folder);
  setenv(variable, path, 1);
  free(path);
}

/* Makes a file as `hf download` does: its name is a link to the data. */
static void cache_file(const char *repository, const char *commit, const char *name) {
  char path[512], blob[512];
  snprintf(blob, sizeof blob, CACHE "%s/blobs/%s-%zu", repository, commit, strlen(name));
  fixture_text(scratch, blob, "{}");
  snprintf(path, sizeof path, CACHE "%s/snapshots/%s/%s", repository, commit, name);
  fixture_text(scratch, path, "");
  char *link = fixture_path(scratch, path), *target = fixture_path(scratch, blob);
  assert_int_equal(unlink(link), 0);
  assert_int_equal(symlink(target, link), 0);
  free(link);
  free(target);
}

static int make_models(void **state) {
  static const char *const own[] = {"acme/sd15/model_index.json",
                                    "acme/sd15/unet/diffusion_pytorch_model.safetensors",
                                    "acme/sd15/sd15_pruned.safetensors",
                                    "acme/taesd/config.json",
                                    "acme/taesd/diffusion_pytorch_model.safetensors",
                                    "acme/pair/taesd_encoder.safetensors",
                                    "acme/pair/taesd_decoder.safetensors",
                                    "acme/one/style.safetensors",
                                    "acme/two/first.safetensors",
                                    "acme/two/second.safetensors",
                                    "acme/both/model_index.json",
                                    "ink.safetensors",
                                    "notes.txt",
                                    ".hidden/model_index.json",
                                    "acme/pickle/model.ckpt",
                                    "half/done/" CATALOG_UNFINISHED,
                                    "half/done/unet.safetensors",
                                    "other/one/config.json"};
  scratch_make(state);
  set("XDG_DATA_HOME", "data");
  set("HF_HOME", "hf");
  unsetenv("HF_HUB_CACHE");
  unsetenv("HUGGINGFACE_HUB_CACHE");
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    char path[256];
    snprintf(path, sizeof path, "data/reverie/models/%s", own[i]);
    fixture_text(scratch, path, "");
  }
  cache_file("stabilityai--sd-turbo", COMMIT, "model_index.json");
  cache_file("stabilityai--sd-turbo", COMMIT, "sd_turbo.safetensors");
  fixture_text(scratch, CACHE "stabilityai--sd-turbo/refs/main", COMMIT);
  fixture_text(scratch, CACHE "stabilityai--sd-turbo/refs/fp16", OTHER_COMMIT "\n");
  cache_file("stabilityai--sd-turbo", OTHER_COMMIT, "model_index.json");
  cache_file("acme--both", COMMIT, "model_index.json");
  fixture_text(scratch, CACHE "acme--both/refs/main", COMMIT);
  cache_file("acme--both", OTHER_COMMIT, "model_index.json");
  fixture_text(scratch, CACHE "acme--both/refs/refs/pr/1", OTHER_COMMIT);
  fixture_text(scratch, CACHE "acme--both/refs/deep/1/2/3/4/5/6", OTHER_COMMIT);
  cache_file("by--lone-snapshot", COMMIT, "config.json");
  cache_file("by--two-snapshots", COMMIT, "config.json");
  cache_file("by--two-snapshots", OTHER_COMMIT, "config.json");
  cache_file("gpt2", COMMIT, "config.json");
  fixture_text(scratch, CACHE "gpt2/refs/main", COMMIT);
  fixture_text(scratch, CACHE "by--lost/refs/main", "../../../../../data");
  fixture_text(scratch, CACHE "by--gone/refs/main", COMMIT);
  fixture_text(scratch, "hf/hub/datasets--by--pictures/refs/main", COMMIT);
  return chdir(scratch);
}

static void finds(const char *name, const char *wanted) {
  char path[PATHS_MAX];
  struct error err = {0};
  char *whole = fixture_path(scratch, wanted);
  if (names_find(path, name, &err))
    fail_msg("%s: %s", name, err.message);
  assert_string_equal(path, *wanted == '=' ? wanted + 1 : whole);
  free(whole);
}

static void refuses(const char *name, const char *wanted) {
  char path[PATHS_MAX];
  struct error err = {0};
  if (!names_find(path, name, &err))
    fail_msg("%s is %s", name, path);
  assert_int_equal(err.status, STATUS_MODEL);
  assert_null(strchr(err.message, '\n'));
  if (!strstr(err.message, wanted))
    fail_msg("%s: '%s' is not in '%s'", name, wanted, err.message);
}

static void test_own_folder(void **state) {
  (void)state;
  finds("acme/sd15", "data/reverie/models/acme/sd15");
  finds("sd15", "data/reverie/models/acme/sd15");
  finds("sd15_pruned", "data/reverie/models/acme/sd15/sd15_pruned.safetensors");
  finds("sd15_pruned.safetensors", "data/reverie/models/acme/sd15/sd15_pruned.safetensors");
  finds("acme/sd15/sd15_pruned.safetensors", "data/reverie/models/acme/sd15/sd15_pruned.safetensors");
  finds("ink", "data/reverie/models/ink.safetensors");
  finds("taesd", "data/reverie/models/acme/taesd");
  finds("pair", "data/reverie/models/acme/pair");
  finds("acme/one", "data/reverie/models/acme/one/style.safetensors");
}

static void test_cache(void **state) {
  (void)state;
  finds("stabilityai/sd-turbo", CACHE "stabilityai--sd-turbo/snapshots/" COMMIT);
  finds("sd-turbo", CACHE "stabilityai--sd-turbo/snapshots/" COMMIT);
  finds("sd-turbo@fp16", CACHE "stabilityai--sd-turbo/snapshots/" OTHER_COMMIT);
  finds("sd_turbo", CACHE "stabilityai--sd-turbo/snapshots/" COMMIT "/sd_turbo.safetensors");
  finds("lone-snapshot", CACHE "by--lone-snapshot/snapshots/" COMMIT);
  finds("gpt2", CACHE "gpt2/snapshots/" COMMIT);
  /* a revision with a slash, named as fetch names its folder, and as the hub writes it */
  finds("acme/both@refs-pr-1", CACHE "acme--both/snapshots/" OTHER_COMMIT);
  finds("acme/both@refs/pr/1", CACHE "acme--both/snapshots/" OTHER_COMMIT);
  refuses("", "an empty text names no file or folder");
  refuses("acme/both@refs/pr/2", "no model of this name");
  refuses("acme/both@deep-1-2-3-4-5-6", "no model of this name");
  refuses("two-snapshots", "no model of this name");
  refuses("by/lost", "no model of this name");
  refuses("by/gone", "no model of this name");
  refuses("by/pictures", "no model of this name");
}

/* A model is listed once, even if a link leads back to a parent folder. */
static void test_circles(void **state) {
  (void)state;
  char *own = fixture_path(scratch, "data/reverie/models/acme/circle");
  char *cached = fixture_path(scratch, CACHE "stabilityai--sd-turbo/snapshots/" COMMIT "/circle");
  assert_int_equal(symlink("..", own), 0);
  assert_int_equal(symlink(".", cached), 0);
  finds("sd15", "data/reverie/models/acme/sd15");
  finds("sd-turbo", CACHE "stabilityai--sd-turbo/snapshots/" COMMIT);
  refuses("acme/circle/acme/sd15", "no model of this name");
  unlink(own);
  unlink(cached);
  free(own);
  free(cached);
}

/* A model in the user's own folder is preferred to one of the same name in a cache. */
static void test_own_goes_first(void **state) {
  (void)state;
  finds("acme/both", "data/reverie/models/acme/both");
  finds("both", "data/reverie/models/acme/both");
}

static void test_paths_go_first(void **state) {
  (void)state;
  fixture_text(scratch, "sd15/model_index.json", "");
  finds("sd15", "=sd15");
  finds("acme/sd15", "data/reverie/models/acme/sd15");
  finds("./sd-turbo", "=./sd-turbo");
  finds("../taesd", "=../taesd");
  finds("/nowhere/taesd", "=/nowhere/taesd");
  char *folder = fixture_path(scratch, "sd15/model_index.json");
  assert_int_equal(unlink(folder), 0);
  *strrchr(folder, '/') = 0;
  assert_int_equal(rmdir(folder), 0);
  free(folder);
}

static void test_refusals(void **state) {
  (void)state;
  refuses("one", "several models are called so, give one of them by its whole name: acme/one/style, other/one");
  finds("one/style", "data/reverie/models/acme/one/style.safetensors");
  refuses("acme/two", "several models are called so, give one of them by its whole name: acme/two/first, "
                      "acme/two/second");
  refuses("sd-trubo", "near it: stabilityai/sd-turbo; ");
  refuses("SD-Turbo", "near it: stabilityai/sd-turbo");
  refuses("someone/sd-turbo", "near it: stabilityai/sd-turbo");
  refuses("nothing-like-it", "data/reverie/models or ");
  refuses("nothing-like-it", "`reverie fetch ORG/NAME` gets one");
  refuses("pickle", "no model of this name");
  refuses("half/done", "`reverie fetch half/done` goes on");
  refuses("unet", "no model of this name");
  refuses("ed15", "near it: acme/sd15");
  refuses("sd15.safetensors", "no model of this name"); /* this is a file, and a folder of that name is needed */
  refuses("acme", "no model of this name");
  refuses("\x1b[31m", "?[31m: no file");
  char name[5000];
  memset(name, 'a', sizeof name - 1);
  name[sizeof name - 1] = 0;
  refuses(name, "long");
  name[4000] = 0;
  refuses(name, "no model of this name");
}

/* Completion offers only names with which a model is found. */
static void test_names_are_told(void **state) {
  (void)state;
  char *text = NULL;
  size_t size;
  int lines = 0;
  struct error err;
  FILE *out = open_memstream(&text, &size);
  assert_int_equal(names_print(out, &err), 0);
  fclose(out);
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++) {
    char path[PATHS_MAX];
    assert_int_equal(names_find(path, line, &err), 0);
    assert_int_equal(access(path, R_OK), 0);
  }
  assert_int_equal(lines, 16);
  free(text);
}

static void expect_place(const char *(*place)(char *path), const char *wanted) {
  char path[PATHS_MAX];
  const char *found = place(path);
  assert_int_equal(!found, !wanted);
  if (wanted)
    assert_string_equal(found, wanted);
}

static void test_places(void **state) {
  (void)state;
  static const char *const variables[] = {"XDG_DATA_HOME", "XDG_CACHE_HOME",        "HF_HOME",
                                          "HF_HUB_CACHE",  "HUGGINGFACE_HUB_CACHE", "HF_TOKEN_PATH"};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    unsetenv(variables[i]);
  setenv("HOME", "/home/me", 1);
  expect_place(places_models, "/home/me/.local/share/reverie/models");
  expect_place(places_hub_cache, "/home/me/.cache/huggingface/hub");
  expect_place(places_token, "/home/me/.cache/huggingface/token");
  setenv("XDG_DATA_HOME", "here", 1); /* a relative path, which must be ignored */
  setenv("XDG_CACHE_HOME", "/cache", 1);
  expect_place(places_models, "/home/me/.local/share/reverie/models");
  expect_place(places_hub_cache, "/cache/huggingface/hub");
  setenv("HF_HOME", "~/hf", 1);
  expect_place(places_hub_cache, "/home/me/hf/hub");
  expect_place(places_token, "/home/me/hf/token");
  setenv("HUGGINGFACE_HUB_CACHE", "/old", 1);
  expect_place(places_hub_cache, "/old");
  setenv("HF_HUB_CACHE", "/new", 1);
  expect_place(places_hub_cache, "/new");
  setenv("HF_TOKEN_PATH", "/secret", 1);
  expect_place(places_token, "/secret");
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    unsetenv(variables[i]);
  unsetenv("HOME");
  expect_place(places_models, NULL);
  expect_place(places_hub_cache, NULL);
  refuses("sd15", "no model of this name");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_own_folder),     cmocka_unit_test(test_cache),          cmocka_unit_test(test_circles),
      cmocka_unit_test(test_own_goes_first), cmocka_unit_test(test_paths_go_first), cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_names_are_told), cmocka_unit_test(test_places),
  };
  return cmocka_run_group_tests(tests, make_models, scratch_remove);
}
