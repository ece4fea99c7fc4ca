/* A show file of a stranger's, which is not trusted. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "app/control/presets.h"
#include "app/options/show_file.h"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("",
              "{\"options\":{\"budget\":33,\"to\":[\"srt://a\"],\"mask\":\"x\"},\"sources\":[\"a.mp4\",\"../"
              "b\",{\"name\":\"self\",\"in\":2,\"out\":1e9}],"
              "\"values\":{\"clip-in\":2,\"clip-speed\":0.5,\"clip-loop\":\"hold\",\"cued-scene\":\"a\",\"strength\":0."
              "5,\"prompt[1]\":\"neon\",\"style[1]\":\"/etc/x\"},"
              "\"keys\":[\"F1 strength 0.3\"],\"presets\":[{\"name\":\"a\",\"source\":\"b\",\"values\":{\"mix\":1}}]}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static void complain(void *opaque, const char *why) {
  (void)opaque;
  FUZZ_CHECK(*why && strlen(why) < 400);
}

static void complain_of_line(void *opaque, int line, const char *why) {
  (void)opaque;
  FUZZ_CHECK(line > 0 && *why);
}

static void apply(const struct show_file *show) {
  static char *arguments[] = {"reverie", "live"};
  static struct options options;
  struct options_request request;
  struct error err = {0};
  char *lines = strdup(show->options);
  const struct options_config config = {lines, complain_of_line, NULL};
  FUZZ_CHECK(lines);
  if (!options_parse_with(&options, &request, 2, arguments, &config, &err)) {
    FUZZ_CHECK(!options.ipc && !options.web && !options.osc && !options.to.count && !options.record);
    show_file_apply(show, &options);
    cJSON_Delete(show_file_options(&options));
  }
  free(lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct show_file *show = NULL;
  struct presets *presets = NULL;
  struct error err = {0};
  char *text = calloc(1, size + 1);
  FUZZ_CHECK(text);
  memcpy(text, data, size);
  if (!show_file_read(&show, text, "/proc/self/task", false, complain, NULL, &err)) {
    FUZZ_CHECK(!show->source_count || !strncmp(show->sources[0], "/proc/", 6));
    for (int i = 0; i < show->source_count; i++)
      FUZZ_CHECK(show->points[i].in_s >= 0 && show->points[i].in_s <= 1e6 && show->points[i].out_s >= 0 &&
                 show->points[i].out_s <= 1e6);
    apply(show);
  }
  FUZZ_CHECK(show || *err.message);
  show_file_free(&show);
  if (!presets_read(&presets, text, &err))
    FUZZ_CHECK(presets_count(presets) >= 0);
  presets_free(&presets);
  free(text);
  return 0;
}
