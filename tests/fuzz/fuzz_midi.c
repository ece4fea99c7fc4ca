/* Fuzzes MIDI input and the text format in which bindings are saved: the first byte of an input selects which. */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <string.h>

#include "app/remote/midi_feedback.h"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("b", "\xb0\x15\x40\x15\x41\xf8\x90\x24\x7f\x24\x02\xe0\x7f\x7f\xc0\x04\xd0\x10"),
    FUZZ_SEED("b", "\xb0\x63\x02\x62\x2c\x06\x40\x26\x01\xf0\x7e\x01\xf7\xb0\x01\x40\x21\x01"),
    FUZZ_SEED("t", "{\"bindings\":[{\"knob\":\"cc 21\",\"channel\":1,\"sets\":\"strength\",\"low\":0,\"high\":1},"
                   "{\"knob\":\"note 36\",\"channel\":1,\"sets\":\"command/prompt=3\"},{\"knob\":\"bend\","
                   "\"channel\":1,\"sets\":\"show\"}]}"),
    FUZZ_SEED("t", "{\"bindings\":[{\"knob\":\"cc14 1\",\"channel\":16,\"sets\":\"lora[8].weight\",\"low\":-100,"
                   "\"high\":100},{\"knob\":\"nrpn 16383\",\"channel\":2,\"sets\":\"steps\"}],\"x\":1}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

/* Checks that what is sent to the controller are whole messages: a status byte, followed by data bytes alone. */
static void send_back(struct midi_feedback *feedback, const struct knobs *knobs, const struct parameters *values,
                      int64_t now_ns) {
  uint8_t bytes[24];
  size_t count = midi_feedback_make(feedback, knobs, values, now_ns, bytes, sizeof bytes);
  FUZZ_CHECK(count <= sizeof bytes && count % 3 == 0);
  for (size_t i = 0; i < count; i++)
    FUZZ_CHECK((bytes[i] >= 128) == (i % 3 == 0));
}

/* Whatever comes, what is to be set is in range, and what runs has a name. */
static void play(struct knobs *knobs, const uint8_t *data, size_t size) {
  struct midi_reader reader = {0};
  struct midi_message message;
  struct midi_feedback feedback;
  struct parameters values;
  struct error err;
  parameters_init(&values);
  midi_feedback_forget(&feedback, knobs);
  for (size_t i = 0; i < size; i++) {
    if (!midi_read(&reader, data[i], &message))
      continue;
    bool of_clock = message.kind >= MIDI_TICK, wide = message.kind == MIDI_BEND || message.kind == MIDI_SONG;
    FUZZ_CHECK(message.channel >= !of_clock && message.channel <= (of_clock ? 0 : 16));
    FUZZ_CHECK(message.number >= 0 && message.number <= 127);
    FUZZ_CHECK(message.value >= 0 && message.value <= (wide ? 16383 : 127));
    struct knob_action action = knobs_take(knobs, &message, &values, (int64_t)i * 10000000);
    if (action.kind == KNOB_SETS)
      FUZZ_CHECK(!parameters_set_number(&values, action.target.id, action.target.index, action.number, &err));
    send_back(&feedback, knobs, &values, (int64_t)i * 10000000);
    midi_feedback_is_echo(&feedback, knobs, &message, (int64_t)i * 10000000);
    FUZZ_CHECK(action.kind != KNOB_RUNS || (action.target.command && *action.target.command->name));
  }
}

static void read_text(const char *text, size_t size) {
  struct knobs knobs, again;
  struct error err = {0};
  struct knobs_unknown unknown;
  if (knobs_read(&knobs, text, &unknown, &err)) {
    FUZZ_CHECK(!knobs.count && *err.message && !strchr(err.message, '\n'));
    return;
  }
  play(&knobs, (const uint8_t *)text, size);
  char *written = knobs_write(&knobs, text);
  FUZZ_CHECK(written && !knobs_read(&again, written, &unknown, &err) && again.count == knobs.count);
  free(written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {"strength", "show", "pause", "steps", "new-seed", "seed-position"};
  if (!size)
    return 0;
  if (*data == 't') {
    char *text = malloc(size);
    FUZZ_CHECK(text);
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    read_text(text, size - 1);
    free(text);
    return 0;
  }
  struct knobs knobs = {0};
  struct knob_target target;
  struct error err;
  size_t part = (size - 1) / (sizeof names / sizeof *names) + 1;
  for (size_t i = 0; i * part < size - 1; i++) {
    FUZZ_CHECK(!knob_target_find(&target, names[i], &err));
    knobs_learn(&knobs, &target);
    play(&knobs, data + 1 + i * part, size - 1 - i * part);
  }
  return 0;
}
