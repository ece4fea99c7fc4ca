/* Tests scripts of values over time: what is refused and in which line, how values are computed, and that a recording
 * plays the same. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/control/script.h"

static struct script *read_text(const char *text, struct error *err) {
  struct script *script;
  FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
  assert_non_null(file);
  script_read(&script, file, "show.jsonl", err);
  fclose(file);
  return script;
}

static struct script *accept(const char *text) {
  struct error err = {0};
  struct script *script = read_text(text, &err);
  if (!script)
    fail_msg("%s", err.message);
  return script;
}

static void refuse(const char *text, const char *wanted) {
  struct error err = {0};
  struct script *script = read_text(text, &err);
  if (script || !strstr(err.message, wanted))
    fail_msg("'%s': wanted '%s', but: %s", text, wanted, script ? "accepted" : err.message);
}

#define LINE(parameter, value) "{\"time\": 1, \"parameter\": \"" parameter "\", \"value\": " value "}\n"

static void what_is_refused(void **state) {
  (void)state;
  refuse("\n\n", "show.jsonl: there is no entry");
  refuse(LINE("strength", "0.5") "{\"time\": 1\n", "show.jsonl: line 2: this is not one value of JSON");
  refuse(LINE("strength", "0.5") "\n[1]\n", "line 3: an object");
  refuse("{} {}", "line 1: this is not one value");
  refuse(LINE("strengthy", "0.5"), "line 1: strengthy: there is no parameter");
  refuse(LINE("prompt[12]", "\"neon\""), "line 1: prompt[12]: there are 1 to 9");
  refuse(LINE("strength", "1.5"), "line 1: strength 1.5: a number from");
  refuse(LINE("strength", "true"), "strength");
  refuse(LINE("sampler", "\"best\""), "sampler best: one of");
  refuse(LINE("fit", "\"crop\""), "fit: it cannot change while the program runs");
  refuse("{\"time\": -1, \"parameter\": \"strength\", \"value\": 0}", "\"time\": seconds from 0");
  refuse("{\"parameter\": \"strength\", \"value\": 0}", "\"time\": seconds from 0");
  refuse("{\"time\": 1, \"value\": 0}", "\"parameter\": a name is needed");
  refuse("{\"time\": 1, \"parameter\": \"strength\"}", "\"value\": there is none");
  refuse("{\"time\": 1, \"parameter\": \"strength\", \"value\": 0, \"easy\": 1}", "\"easy\"");
  refuse("{\"time\": 1, \"parameter\": \"strength\", \"value\": 0, \"ease\": \"slow\"}", "\"ease\": \"step\"");
  refuse("{\"time\": 1, \"parameter\": \"prompt[1]\", \"value\": \"a\", \"ease\": \"linear\"}", "only numbers");
  char *line = malloc(2 * SCRIPT_LINE_MAX);
  assert_non_null(line);
  memset(line, ' ', 2 * SCRIPT_LINE_MAX);
  line[2 * SCRIPT_LINE_MAX - 1] = 0;
  refuse(line, "line 1: a line has at most");
  free(line);
}

static void expect(const struct parameters *values, enum parameter id, int index, double number) {
  double now = parameters_number(values, id, index);
  if (fabs(now - number) > 1e-9)
    fail_msg("%s is %g, not %g", parameter_row(id)->name, now, number);
}

static void values_come_in_time(void **state) {
  (void)state;
  struct parameters values;
  parameters_init(&values);
  values.strength = 0.2;
  struct script *script = accept("{\"time\": 4, \"parameter\": \"strength\", \"value\": 1, \"ease\": \"linear\"}\r\n"
                                 "\n"
                                 "{\"time\": 2, \"parameter\": \"strength\", \"value\": 0.6, \"ease\": \"linear\"}\n"
                                 "{\"time\": 3, \"parameter\": \"steps\", \"value\": 4}\n"
                                 "{\"time\": 3, \"parameter\": \"steps\", \"value\": 8}\n"
                                 "{\"time\": 5, \"parameter\": \"steps\", \"value\": 18, \"ease\": \"smooth\"}\n"
                                 "{\"time\": 1, \"parameter\": \"prompt[2]\", \"value\": \"caf\\u00e9\"}\n"
                                 "{\"time\": 6, \"parameter\": \"prompt[2]\", \"value\": null}\n"
                                 "{\"time\": 1, \"parameter\": \"size\", \"value\": \"512x288\"}\n"
                                 "{\"time\": 1, \"parameter\": \"blackout\", \"value\": true}");
  assert_true(script_length(script) == 6);
  script_begin(script, &values);
  script_apply(script, -1, 0.5, &values);
  expect(&values, PARAMETER_STRENGTH, 0, 0.3);
  assert_false(parameters_marked(&values, PARAMETER_STEPS, 0) || values.blackout);
  script_apply(script, 0.5, 1, &values);
  expect(&values, PARAMETER_STRENGTH, 0, 0.4);
  assert_string_equal(parameters_text(&values, PARAMETER_PROMPT, 2), "caf\xC3\xA9");
  assert_true(values.size.width == 512 && values.size.height == 288 && values.blackout);
  script_apply(script, 1, 3, &values);
  expect(&values, PARAMETER_STRENGTH, 0, 0.8);
  expect(&values, PARAMETER_STEPS, 0, 8); /* of two lines for the same time the later one counts */
  script_apply(script, 3, 3.5, &values);
  expect(&values, PARAMETER_STEPS, 0, 10); /* interpolated: 8 + 10 * 5 / 32, rounded to a whole number */
  /* A value that the user sets stays as long as the script does not change it. */
  parameters_clear_marks(&values);
  values.blackout = false;
  values.strength = 0.1;
  script_apply(script, 4, 5.5, &values);
  expect(&values, PARAMETER_STRENGTH, 0, 0.1);
  expect(&values, PARAMETER_STEPS, 0, 18);
  assert_false(values.blackout);
  script_apply(script, 5.5, 100, &values);
  assert_null(parameters_text(&values, PARAMETER_PROMPT, 2));
  /* The script is applied from its beginning up to some time in one call. */
  script_apply(script, -1, 3.5, &values);
  expect(&values, PARAMETER_STRENGTH, 0, 0.9);
  expect(&values, PARAMETER_STEPS, 0, 10);
  assert_string_equal(parameters_text(&values, PARAMETER_PROMPT, 2), "caf\xC3\xA9");
  assert_true(values.blackout);
  script_free(&script);
}

static void recorded_plays_the_same(void **state) {
  (void)state;
  struct parameters values, played;
  struct script_recorder *recorder;
  struct error err;
  char *text = NULL;
  size_t size;
  parameters_init(&values);
  FILE *file = open_memstream(&text, &size);
  values.strength = 0.1 + 0.2; /* a number whose shortest decimal form is not 0.3 */
  assert_int_equal(script_record(&recorder, file, &values, &err), 0);
  values.steps = 3;
  parameters_set_text(&values, PARAMETER_PROMPT, 3, "a \"quoted\" word", &err);
  values.hud = false;
  assert_int_equal(script_note(recorder, &values, 1.5, &err), 0);
  assert_int_equal(script_note(recorder, &values, 1.6, &err), 0);
  values.seed_walk = 1;
  for (int i = 0; i < 50; i++) {
    values.seed_position += 0.5;
    assert_int_equal(script_note(recorder, &values, 2 + i * 0.01, &err), 0);
  }
  values.seed_walk = 0;
  assert_int_equal(script_note(recorder, &values, 3, &err), 0);
  assert_int_equal(script_close(&recorder, &err), 0);
  int lines_after = 0;
  for (const char *line = text; line && *line; line = strchr(line, '\n') + 1)
    lines_after += strncmp(line, "{\"time\":0.000,", 14) != 0;
  assert_int_equal(lines_after, 5); /* steps, prompt, walk, stop, and the position reached */
  assert_null(strstr(text, "hud"));
  struct script *script = accept(text);
  parameters_init(&played);
  played.strength = 1;
  script_begin(script, &played);
  script_apply(script, -1, 3, &played);
  assert_true(parameters_equal(&played, &values, 1u << NEED_FRAME | 1u << NEED_PREPARATION | 1u << NEED_ENCODING));
  script_free(&script);
  free(text);
}

/* A recorded script begins with the values in use; it leaves out weights of missing LoRAs and values of missing
 * controls. */
static void recorded_is_what_there_is(void **state) {
  (void)state;
  struct parameters values;
  struct script_recorder *recorder;
  struct error err;
  char *text = NULL;
  size_t size;
  parameters_init(&values);
  assert_int_equal(parameters_set_text(&values, PARAMETER_LORA, 1, "a.safetensors", &err), 0);
  assert_int_equal(parameters_set_number(&values, PARAMETER_CONTROL, 2, 1, &err), 0);
  assert_int_equal(script_record(&recorder, open_memstream(&text, &size), &values, &err), 0);
  assert_int_equal(script_close(&recorder, &err), 0);
  assert_non_null(strstr(text, "\"lora[1].weight\""));
  assert_null(strstr(text, "\"lora[2].weight\""));
  assert_non_null(strstr(text, "\"control[2].low\""));
  assert_null(strstr(text, "\"control[1].low\""));
  assert_null(strstr(text, "\"style[1].weight\""));
  free(text);
}

static void recording_is_bounded(void **state) {
  (void)state;
  struct parameters values;
  struct script_recorder *recorder;
  struct error err = {0};
  parameters_init(&values);
  assert_int_equal(script_record(&recorder, fopen("/dev/null", "w"), &values, &err), 0);
  int status = 0;
  for (int i = 0; i < SCRIPT_ENTRIES_MAX && !status; i++) {
    values.strength = (i & 1) * 0.5;
    status = script_note(recorder, &values, i, &err);
  }
  assert_int_equal(status, -1);
  assert_non_null(strstr(err.message, "no more are written"));
  assert_int_equal(script_close(&recorder, &err), 0);
}

static void a_full_disk_is_told(void **state) {
  (void)state;
  struct parameters values;
  struct script_recorder *recorder;
  struct error err = {0};
  FILE *full = fopen("/dev/full", "w");
  if (!full)
    skip();
  parameters_init(&values);
  assert_int_equal(script_record(&recorder, full, &values, &err), -1);
  assert_non_null(strstr(err.message, "No space left"));
  script_close(&recorder, &err);
}

/* --- a script in a pipe --- */

static char pipe_path[] = "/tmp/reverie-script-XXXXXX";
static atomic_bool stop;

static void *stop_soon(void *unused) {
  usleep(20000);
  atomic_store(&stop, true);
  return unused;
}

static void *write_slowly(void *unused) {
  FILE *out = fopen(pipe_path, "w");
  assert_non_null(out);
  fputs("{\"time\": 0, \"parameter\": \"strength\", ", out);
  fflush(out);
  usleep(20000);
  fputs("\"value\": 0.25}\n", out);
  fclose(out);
  return unused;
}

/* A pipe without a writer is waited for until a signal; the text of a writer is read to its end. */
static void a_pipe_is_waited_for_until_a_signal(void **state) {
  (void)state;
  struct script *script;
  struct error err;
  pthread_t thread;
  close(mkstemp(pipe_path));
  remove(pipe_path);
  assert_int_equal(mkfifo(pipe_path, 0600), 0);
  atomic_store(&stop, false);
  assert_int_equal(pthread_create(&thread, NULL, stop_soon, NULL), 0);
  assert_int_equal(script_open(&script, pipe_path, &stop, NULL, &err), -1);
  assert_int_equal(err.status, STATUS_INTERRUPTED);
  pthread_join(thread, NULL);
  atomic_store(&stop, false);
  assert_int_equal(pthread_create(&thread, NULL, write_slowly, NULL), 0);
  assert_int_equal(script_open(&script, pipe_path, &stop, NULL, &err), 0);
  pthread_join(thread, NULL);
  script_free(&script);
  remove(pipe_path);
  assert_int_equal(script_open(&script, "/dev/zero", &stop, NULL, &err), -1);
  assert_non_null(strstr(err.message, "--script /dev/zero: "));
  assert_int_equal(script_open(&script, "/", &stop, NULL, &err), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_refused),
      cmocka_unit_test(values_come_in_time),
      cmocka_unit_test(recorded_plays_the_same),
      cmocka_unit_test(recorded_is_what_there_is),
      cmocka_unit_test(recording_is_bounded),
      cmocka_unit_test(a_full_disk_is_told),
      cmocka_unit_test(a_pipe_is_waited_for_until_a_signal),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
