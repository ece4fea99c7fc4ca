/* Tests options that the file reverie.conf gives. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "app/options/options.h"
#include "unet/base/text_file.h"

struct told {
  char lines[1024];
};

static void tell(void *opaque, int line, const char *why) {
  struct told *told = opaque;
  size_t used = strlen(told->lines);
  snprintf(told->lines + used, sizeof told->lines - used, "%d: %s|", line, why);
}

/* Values of reverie.conf apply unless the command line sets them. */
static void test_config(void **state) {
  (void)state;
  static char name[] = "reverie", live[] = "live", strength[] = "--strength=0.7", prompt[] = "--prompt=mine",
              render[] = "render", in[] = "a", out[] = "b", no_config[] = "--no-config", loud[] = "-v",
              still[] = "--loop=no";
  char text[] = "# a show\n"
                "strength=0.2\n"
                " budget = 33 # ms\r\n"
                "prompt=theirs\n"
                "presets=\"my show #1.json\"\n"
                "fullscreen\n"
                "web\n"
                "osc-to=9001\nosc-to=9002\n"
                "steps=nine\n"     /* line 10: no number */
                "no-such=1\n"      /* line 11: no such option */
                "progress=json\n"  /* line 12: an option of render only */
                "fade\n"           /* line 13: the value is missing */
                "split=maybe\n"    /* line 14: yes or no is needed */
                "help\n"           /* line 15: not allowed in the file */
                "record=\"a.mp4\n" /* line 16: the closing quote is missing */
                "osc=\n"           /* line 17: refused, so the next line counts as the first of its kind */
                "osc=9000\n"
                "quiet\n" /* the same setting as -v changes */
                "loop\n"
                "no-hud=no\n";
  char *argv[] = {name, live, strength, prompt, loud, still}, *others[] = {name, render, in, out},
       *without[] = {name, live, no_config};
  struct told told = {""};
  const struct options_config config = {text, tell, &told};
  struct options options;
  struct options_request request;
  struct error err;
  assert_int_equal(options_parse_with(&options, &request, 3, without, &config, &err), 0);
  assert_int_equal(options_parse_with(&options, &request, 4, others, &config, &err), 0);
  assert_true(options.budget_ms == 0 && !*told.lines);
  assert_int_equal(options_parse_with(&options, &request, 6, argv, &config, &err), 0);
  assert_true(options.values.strength == 0.7 && options.budget_ms == 33 && options.values.fullscreen);
  assert_int_equal(options.prompt_count, 1);
  assert_string_equal(parameters_text(&options.values, PARAMETER_PROMPT, 1), "mine");
  assert_string_equal(options.presets, "my show #1.json");
  assert_true(options.web && !*options.web && options.osc_to.count == 2 && !options.record);
  assert_string_equal(options.osc, "9000");
  assert_int_equal(options.verbose, 1);
  assert_true(!options.loop && options.values.hud);
  static const char *const wanted[] = {"10: --steps nine",
                                       "|11: live has no option no-such",
                                       "|12: live has no option progress",
                                       "|13: fade needs a value",
                                       "|14: --split=maybe: yes or no",
                                       "|15: help is for the command line",
                                       "|16: record: a quote is missing",
                                       "|17: --osc: an empty"};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
    if (!strstr(told.lines, wanted[i]))
      fail_msg("'%s' is not in: %s", wanted[i], told.lines);
}

/* Characters that editors leave in text files, such as \\r and byte order marks. */
static void test_make_lines(void **state) {
  (void)state;
  static const struct {
    char text[24];
    size_t length;
    int wrong;
    const char *lines;
  } cases[] = {{"a\nb", 3, 0, "a\nb"}, {"\xEF\xBB\xBFx", 4, 0, "x"},  {"a\nb\0c\nd", 7, 2, "a\n"},
               {"a\n\0", 3, 2, "a\n"}, {"\xEF\xBB\xBF\0a", 5, 1, ""}, {"", 0, 0, ""}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[sizeof cases[i].text];
    memcpy(text, cases[i].text, sizeof text);
    assert_int_equal(text_make_lines(text, cases[i].length), cases[i].wrong);
    assert_string_equal(text, cases[i].lines);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_config), cmocka_unit_test(test_make_lines)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
