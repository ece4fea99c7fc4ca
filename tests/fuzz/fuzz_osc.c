/* Fuzzes OSC packets, which any program on the network may send. */
#include "tests/fuzz/fuzz.h"

#include <string.h>

#include "app/remote/osc_talk.h"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("/reverie/strength\0\0\0", ",f\0\0\x3f\x00\x00\x00"),
    FUZZ_SEED("/reverie/prompt/2\0\0\0", ",s\0\0oil\0"),
    FUZZ_SEED("/reverie/size\0\0\0", ",ii\0\0\0\1\0\0\0\2\0"),
    FUZZ_SEED("/reverie/lora/1/weight\0\0", ",dTFIh\0\0\x3f\xf0\0\0\0\0\0\0\0\0\0\0\0\0\0\1"),
    FUZZ_SEED("/reverie/command/new-seed\0\0\0", ",\0\0\0"),
    FUZZ_SEED("/reverie/cued-scene\0", ",s\0\0oil\0"),
    FUZZ_SEED("/reverie/clip-{in,out}\0\0", ",f\0\0\x3f\x00\x00\x00"),
    FUZZ_SEED("/reverie/show/range\0", ",\0\0\0"),
    FUZZ_SEED("/reverie/{strength,mix}\0", ",f\0\0\x3f\x00\x00\x00"),
    FUZZ_SEED("/*[!a-q]*/lora/?/{weight,}*\0", ",f\0\0\x3f\x00\x00\x00"),
    FUZZ_SEED("/reverie/*/{get,a}*[a-c-]\0\0", ",\0\0\0"),
    FUZZ_SEED("#bundle\0\0\0\0\0\0\0\0\1", "\0\0\0\x14/reverie/list\0\0\0,\0\0\0"
                                           "\0\0\0\x18/reverie/mix/get\0\0\0\0,\0\0\0"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

struct run {
  struct hub *hub;
  int answers;
};

/* Checks that an answer is a message that this program itself reads, and fits into a packet. */
static void check_answer(void *opaque, const struct osc_message *message) {
  struct run *run = opaque;
  struct osc_packet packet = {.size = 0};
  run->answers++;
  FUZZ_CHECK(!strncmp(message->address, OSC_ROOT, strlen(OSC_ROOT)));
  FUZZ_CHECK(osc_add(&packet, message) || !strcmp(message->address, OSC_ROOT "error"));
}

static void note_set(void *opaque, const struct osc_name *name) {
  (void)opaque;
  FUZZ_CHECK(name->verb == OSC_PARAMETER && name->id > PARAMETER_NONE && name->id < PARAMETERS);
}

static void take(void *opaque, const struct osc_message *message) {
  struct run *run = opaque;
  const struct osc_sink sink = {check_answer, run};
  struct osc_name name;
  struct error err = {0};
  long work = 1 << 16;
  FUZZ_CHECK(message->count >= 0 && message->count <= OSC_ARGUMENTS_MAX && strlen(message->address) < 4096);
  enum osc_result result = osc_is_pattern(message->address)
                               ? osc_take_pattern(run->hub, message, &sink, &work, note_set, run, &err)
                               : osc_take(run->hub, message, &sink, &name, &err);
  FUZZ_CHECK((result == OSC_REFUSED) == (*err.message != 0) && !strchr(err.message, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct parameters values;
  struct live_state state = {.ready = true, .slot_before = 1};
  struct run run = {.answers = 0};
  struct error err;
  parameters_init(&values);
  settings_begin(&state.settings, &values);
  FUZZ_CHECK(!hub_open(&run.hub, &state, &err));
  osc_read(data, size, take, &run);
  hub_take(run.hub, &state, 0);
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    for (int i = 0; i < parameter_instances(id); i++) {
      const struct parameter_row *row = parameter_row(id);
      double number = parameters_number(&state.settings.values, id, row->first + i);
      FUZZ_CHECK((row->type != TYPE_REAL && row->type != TYPE_WHOLE) || (number >= row->min && number <= row->max));
    }
  hub_close(&run.hub);
  return 0;
}
