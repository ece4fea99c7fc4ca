/* Tests requests of clients of the IPC socket and the web page, and the answers. */
#include "tests/rigs/cmocka_all.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "app/remote/messages.h"

static struct live_state state;
static struct hub *hub;
static struct messages *client;
static struct message_lines lines;

static int open_client(void **unused) {
  (void)unused;
  struct parameters values;
  struct error err;
  parameters_init(&values);
  state = (struct live_state){.ready = true, .slot_before = 1};
  settings_begin(&state.settings, &values);
  assert_int_equal(hub_open(&hub, &state, &err), 0);
  return messages_open(&client, hub, &err);
}

static int close_client(void **unused) {
  (void)unused;
  messages_close(&client);
  message_lines_free(&lines);
  hub_close(&hub);
  return 0;
}

/* Does what the window's thread does in one pass of its loop. */
static void turn(const struct hub_figures *figures) {
  hub_take(hub, &state, 0);
  hub_publish(hub, &state.settings.values, figures);
}

/* Sends a line and returns the only answer, parsed; the caller deletes it. */
static cJSON *ask(const char *line) {
  lines.used = 0;
  messages_answer(client, line, strlen(line), &lines);
  assert_true(lines.used > 0 && !lines.lost);
  char *end = memchr(lines.text, '\n', lines.used);
  assert_ptr_equal(end, lines.text + lines.used - 1);
  *end = 0;
  cJSON *answer = cJSON_Parse(lines.text);
  assert_non_null(answer);
  return answer;
}

static void expect(const char *line, const char *wanted) {
  cJSON *answer = ask(line), *want = cJSON_Parse(wanted);
  assert_non_null(want);
  if (!cJSON_Compare(answer, want, true))
    fail_msg("%s -> %s, not %s", line, lines.text, wanted);
  cJSON_Delete(answer);
  cJSON_Delete(want);
}

static void expect_refused(const char *line, const char *words) {
  cJSON *answer = ask(line);
  const char *error = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "error"));
  if (!error || !strstr(error, words) || strchr(error, '\n'))
    fail_msg("%s -> %s, not '%s'", line, lines.text, words);
  cJSON_Delete(answer);
}

/* Fails the test unless the client gets this text about properties that it observes. */
static void expect_events(const char *wanted) {
  struct message_view *view = calloc(1, sizeof *view);
  assert_non_null(view);
  view->hub = hub;
  hub_get_values(hub, &view->values);
  hub_get_figures(hub, &view->figures);
  lines.used = 0;
  messages_tell(client, view, &lines);
  free(view);
  assert_int_equal(lines.used, strlen(wanted));
  if (*wanted && memcmp(lines.text, wanted, lines.used))
    fail_msg("%.*s, not %s", (int)lines.used, lines.text, wanted);
}

static void values_of_every_type(void **unused) {
  (void)unused;
  expect("{\"command\":[\"get_property\",\"strength\"],\"request_id\":3}",
         "{\"request_id\":3,\"error\":\"success\",\"data\":0.5}");
  expect("{\"command\":[\"set_property\",\"strength\",0.7]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"get_property\",\"strength\"]}", "{\"request_id\":0,\"error\":\"success\",\"data\":0.7}");
  expect("{\"command\":[\"set_property\",\"strength\",\"0.25\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"set_property\",\"pause\",true]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"set_property\",\"hud\",\"off\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"set_property\",\"guidance-mode\",\"self\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"set_property\",\"size\",\"512x288\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"set_property\",\"prompt[2]\",\"a \\\"fox\\\", in snow \\u00e9\"]}",
         "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"set_property\",\"seed\",9007199254740991]}", "{\"request_id\":0,\"error\":\"success\"}");
  turn(&(struct hub_figures){0});
  assert_true(state.settings.values.strength == 0.25);
  assert_true(state.settings.values.pause && !state.settings.values.hud);
  assert_int_equal(state.settings.values.guidance_mode, 2);
  assert_int_equal(state.settings.values.size.width, 512);
  assert_string_equal(state.settings.values.prompt[1].words, "a \"fox\", in snow é");
  expect("{\"command\":[\"get_property\",\"pause\"]}", "{\"request_id\":0,\"error\":\"success\",\"data\":true}");
  expect("{\"command\":[\"get_property\",\"guidance-mode\"]}",
         "{\"request_id\":0,\"error\":\"success\",\"data\":\"self\"}");
  expect("{\"command\":[\"get_property\",\"size\"]}", "{\"request_id\":0,\"error\":\"success\",\"data\":\"512x288\"}");
  expect("{\"command\":[\"get_property\",\"seed\"]}",
         "{\"request_id\":0,\"error\":\"success\",\"data\":9007199254740991}");
  expect("{\"command\":[\"get_property\",\"prompt[2]\"]}",
         "{\"request_id\":0,\"error\":\"success\",\"data\":\"a \\\"fox\\\", in snow é\"}");
  expect("{\"command\":[\"set_property\",\"prompt[2]\",null]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"get_property\",\"prompt[2]\"]}", "{\"request_id\":0,\"error\":\"success\",\"data\":null}");
}

static void steps_and_commands(void **unused) {
  (void)unused;
  expect("{\"command\":[\"add\",\"strength\",0.2]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"add\",\"strength\",0.2]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"get_property\",\"strength\"]}", "{\"request_id\":0,\"error\":\"success\",\"data\":0.9}");
  expect("{\"command\":[\"add\",\"strength\",1e300]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"cycle\",\"pause\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"cycle\",\"show\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"new-seed\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"prompt\",1],\"async\":true}", "{\"request_id\":0,\"error\":\"success\"}");
  turn(&(struct hub_figures){0});
  assert_true(state.settings.values.strength == 1 && state.settings.values.pause);
  assert_int_equal(state.settings.values.show, 1);
  assert_true(state.settings.values.seed != 1);
  expect("{\"command\":[\"cycle\",\"show\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"cycle\",\"show\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"get_property\",\"show\"]}", "{\"request_id\":0,\"error\":\"success\",\"data\":\"picture\"}");
}

static void what_is_refused(void **unused) {
  (void)unused;
  expect_refused("{\"command\":[\"set_property\",\"strength\",2],\"request_id\":9}", "from 0 to 1");
  expect_refused("{\"command\":[\"set_property\",\"strength\",1e999]}", "from 0 to 1");
  expect_refused("{\"command\":[\"set_property\",\"strength\",true]}", "from 0 to 1");
  expect_refused("{\"command\":[\"set_property\",\"strength\",null]}", "from 0 to 1");
  expect_refused("{\"command\":[\"set_property\",\"strength\",[0.5]]}", "from 0 to 1");
  expect_refused("{\"command\":[\"set_property\",\"steps\",1.5]}", "whole number");
  expect_refused("{\"command\":[\"set_property\",\"show\",1]}", "picture|map|beside");
  expect_refused("{\"command\":[\"set_property\",\"pause\",1]}", "on or off");
  expect_refused("{\"command\":[\"set_property\",\"prompt[1]\",5]}", "a text");
  expect_refused("{\"command\":[\"set_property\",\"prompt[1]\",\"a\\nb\"]}", "one line");
  expect_refused("{\"command\":[\"set_property\",\"prompt[1]\",\"a\\u0000b\"]}", "u0000");
  expect_refused("{\"command\":[\"set_property\",\"prompt[10]\",\"a\"]}", "there are 1 to 9");
  expect_refused("{\"command\":[\"set_property\",\"prompt[99999999999999999999]\",\"a\"]}",
                 "prompt[99999999999999999999]: there are 1 to 9");
  expect_refused("{\"command\":[\"set_property\",\"prompt\",\"a\"]}", "prompt");
  expect_refused("{\"command\":[\"set_property\",\"model\",\"/etc/passwd\"]}", "command line");
  expect_refused("{\"command\":[\"set_property\",\"fit\",\"crop\"]}", "start");
  expect_refused("{\"command\":[\"set_property\",\"figures/fps\",1]}", "not set");
  expect_refused("{\"command\":[\"set_property\",\"strength\"]}", "2 arguments");
  expect_refused("{\"command\":[\"get_property\",\"strenght\"]}", "no parameter of that name");
  expect_refused("{\"command\":[\"get_property\",\"figures/\"]}", "no such figure");
  expect_refused("{\"command\":[\"get_property\",7]}", "name of a property");
  expect_refused("{\"command\":[\"add\",\"show\",1]}", "add:");
  expect_refused("{\"command\":[\"cycle\",\"strength\"]}", "neither");
  expect_refused("{\"command\":[\"observe_property\",\"strength\"]}", "2 arguments");
  expect_refused("{\"command\":[\"observe_property\",1.5,\"strength\"]}", "whole number");
  expect_refused("{\"command\":[\"observe_property\",1,\"parameter-list\"]}", "does not change");
  expect_refused("{\"command\":[\"quit\"]}", "quit");
  expect_refused("{\"command\":[\"rm\",\"-rf\"]}", "rm");
  expect_refused("{\"command\":[\"new-seed\",1,2]}", "at most one number");
  expect_refused("{\"command\":[\"set\",\"strength\",0.7]}",
                 "set: there is no such command: set_property with NAME and VALUE");
  expect_refused("{\"command\":[\"set\"]}", "set: there is no such command");
  expect_refused("{\"command\":[\"strength\",\"up\"]}", "command-list");
  expect_refused("{\"command\":\"new-seed\"}", "a list");
  expect_refused("{\"command\":[]}", "a list");
  expect_refused("{\"request_id\":\"x\",\"command\":[\"new-seed\"]}", "request_id");
  expect_refused("{\"request-id\":1,\"command\":[\"new-seed\"]}", "request-id");
  expect_refused("[1]", "a JSON object");
  expect_refused("set strength 0.7", "a JSON object");
  expect_refused("{\"command\":[\"new-seed\"]} {}", "a JSON object");
  expect_refused("{\"command\":[\"new-seed\"]", "a JSON object");
  expect_refused("", "a JSON object");
  expect_refused("{\"command\":[\"new-seed\xff\"]}", "UTF-8");
  expect_refused("[[[[[[[[[[[[[[[[[[[[", "deep");
  turn(&(struct hub_figures){0});
  assert_true(state.settings.values.strength == 0.5 && state.settings.values.seed == 1 && !state.quit);
}

static void lines_too_long(void **unused) {
  (void)unused;
  char *line = malloc(MESSAGE_LINE_MAX + 2);
  assert_non_null(line);
  memset(line, ' ', MESSAGE_LINE_MAX + 1);
  memcpy(line, "{\"command\":[\"new-seed\"]}", 24);
  line[MESSAGE_LINE_MAX] = 0;
  expect(line, "{\"request_id\":0,\"error\":\"success\"}");
  line[MESSAGE_LINE_MAX] = ' ';
  line[MESSAGE_LINE_MAX + 1] = 0;
  expect_refused(line, "at most 16384 bytes");
  lines.used = 0;
  messages_answer(client, "{}\0", 3, &lines);
  assert_non_null(memmem(lines.text, lines.used, "UTF-8", 5));
  free(line);
}

static void changes_are_told(void **unused) {
  (void)unused;
  struct hub_figures figures = {.fps = 12.5, .source = "a\xff.mp4"};
  turn(&figures);
  assert_false(messages_observes(client));
  expect("{\"command\":[\"observe_property\",1,\"strength\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"observe_property\",2,\"figures/fps\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"observe_property\",2,\"figures/source\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  assert_true(messages_observes(client));
  expect_events("{\"event\":\"property-change\",\"id\":1,\"name\":\"strength\",\"data\":0.5}\n"
                "{\"event\":\"property-change\",\"id\":2,\"name\":\"figures/fps\",\"data\":12.5}\n"
                "{\"event\":\"property-change\",\"id\":2,\"name\":\"figures/source\",\"data\":\"a?.mp4\"}\n");
  expect_events("");
  commands_run(&state, '+', false, 0); /* this change comes from a key */
  turn(&figures);
  expect_events("{\"event\":\"property-change\",\"id\":1,\"name\":\"strength\",\"data\":0.55}\n");
  expect("{\"command\":[\"unobserve_property\",2]}", "{\"request_id\":0,\"error\":\"success\"}");
  figures.fps = 30;
  figures.left_out = 3;
  figures.undrawn = 2;
  turn(&figures);
  expect_events("");
  expect("{\"command\":[\"get_property\",\"figures/fps\"]}", "{\"request_id\":0,\"error\":\"success\",\"data\":30}");
  expect("{\"command\":[\"get_property\",\"figures/left-out\"]}",
         "{\"request_id\":0,\"error\":\"success\",\"data\":3}");
  expect("{\"command\":[\"get_property\",\"figures/undrawn\"]}", "{\"request_id\":0,\"error\":\"success\",\"data\":2}");
}

/* A client that observes one of the hub's lists gets it whenever it changes. */
static void lists_are_told(void **unused) {
  (void)unused;
  struct hub_figures figures = {.fps = 1};
  expect("{\"command\":[\"get_property\",\"scene-list\"]}", "{\"request_id\":0,\"error\":\"success\",\"data\":null}");
  expect("{\"command\":[\"observe_property\",1,\"scene-list\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"observe_property\",2,\"midi-list\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  turn(&figures);
  expect_events("{\"event\":\"property-change\",\"id\":1,\"name\":\"scene-list\",\"data\":null}\n"
                "{\"event\":\"property-change\",\"id\":2,\"name\":\"midi-list\",\"data\":null}\n");
  hub_set_list(hub, HUB_SCENES, strdup("[\n  {\"number\": 1}\n]"));
  expect_events("{\"event\":\"property-change\",\"id\":1,\"name\":\"scene-list\",\"data\":[{\"number\":1}]}\n");
  expect_events("");
  expect_refused("{\"command\":[\"set_property\",\"scene-list\",1]}", "can be read, and not set");
}

/* The levels of the sound, and the parameters that sound and LFOs change: the value that is set, and the present
 * one. */
static void the_meter_is_data(void **unused) {
  (void)unused;
  struct hub_figures figures = {0};
  turn(&figures);
  expect("{\"command\":[\"get_property\",\"figures/sound\"]}",
         "{\"data\":null,\"request_id\":0,\"error\":\"success\"}");
  expect("{\"command\":[\"get_property\",\"figures/moved\"]}", "{\"data\":[],\"request_id\":0,\"error\":\"success\"}");
  figures.meter = (struct meter){.heard = true,
                                 .values = {[SOUND_LEVEL] = 0.5, [SOUND_BASS] = 1.0 / 3, [SOUND_ONSET] = 1},
                                 .row = {{PARAMETER_STRENGTH, 0, 0.5, 0.75}, {PARAMETER_LORA_WEIGHT, 2, 1, 0.25}},
                                 .count = 2};
  turn(&figures);
  expect("{\"command\":[\"get_property\",\"figures/sound\"]}",
         "{\"data\":{\"level\":0.5,\"bass\":0.333,\"mid\":0,\"treble\":0,\"beat\":0,\"onset\":1},\"request_id\":0,"
         "\"error\":\"success\"}");
  expect("{\"command\":[\"get_property\",\"figures/moved\"]}",
         "{\"data\":[{\"name\":\"strength\",\"base\":0.5,\"now\":0.75},"
         "{\"name\":\"lora[2].weight\",\"base\":1,\"now\":0.25}],\"request_id\":0,\"error\":\"success\"}");
}

/* What holds is told, with its times, and no more once it is over. */
static void alerts_are_data(void **unused) {
  (void)unused;
  struct hub_figures figures = {0};
  turn(&figures);
  expect("{\"command\":[\"observe_property\",1,\"figures/alerts\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect_events("{\"event\":\"property-change\",\"id\":1,\"name\":\"figures/alerts\",\"data\":[]}\n");
  alerts_raise(&figures.alerts, ALERT_LATE, 7, "late", "3 of 4");
  alerts_raise(&figures.alerts, ALERT_SOURCE, 7, "source lost", "a\xff.mp4");
  figures.alerts.entry[ALERT_LATE].since_s = figures.alerts.entry[ALERT_SOURCE].since_s = 1234;
  figures.alerts.entry[ALERT_LATE].until_s = 1240;
  turn(&figures);
  expect_events("{\"event\":\"property-change\",\"id\":1,\"name\":\"figures/alerts\",\"data\":["
                "{\"what\":\"source\",\"words\":\"source lost\",\"reason\":\"a?.mp4\",\"since\":1234,\"until\":null},"
                "{\"what\":\"late\",\"words\":\"late\",\"reason\":\"3 of 4\",\"since\":1234,\"until\":1240}]}\n");
  alerts_end(&figures.alerts, ALERT_LATE);
  alerts_end(&figures.alerts, ALERT_SOURCE);
  turn(&figures);
  expect_events("{\"event\":\"property-change\",\"id\":1,\"name\":\"figures/alerts\",\"data\":[]}\n");
}

static void observing_is_bounded(void **unused) {
  (void)unused;
  for (int i = 0; i < MESSAGE_WATCHES_MAX; i++)
    expect("{\"command\":[\"observe_property\",1,\"strength\"]}", "{\"request_id\":0,\"error\":\"success\"}");
  expect_refused("{\"command\":[\"observe_property\",1,\"strength\"]}", "at most 512");
}

static void answers_are_bounded(void **unused) {
  (void)unused;
  static const char line[] = "{\"command\":[\"get_property\",\"parameter-list\"]}";
  lines.used = 0;
  for (int i = 0; i < 200; i++)
    messages_answer(client, line, sizeof line - 1, &lines);
  assert_true(lines.lost && lines.used <= MESSAGE_BACKLOG_MAX && lines.text[lines.used - 1] == '\n');
  lines.lost = false;
  message_lines_sent(&lines, lines.used);
}

static const cJSON *find(const cJSON *list, const char *name) {
  const cJSON *item;
  cJSON_ArrayForEach(item, list) {
    if (!strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(item, "name")), name))
      return item;
  }
  fail_msg("%s is not listed", name);
  return NULL;
}

/* The list of properties is complete, so clients need no table of their own. */
static void what_there_is(void **unused) {
  (void)unused;
  cJSON *answer = ask("{\"command\":[\"get_property\",\"parameter-list\"]}"),
        *list = cJSON_GetObjectItem(answer, "data");
  assert_int_equal(cJSON_GetArraySize(list), PARAMETERS - 1);
  const cJSON *strength = find(list, "strength"), *prompt = find(list, "prompt[]"), *show = find(list, "show");
  assert_string_equal(cJSON_GetObjectItem(strength, "type")->valuestring, "real");
  assert_true(cJSON_GetObjectItem(strength, "max")->valuedouble == 1);
  assert_true(cJSON_GetObjectItem(strength, "default")->valuedouble == 0.5);
  assert_true(cJSON_GetObjectItem(prompt, "first")->valuedouble == 1);
  assert_true(cJSON_GetObjectItem(prompt, "count")->valuedouble == 9);
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(show, "choices")), 3);
  assert_string_equal(cJSON_GetObjectItem(strength, "group")->valuestring, "Picture");
  assert_string_equal(cJSON_GetObjectItem(prompt, "label")->valuestring, "Prompt []");
  assert_true(cJSON_GetObjectItem(strength, "rank")->valuedouble >= 1);
  assert_true(cJSON_IsTrue(cJSON_GetObjectItem(strength, "movable")));
  bool places[PARAMETERS] = {false}; /* which places in the order were found: no two parameters have the same */
  const cJSON *each;
  cJSON_ArrayForEach(each, list) {
    int place = cJSON_GetObjectItem(each, "place")->valueint;
    assert_in_range(place, 0, PARAMETERS - 2);
    assert_false(places[place]);
    places[place] = true;
  }
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    assert_non_null(cJSON_GetObjectItem(find(list, parameter_row(id)->name), "help"));
  cJSON_Delete(answer);
  answer = ask("{\"command\":[\"get_property\",\"command-list\"]}");
  assert_non_null(cJSON_GetObjectItem(find(cJSON_GetObjectItem(answer, "data"), "new-seed"), "help"));
  cJSON_Delete(answer);
  answer = ask("{\"command\":[\"get_property\",\"figures\"]}");
  assert_true(cJSON_IsNumber(cJSON_GetObjectItem(cJSON_GetObjectItem(answer, "data"), "latency-ms")));
  cJSON_Delete(answer);
}

int main(void) {
#define CASE(function) cmocka_unit_test_setup_teardown(function, open_client, close_client)
  const struct CMUnitTest tests[] = {
      CASE(values_of_every_type), CASE(steps_and_commands),   CASE(what_is_refused),     CASE(lines_too_long),
      CASE(changes_are_told),     CASE(observing_is_bounded), CASE(answers_are_bounded), CASE(what_there_is),
      CASE(alerts_are_data),      CASE(lists_are_told),       CASE(the_meter_is_data),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
