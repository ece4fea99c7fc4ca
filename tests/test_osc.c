/* Tests OSC without a network: the effect of messages on the hub, the answers, and reading and writing packets, with
 * the library liblo as the other side. */
#include <lo/lo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/osc_rig.h"

/* --- one message --- */

static void note_set(void *opaque, const struct osc_name *name) {
  (void)opaque;
  assert_int_equal(name->verb, OSC_PARAMETER);
}

/* Arguments as "f:0.5"; NULL: none. */
static enum osc_result say(struct rig *rig, const char *address, const char *first, const char *second) {
  struct osc_message message = {.address = address};
  const struct osc_sink sink = {write_down, &rig->heard};
  struct osc_name name;
  struct error err;
  long work = 1 << 20;
  if (first)
    message.argument[message.count++] = argument_of(first);
  if (second)
    message.argument[message.count++] = argument_of(second);
  rig->heard.count = 0;
  if (osc_is_pattern(address))
    return osc_take_pattern(rig->hub, &message, &sink, &work, note_set, rig, &err);
  return osc_take(rig->hub, &message, &sink, &name, &err);
}

static void numbers_of_all_types_are_taken(void **state) {
  struct rig *rig = *state;
  static const struct {
    const char *address, *value;
    enum parameter id;
    int index;
    double set;
  } cases[] = {
      {"/reverie/strength", "f:0.25", PARAMETER_STRENGTH, 0, 0.25},
      {"/reverie/strength", "i:1", PARAMETER_STRENGTH, 0, 1},
      {"/reverie/strength", "d:0.75", PARAMETER_STRENGTH, 0, 0.75},
      {"/reverie/strength", "s:0.5", PARAMETER_STRENGTH, 0, 0.5},
      {"/reverie/strength", "f:7", PARAMETER_STRENGTH, 0, 1}, /* a value beyond the range is limited to it */
      {"/reverie/strength", "f:-1", PARAMETER_STRENGTH, 0, 0},
      {"/reverie/lora/2/weight", "f:-0.5", PARAMETER_LORA_WEIGHT, 2, -0.5},
      {"/reverie/blend/9", "f:0.5", PARAMETER_BLEND, 9, 0.5},
      {"/reverie/steps", "f:3.6", PARAMETER_STEPS, 0, 4},
      {"/reverie/steps", "i:1000", PARAMETER_STEPS, 0, 50},
      {"/reverie/seed", "h:9007199254740991", PARAMETER_SEED, 0, 9007199254740991.0},
      {"/reverie/seed-walk", "f:2", PARAMETER_SEED_WALK, 0, 2},
      {"/reverie/seed_walk", "f:3", PARAMETER_SEED_WALK, 0, 3}, /* an underscore, for programs that cannot write - */
      {"/reverie/pause", "T", PARAMETER_PAUSE, 0, 1},
      {"/reverie/pause", "F", PARAMETER_PAUSE, 0, 0},
      {"/reverie/pause", "f:0.5", PARAMETER_PAUSE, 0, 1},
      {"/reverie/pause", "f:0.49", PARAMETER_PAUSE, 0, 0},
      {"/reverie/pause", "i:5", PARAMETER_PAUSE, 0, 1},
      {"/reverie/pause", "s:off", PARAMETER_PAUSE, 0, 0},
      {"/reverie/show", "s:beside", PARAMETER_SHOW, 0, SHOW_BOTH},
      {"/reverie/show", "f:1.2", PARAMETER_SHOW, 0, SHOW_MAP},
      {"/reverie/show", "f:99", PARAMETER_SHOW, 0, SHOW_BOTH},
      {"/reverie/show", "i:-3", PARAMETER_SHOW, 0, SHOW_PICTURE},
      {"/reverie/show", "S:map", PARAMETER_SHOW, 0, SHOW_MAP},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(say(rig, cases[i].address, cases[i].value, NULL), OSC_SET);
    assert_int_equal(rig->heard.count, 0);
    assert_float_equal(parameters_number(turn(rig), cases[i].id, cases[i].index), cases[i].set, 0);
  }
}

static void texts_and_sizes_are_taken(void **state) {
  struct rig *rig = *state;
  assert_int_equal(say(rig, "/reverie/prompt/2", "s:oil, at night", NULL), OSC_SET);
  assert_string_equal(parameters_text(turn(rig), PARAMETER_PROMPT, 2), "oil, at night");
  assert_int_equal(say(rig, "/reverie/size", "i:512", "i:288"), OSC_SET);
  assert_int_equal(turn(rig)->size.width, 512);
  assert_int_equal(turn(rig)->size.height, 288);
  assert_int_equal(say(rig, "/reverie/size", "s:256x128", NULL), OSC_SET);
  assert_int_equal(turn(rig)->size.width, 256);
  assert_int_equal(say(rig, "/reverie/model", "s:turbo", NULL), OSC_SET);
  assert_string_equal(parameters_text(turn(rig), PARAMETER_MODEL, 0), "turbo");
}

static void what_is_wrong_is_refused(void **state) {
  struct rig *rig = *state;
  char *longer = malloc(PARAMETER_TEXT_MAX + 3);
  assert_non_null(longer);
  memset(longer, 'a', PARAMETER_TEXT_MAX + 2);
  longer[0] = 's';
  longer[1] = ':';
  longer[PARAMETER_TEXT_MAX + 2] = 0;
  const struct {
    const char *address, *value, *why;
  } cases[] = {
      {"/reverie/strenght", "f:1", "there is no parameter"},
      {"/reverie/", "f:1", "there is no parameter"},
      {"/reverie/prompt", "s:x", "it has a number, as in /reverie/prompt/1"},
      {"/reverie/weight", "f:1", "there is no parameter"},
      {"/reverie/prompt/10", "s:x", "there are 1 to 9"},
      {"/reverie/prompt/1/get/", "s:x", "there is no parameter"},
      {"/reverie/strength", "s:strong", "a number from 0 to 1 is needed"},
      {"/reverie/strength", "s:2", "a number from 0 to 1 is needed"},
      {"/reverie/strength", "f:nan", "a number is needed"},
      {"/reverie/strength", "d:inf", "a number is needed"},
      {"/reverie/strength", "b", "a number is needed"},
      {"/reverie/prompt/1", "f:1", "a text is needed"},
      {"/reverie/prompt/1", longer, "at most 2047 bytes"},
      {"/reverie/prompt/1", "s:two\nlines", "one line"},
      {"/reverie/prompt/1", "s:\xff\xfe", "UTF-8"},
      {"/reverie/show", "s:nothing", "one of picture|map|beside"},
      {"/reverie/size", "i:512", "width and height"},
      {"/reverie/model", "s:/etc/passwd", "only what the command line names"},
      {"/reverie/lora/1", "s:x.safetensors", "only what the command line names"},
      {"/reverie/fit", "s:crop", "when the program starts"},
      {"/reverie/command/quit", NULL, "own keys alone"},
      {"/reverie/command/no-such", NULL, "no command"},
      {"/reverie/page-code", "i:1", "OSC turns it off"},
      {"/reverie/page-code", "s:yes", "OSC turns it off"},
      {"/reverie/page-code", "f:nan", "OSC turns it off"},
      {"/reverie/command/page-code", NULL, "no command of OSC"},
      {"/reverie/command/new-seed", "s:x", "a number is needed"},
      {"/reverie/command/prompt", NULL, "it needs a number"},
      {"/reverie/subscribe", "i:99999", "a port of the sender's machine"},
      {"/reverie/subscribe", "f:0", "a port of the sender's machine"},
      {"/reverie/subscribe", "f:9000.5", "a port of the sender's machine"},
      {"/reverie/subscribe", "s:10.0.0.1:5", "a port of the sender's machine"},
      {"/reverie/unsubscribe", "s:9000", "a port of the sender's machine"},
      {"/reverie/unsubscribe", "i:-1", "a port of the sender's machine"},
  };
  const struct parameters before = *turn(rig);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(say(rig, cases[i].address, cases[i].value, NULL), OSC_REFUSED);
    assert_int_equal(rig->heard.count, 1);
    char begin[120];
    snprintf(begin, sizeof begin, "/reverie/error s:%s s:", cases[i].address);
    if (strncmp(rig->heard.text[0], begin, strlen(begin)) != 0 || !strstr(rig->heard.text[0], cases[i].why))
      fail_msg("%s, not %s", rig->heard.text[0], cases[i].why);
    assert_true(parameters_equal(turn(rig), &before, ~0u));
  }
  assert_int_equal(say(rig, "/reverie/page-code", "i:0", NULL), OSC_SET);
  free(longer);
}

static void others_messages_are_nobodys(void **state) {
  struct rig *rig = *state;
  static const char *const addresses[] = {"/ping", "/accxyz", "/reveries/strength", "/reverie/error",
                                          "/reverie/figures/fps"};
  for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
    assert_int_equal(say(rig, addresses[i], "s:x", NULL), OSC_DONE);
    assert_int_equal(rig->heard.count, 0);
  }
  /* A message that looks like an answer gets no answer, so that two programs cannot answer each other forever. */
  say(rig, "/reverie/strength/range", "f:0", "f:1");
  assert_int_equal(rig->heard.count, 0);
  say(rig, "/reverie/list", "s:/reverie/strength", "s:real");
  assert_int_equal(rig->heard.count, 0);
}

static void assert_answer(struct rig *rig, const char *address, const char *answer) {
  assert_int_equal(say(rig, address, NULL, NULL), OSC_DONE);
  assert_int_equal(rig->heard.count, 1);
  assert_string_equal(rig->heard.text[0], answer);
}

static void values_and_ranges_are_answered(void **state) {
  struct rig *rig = *state;
  assert_answer(rig, "/reverie/strength/get", "/reverie/strength f:0.5");
  assert_answer(rig, "/reverie/strength", "/reverie/strength f:0.5");
  assert_answer(rig, "/reverie/lora/8/weight/get", "/reverie/lora/8/weight f:1");
  assert_answer(rig, "/reverie/show/get", "/reverie/show i:0 s:picture");
  assert_answer(rig, "/reverie/hud/get", "/reverie/hud i:1");
  assert_answer(rig, "/reverie/prompt/1/get", "/reverie/prompt/1 s:neon");
  assert_answer(rig, "/reverie/prompt/3/get", "/reverie/prompt/3 s:");
  assert_answer(rig, "/reverie/size/get", "/reverie/size i:0 i:0");
  say(rig, "/reverie/seed", "h:5000000000", NULL);
  assert_answer(rig, "/reverie/seed/get", "/reverie/seed h:5000000000");
  assert_answer(rig, "/reverie/strength/range", "/reverie/strength/range f:0 f:1 f:0.5 s: s:real");
  assert_answer(rig, "/reverie/steps/range", "/reverie/steps/range i:1 i:50 i:1 s:steps s:whole");
  assert_answer(rig, "/reverie/pause/range", "/reverie/pause/range i:0 i:1 i:0 s: s:switch");
  assert_answer(rig, "/reverie/show/range", "/reverie/show/range i:0 i:2 i:0 s: s:choice s:picture|map|beside");
  assert_answer(rig, "/reverie/prompt/1/range", "/reverie/prompt/1/range i:0 i:2047 s: s: s:text");
  assert_answer(rig, "/reverie/size/range", "/reverie/size/range i:1 i:8192 s: s:pixels s:size");
}

/* Every address in the list is answered, and no two are equal. */
static void the_list_is_whole(void **state) {
  struct rig *rig = *state;
  assert_int_equal(say(rig, "/reverie/list", NULL, NULL), OSC_DONE);
  int count, parameters = 0;
  commands_table(&count);
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    parameters += parameter_instances(id);
  struct heard *list = malloc(sizeof *list);
  assert_non_null(list);
  *list = rig->heard;
  assert_int_equal(list->count, count + parameters);
  for (int i = 0; i < parameters; i++) {
    char address[OSC_ADDRESS_MAX + 8], answer[OSC_ADDRESS_MAX + 16];
    assert_int_equal(sscanf(list->text[i], "/reverie/list s:%80s ", address), 1);
    for (int j = 0; j < i; j++)
      assert_true(strncmp(list->text[i], list->text[j], strlen("/reverie/list s:") + strlen(address) + 1) != 0);
    snprintf(answer, sizeof answer, "%s ", address);
    assert_int_equal(say(rig, address, NULL, NULL), OSC_DONE);
    assert_int_equal(rig->heard.count, 1);
    assert_memory_equal(rig->heard.text[0], answer, strlen(answer));
  }
  free(list);
}

static void commands_run_and_buttons_are_let_go(void **state) {
  struct rig *rig = *state;
  assert_int_equal(say(rig, "/reverie/command/pause", "f:1", NULL), OSC_DONE);
  assert_true(turn(rig)->pause);
  say(rig, "/reverie/command/pause", "f:0", NULL);
  assert_true(turn(rig)->pause);
  say(rig, "/reverie/command/pause", "T", NULL);
  assert_false(turn(rig)->pause);
  say(rig, "/reverie/command/pause", "F", NULL);
  assert_false(turn(rig)->pause);
  say(rig, "/reverie/command/stronger", NULL, NULL);
  assert_float_equal(turn(rig)->strength, 0.55, 1e-9);
  say(rig, "/reverie/command/stronger", "f:0.2", NULL);
  assert_float_equal(turn(rig)->strength, 0.75, 1e-9);
  say(rig, "/reverie/command/stronger", "T", NULL);
  assert_float_equal(turn(rig)->strength, 0.8, 1e-9);
  say(rig, "/reverie/prompt/3", "s:x", NULL);
  turn(rig);
  say(rig, "/reverie/command/prompt", "i:3", NULL);
  assert_int_equal(turn(rig)->shown_prompt, 3);
}

/* --- address patterns --- */

static bool matches(const char *text, const char *address) {
  struct osc_pattern pattern;
  struct error err;
  long work = 1000000;
  if (osc_pattern_read(&pattern, text, &err))
    fail_msg("%s: %s", text, err.message);
  bool match = osc_pattern_matches(&pattern, address, &work);
  assert_true(work >= 0);
  return match;
}

static void patterns_match_as_osc_says(void **state) {
  (void)state;
  static const struct {
    const char *pattern, *address;
    bool match;
  } cases[] = {
      {"/a/b", "/a/b", true},
      {"/a/b", "/a/bc", false},
      {"/a/?", "/a/b", true},
      {"/a/?", "/a/", false},
      {"/a?b", "/a/b", false}, /* "/" is matched by itself alone */
      {"/a*b", "/a/b", false},
      {"/a/*", "/a/", true},
      {"/a/*", "/a/b/c", false},
      {"/*/*", "/a/b", true},
      {"/a/*d", "/a/bcd", true},
      {"/a/*b*d*", "/a/xbxdx", true},
      {"/a/*b*d", "/a/xbxdx", false},
      {"/***", "/", true},
      {"/[a-c]x", "/bx", true},
      {"/[a-c]x", "/dx", false},
      {"/[!a-c]x", "/dx", true},
      {"/[!a-c]x", "/bx", false},
      {"/[xa-]", "/-", true},
      {"/[-a]", "/-", true},
      {"/[]", "/a", false},
      {"/[!]", "/a", true},
      {"/[c-a]", "/b", false},
      {"/{one,two}", "/two", true},
      {"/{one,two}", "/onetwo", false},
      {"/{one,two}3", "/one3", true},
      {"/{one,}3", "/3", true},
      {"/{on,one}e", "/onee", true}, /* words that begin alike */
      {"/{on,one}e", "/one", true},
      {"/{}", "/", true},
      {"/{a,b}{c,d}", "/bc", true},
      {"/{a*,b}", "/ax", false}, /* words have no wildcards */
      {"/{se_ed,x}_a[_]", "/se-ed-a-", true},
      {"/a}b]c", "/a}b]c", true}, /* a bracket that does not open is a character */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (matches(cases[i].pattern, cases[i].address) != cases[i].match)
      fail_msg("%s and %s", cases[i].pattern, cases[i].address);
}

static void wrong_patterns_are_refused(void **state) {
  struct rig *rig = *state;
  char longer[OSC_PATTERN_MAX + 2] = "/reverie/";
  memset(longer + 9, '*', sizeof longer - 10);
  longer[sizeof longer - 1] = 0;
  const struct {
    const char *address, *why;
  } cases[] = {{"/reverie/[a-c", "a [ without a ]"},
               {"/reverie/{a,b", "a { without a }"},
               {"/reverie/[a/b]", "a [ without a ]"},
               {"/reverie/{lora/1,mix}", "a { without a }"},
               {longer, "at most 255 bytes"},
               {"/reverie/no-such*", "no parameter and no command"},
               {"/reverie/prompt/*", "a text is needed"},
               {"/reverie/fit*", "when the program starts"},
               {"/reverie/[!a-z]*", "no parameter and no"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_int_equal(say(rig, cases[i].address, "f:0.5", NULL), OSC_REFUSED);
    assert_int_equal(rig->heard.count, 1);
    if (!strstr(rig->heard.text[0], cases[i].why))
      fail_msg("%s, not %s", rig->heard.text[0], cases[i].why);
  }
  assert_int_equal(say(rig, "/composition/layers/*/opacity", "f:0.5", NULL), OSC_DONE);
  assert_int_equal(rig->heard.count, 0);
}

static void patterns_set_all_that_they_match(void **state) {
  struct rig *rig = *state;
  assert_int_equal(say(rig, "/reverie/{strength,mix}", "f:0.25", NULL), OSC_DONE);
  assert_float_equal(turn(rig)->strength, 0.25, 0);
  assert_float_equal(turn(rig)->mix, 0.25, 0);
  say(rig, "/reverie/lora/[2-4]/weight", "f:-0.5", NULL);
  for (int i = 1; i <= 5; i++)
    assert_float_equal(parameters_number(turn(rig), PARAMETER_LORA_WEIGHT, i), i >= 2 && i <= 4 ? -0.5 : 1, 0);
  say(rig, "/*/seed_w?lk", "i:3", NULL);
  assert_float_equal(turn(rig)->seed_walk, 3, 0);
  say(rig, "/reverie/prompt/?", "s:oil", NULL);
  assert_string_equal(parameters_text(turn(rig), PARAMETER_PROMPT, 9), "oil");
  /* a parameter of the pattern that cannot have the value stays as it is, and no error is sent */
  const char *model = parameters_text(turn(rig), PARAMETER_MODEL, 0);
  assert_int_equal(say(rig, "/reverie/{model,detail,fit}", "f:0.75", NULL), OSC_DONE);
  assert_int_equal(rig->heard.count, 0);
  assert_float_equal(turn(rig)->detail, 0.75, 0);
  assert_ptr_equal(parameters_text(turn(rig), PARAMETER_MODEL, 0), model);
}

static void patterns_ask_and_run(void **state) {
  struct rig *rig = *state;
  assert_int_equal(say(rig, "/reverie/{mix,strength}/get", NULL, NULL), OSC_DONE);
  assert_int_equal(rig->heard.count, 2);
  /* answers come in the order of the table of parameters */
  assert_string_equal(rig->heard.text[0], "/reverie/strength f:0.5");
  assert_string_equal(rig->heard.text[1], "/reverie/mix f:1");
  say(rig, "/reverie/blend/*", NULL, NULL);
  assert_int_equal(rig->heard.count, SLOT_PRESETS);
  say(rig, "/reverie/*/range", NULL, NULL);
  assert_non_null(find_heard(&rig->heard, "/reverie/steps/range i:1 i:50"));
  say(rig, "/reverie/command/{free,blac}*", NULL, NULL);
  assert_true(turn(rig)->freeze && turn(rig)->blackout);
  say(rig, "/reverie/command/*quit*", NULL, NULL);
  turn(rig);
  assert_false(rig->state.quit);
}

/* Any pattern is compared with any address within a bounded number of steps, which a limit can stop. */
static void matching_is_bounded(void **state) {
  (void)state;
  char text[OSC_PATTERN_MAX + 1] = "", address[OSC_ADDRESS_MAX];
  static const char *const pieces[] = {"*a", "?*", "*[a]*", "{a,aa,}*", "*{,a,aa,aaa}", "[!b]*"};
  memset(address, 'a', sizeof address);
  address[0] = '/';
  address[sizeof address - 2] = 'c';
  address[sizeof address - 1] = 0;
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
    struct osc_pattern pattern;
    struct error err;
    long most = (OSC_PATTERN_MAX + 1) * OSC_ADDRESS_MAX, work = most, little = 100;
    for (strcpy(text, "/"); strlen(text) + strlen(pieces[i]) + 1 < sizeof text;)
      strcat(text, pieces[i]);
    strcat(text, "b");
    assert_int_equal(osc_pattern_read(&pattern, text, &err), 0);
    assert_false(osc_pattern_matches(&pattern, address, &work));
    assert_in_range(work, 0, most);
    assert_false(osc_pattern_matches(&pattern, address, &little));
    assert_true(little < 0);
  }
}

/* --- packets --- */

/* Serialises the message with liblo. */
static size_t pack(lo_message message, const char *address, uint8_t *bytes, size_t size) {
  size_t length = size;
  assert_non_null(lo_message_serialise(message, address, bytes, &length));
  lo_message_free(message);
  return length;
}

static void bundles_are_read(void **state) {
  struct rig *rig = *state;
  lo_bundle inner = lo_bundle_new(LO_TT_IMMEDIATE), outer = lo_bundle_new((lo_timetag){0xffffffff, 0});
  lo_message first = lo_message_new(), second = lo_message_new();
  uint8_t bytes[512];
  size_t size = sizeof bytes;
  lo_message_add_float(first, 0.25f);
  lo_message_add_string(second, "oil");
  lo_bundle_add_message(inner, "/b", second);
  lo_bundle_add_message(outer, "/a", first);
  lo_bundle_add_bundle(outer, inner);
  assert_non_null(lo_bundle_serialise(outer, bytes, &size));
  assert_int_equal(osc_read(bytes, size, write_down, &rig->heard), 2);
  assert_string_equal(rig->heard.text[0], "/a f:0.25");
  assert_string_equal(rig->heard.text[1], "/b s:oil");
  lo_bundle_free_recursive(outer);
}

static void every_type_is_read(void **state) {
  struct rig *rig = *state;
  uint8_t bytes[512];
  lo_message message = lo_message_new();
  lo_message_add(message, "ifhdsTFI", 7, (double)0.5, (int64_t)1 << 40, 0.125, "x");
  size_t size = pack(message, "/all", bytes, sizeof bytes);
  assert_int_equal(osc_read(bytes, size, write_down, &rig->heard), 1);
  assert_string_equal(rig->heard.text[0], "/all i:7 f:0.5 h:1.099511628e+12 d:0.125 s:x T:1 F:0 I:1");
}

static void note_number(void *opaque, const struct osc_message *message) {
  *(double *)opaque = message->argument[0].number;
}

static double through_float(float number) {
  uint8_t bytes[64];
  double read = -1;
  lo_message message = lo_message_new();
  lo_message_add_float(message, number);
  size_t size = pack(message, "/x", bytes, sizeof bytes);
  assert_int_equal(osc_read(bytes, size, note_number, &read), 1);
  return read;
}

/* A float that is nearest to a number of few digits is read as that number; every float is written back unchanged. */
static void floats_are_what_is_meant(void **state) {
  (void)state;
  static const double meant[] = {0.7, 0.1, -0.35, 1.2, 33.3, 0.001, 1e-7, 2, 0, 16777216, 0.123456};
  for (size_t i = 0; i < sizeof meant / sizeof *meant; i++)
    assert_true(through_float((float)meant[i]) == meant[i]);
  for (int i = 0; i <= 1000; i++)
    assert_true(through_float((float)i / 1000) == i / 1000.0);
  for (int i = 0; i < 2000; i++) {
    float number = (float)ldexp((double)rand() / RAND_MAX - 0.5, rand() % 60 - 30);
    assert_true((float)through_float(number) == number);
  }
  assert_true(isinf(through_float(INFINITY)) && isnan(through_float(NAN)));
}

/* A packet that is cut anywhere, or has any byte changed, is read or refused without harm; a cut packet has no
 * effect. */
static void damaged_packets_do_nothing(void **state) {
  struct rig *rig = *state;
  uint8_t bytes[512], other[512];
  lo_message message = lo_message_new();
  lo_message_add(message, "fs", 0.5, "words");
  size_t size = pack(message, "/reverie/strength", bytes, sizeof bytes);
  for (size_t cut = 0; cut < size; cut++)
    assert_int_equal(osc_read(bytes, cut, write_down, &rig->heard), 0);
  for (size_t at = 0; at < size; at++)
    for (int bit = 0; bit < 8; bit++) {
      memcpy(other, bytes, size);
      other[at] ^= (uint8_t)(1 << bit);
      rig->heard.count = 0;
      osc_read(other, size, write_down, &rig->heard);
    }
  static const uint8_t deep[] = "#bundle\0\0\0\0\0\0\0\0\1\0\0\xff\xff/a\0\0,\0\0\0";
  assert_int_equal(osc_read(deep, sizeof deep - 1, write_down, &rig->heard), 0);
}

static void packets_hold_what_fits(void **state) {
  struct rig *rig = *state;
  struct osc_packet packet = {.size = 0};
  struct osc_message message = {.address = "/reverie/strength", .argument = {{'f', 0.5, NULL}}, .count = 1};
  size_t size;
  osc_bytes(&packet, &size);
  assert_int_equal(size, 0);
  assert_true(osc_add(&packet, &message));
  const uint8_t *bytes = osc_bytes(&packet, &size);
  assert_int_equal(*bytes, '/'); /* a single message is sent without a bundle */
  assert_int_equal(osc_read(bytes, size, write_down, &rig->heard), 1);
  int count = 1;
  while (osc_add(&packet, &message))
    count++;
  bytes = osc_bytes(&packet, &size);
  assert_in_range(size, OSC_PACKET_MAX - 40, OSC_PACKET_MAX);
  rig->heard.count = 0;
  assert_int_equal(osc_read(bytes, size, write_down, &rig->heard), count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_RIG(numbers_of_all_types_are_taken),
      WITH_RIG(texts_and_sizes_are_taken),
      WITH_RIG(what_is_wrong_is_refused),
      WITH_RIG(others_messages_are_nobodys),
      WITH_RIG(values_and_ranges_are_answered),
      WITH_RIG(the_list_is_whole),
      WITH_RIG(commands_run_and_buttons_are_let_go),
      cmocka_unit_test(patterns_match_as_osc_says),
      WITH_RIG(wrong_patterns_are_refused),
      WITH_RIG(patterns_set_all_that_they_match),
      WITH_RIG(patterns_ask_and_run),
      cmocka_unit_test(matching_is_bounded),
      WITH_RIG(bundles_are_read),
      WITH_RIG(every_type_is_read),
      cmocka_unit_test(floats_are_what_is_meant),
      WITH_RIG(damaged_packets_do_nothing),
      WITH_RIG(packets_hold_what_fits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
