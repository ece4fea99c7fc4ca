/* Fuzzes lines that clients of the IPC socket and the web page send, and checks the window's state afterwards. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include <cjson/cJSON.h>

#include "app/remote/messages.h"

#define COMMAND(rest) "{\"command\":[" rest "],\"request_id\":7}"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("", COMMAND("\"set_property\",\"strength\",0.7") "\n" COMMAND("\"get_property\",\"strength\"")),
    FUZZ_SEED("", COMMAND("\"set_property\",\"prompt[2]\",\"a \\\"fox\\\" \\u00e9 \\ud83e\\udd8a\"")),
    FUZZ_SEED("", COMMAND("\"set_property\",\"guidance-mode\",\"self\"") "\n" COMMAND("\"cycle\",\"show\"")),
    FUZZ_SEED("", COMMAND("\"set_property\",\"size\",\"512x288\"") "\n" COMMAND("\"larger\",64")),
    FUZZ_SEED("", COMMAND("\"observe_property\",1,\"figures\"") "\n" COMMAND("\"unobserve_property\",1")),
    FUZZ_SEED("", COMMAND("\"add\",\"seed-position\",-2.5e3") "\n" COMMAND("\"new-seed\"")),
    FUZZ_SEED("", COMMAND("\"prompt\",3") "\n" COMMAND("\"blend\",2") "\n" COMMAND("\"more-blend\",1e99")),
    FUZZ_SEED("", COMMAND("\"observe_property\",3,\"scene-list\"") "\n" COMMAND("\"get_property\",\"midi-list\"")),
    FUZZ_SEED("", COMMAND("\"set_property\",\"clip-in\",1.25") "\n" COMMAND("\"set_property\",\"clip-speed\",0.5")),
    FUZZ_SEED("", COMMAND("\"set_property\",\"clip-loop\",\"hold\"") "\n" COMMAND("\"mark-out\",9e9")),
    FUZZ_SEED("", COMMAND("\"set_property\",\"cued-scene\",\"night\"") "\n" COMMAND("\"cue-source\"")),
    FUZZ_SEED("", COMMAND("\"set_property\",\"model\",\"/etc/passwd\"") "\n" COMMAND("\"next-model\"")),
    FUZZ_SEED("", COMMAND("\"seed-on\",1e300") "\n" COMMAND("\"more-lora\",2") "\n" COMMAND("\"more-control\",2")),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

static struct live_state state;
static struct hub *hub;
static struct message_view view;

static void begin(void) {
  struct error err;
  struct parameters values;
  if (hub)
    return;
  parameters_init(&values);
  state = (struct live_state){.ready = true, .slot_before = 1};
  FUZZ_CHECK(!parameters_set_text(&values, PARAMETER_PROMPT, 1, "neon", &err));
  FUZZ_CHECK(!parameters_set_size(&values, PARAMETER_SIZE, 0, 512, 512, &err));
  settings_begin(&state.settings, &values);
  FUZZ_CHECK(!hub_open(&hub, &state, &err));
  view.hub = hub;
}

/* Checks that each line of the answers is one JSON object. */
static void check_lines(const struct message_lines *lines) {
  for (size_t used = 0; used < lines->used;) {
    const char *at = lines->text + used, *end = memchr(at, '\n', lines->used - used);
    FUZZ_CHECK(end && *at == '{' && end[-1] == '}');
    cJSON *object = cJSON_ParseWithLength(at, (size_t)(end - at));
    FUZZ_CHECK(cJSON_IsObject(object));
    cJSON_Delete(object);
    used += (size_t)(end - at) + 1;
  }
  FUZZ_CHECK(lines->used <= MESSAGE_BACKLOG_MAX);
}

/* Checks that after any input each number is in its range, and that no client can name a file. */
static void check_values(const struct parameters *values) {
  struct parameters copy = *values;
  struct error err;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    for (int i = row->first; i < row->first + parameter_instances(id); i++)
      if (row->type == TYPE_TEXT)
        FUZZ_CHECK(id == PARAMETER_PROMPT || id == PARAMETER_NEGATIVE || !parameters_text(values, id, i));
      else if (row->type != TYPE_SIZE)
        FUZZ_CHECK(!parameters_set_number(&copy, id, i, parameters_number(values, id, i), &err));
  }
  FUZZ_CHECK(values->size.width >= 0 && values->size.width <= 8192);
  FUZZ_CHECK(values->size.height >= 0 && values->size.height <= 8192);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct messages *client;
  struct message_lines lines = {0};
  struct error err;
  begin();
  FUZZ_CHECK(!messages_open(&client, hub, &err));
  /* a client whose line is too long is disconnected, so the loop ends */
  for (size_t at = 0; at < size && !lines.lost;) {
    const uint8_t *end = memchr(data + at, '\n', size - at);
    size_t length = end ? (size_t)(end - data) - at : size - at;
    messages_answer(client, (const char *)data + at, length, &lines);
    at += length + 1;
  }
  hub_take(hub, &state, 0);
  check_values(&state.settings.values);
  FUZZ_CHECK(!state.quit);
  hub_publish(hub, &state.settings.values, &(struct hub_figures){.fps = 1});
  hub_get_values(hub, &view.values);
  messages_tell(client, &view, &lines);
  check_lines(&lines);
  message_lines_free(&lines);
  messages_close(&client);
  return 0;
}
