/* Tests MIDI input from a named pipe, a file and, if there is one, ALSA's sequencer, as far as the hub; and the file in
 * which bindings are saved. */
#include "tests/rigs/cmocka_all.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/remote/midi.h"
#include "app/remote/midi_keep.h"
#include "tests/rigs/fixture.h"
#include "unet/base/platform.h"

enum { WAIT_MS = 60000 };

struct rig {
  char *folder;
  char *kept; /* path of the file with saved bindings */
  char *pipe;
  int writer; /* descriptor of the pipe's writing end; -1: none */
  struct live_state state;
  struct hub *hub;
  struct midi *midi;
  struct log log;
  char warned[512];
  atomic_int warnings;
};

static void take_line(void *opaque, enum log_level level, const char *text) {
  struct rig *rig = opaque;
  if (level != LOG_WARNING)
    return;
  snprintf(rig->warned, sizeof rig->warned, "%s", text);
  atomic_fetch_add(&rig->warnings, 1);
}

static int open_rig(void **state) {
  struct rig *rig = calloc(1, sizeof *rig);
  struct parameters values;
  struct error err;
  assert_non_null(rig);
  *state = rig;
  rig->folder = fixture_make();
  rig->kept = fixture_path(rig->folder, "reverie/midi.json");
  rig->pipe = fixture_path(rig->folder, "pipe");
  rig->writer = -1;
  rig->log = (struct log){take_line, rig};
  setenv("XDG_CONFIG_HOME", rig->folder, 1);
  parameters_init(&values);
  rig->state = (struct live_state){.ready = true, .slot_before = 1, .midi = true};
  settings_begin(&rig->state.settings, &values);
  return mkfifo(rig->pipe, 0600) || hub_open(&rig->hub, &rig->state, &err);
}

static int close_rig(void **state) {
  struct rig *rig = *state;
  assert_true(midi_stop(&rig->midi, 60000));
  hub_close(&rig->hub);
  if (rig->writer >= 0)
    close(rig->writer);
  free(rig->kept);
  free(rig->pipe);
  fixture_remove(rig->folder);
  free(rig);
  return 0;
}

/* Does what the window's thread does in one pass of its loop. */
static struct parameters *turn(struct rig *rig) {
  struct hub_figures figures = {.ready = true};
  char told[HUB_NOTICE_MAX];
  if (hub_take_notice(rig->hub, told))
    live_notice(&rig->state, 1, "%s", told);
  hub_take(rig->hub, &rig->state, 1);
  hub_publish(rig->hub, &rig->state.settings.values, &figures);
  return &rig->state.settings.values;
}

static void start(struct rig *rig, const char *source) {
  const struct midi_params params = {.source = source, .hub = rig->hub, .log = &rig->log};
  struct error err;
  if (midi_start(&rig->midi, &params, &err))
    fail_msg("%s", err.message);
}

static void play(struct rig *rig, const char *bytes, size_t size) {
  if (rig->writer < 0)
    rig->writer = open(rig->pipe, O_WRONLY);
  assert_true(rig->writer >= 0);
  assert_int_equal(write(rig->writer, bytes, size), size);
}

#define PLAY(rig, bytes) play(rig, bytes, sizeof bytes - 1)

static void await_strength(struct rig *rig, double strength) {
  for (int i = 0; i < WAIT_MS && turn(rig)->strength != strength; i++)
    platform_sleep_ns(1000000);
  assert_float_equal(turn(rig)->strength, strength, 0);
}

static void await_notice(struct rig *rig, const char *words) {
  for (int i = 0; i < WAIT_MS && !strstr(rig->state.notice, words); i++) {
    platform_sleep_ns(1000000);
    turn(rig);
  }
  if (!strstr(rig->state.notice, words))
    fail_msg("%s, not %s", rig->state.notice, words);
}

static void await_file(const struct rig *rig, const char *words) {
  char *text = NULL;
  for (int i = 0; i < WAIT_MS && !(text && strstr(text, words)); i++) {
    free(text);
    text = fixture_read(rig->kept, NULL);
    if (!text)
      platform_sleep_ns(1000000);
  }
  if (!text || !strstr(text, words))
    fail_msg("%s, not %s", text ? text : "no file", words);
  free(text);
}

static void run_command(struct rig *rig, const char *name) {
  int count;
  const struct command_entry *entries = commands_table(&count);
  for (int i = 0; i < count; i++)
    if (!strcmp(entries[i].name, name))
      commands_call(&rig->state, &entries[i], entries[i].value, 1);
}

#define BINDING "{\"bindings\": [{\"knob\": \"cc 21\", \"channel\": 1, \"sets\": \"strength\"}]}"

static void bound_knobs_set_values(void **state) {
  struct rig *rig = *state;
  fixture_text(rig->folder, "reverie/midi.json", BINDING);
  start(rig, rig->pipe);
  PLAY(rig, "\xb0\x15\x40\xf8\x15\x7f");
  await_strength(rig, 1);
  PLAY(rig, "\x15");
  PLAY(rig, "\x00");
  await_strength(rig, 0);
  /* After the first writer has closed the pipe, another one opens it. */
  close(rig->writer);
  rig->writer = -1;
  PLAY(rig, "\xb0\x15\x7f");
  await_strength(rig, 1);
  assert_string_equal(rig->warned, "");
}

/* A song position of 64 sixteenth notes is beat 16. */
static void a_clock_sets_the_beat(void **state) {
  struct rig *rig = *state;
  start(rig, rig->pipe);
  PLAY(rig, "\xfc\xf2\x40\x00");
  for (int i = 0; i < WAIT_MS && rig->state.beats.beat != 16; i++) {
    platform_sleep_ns(1000000);
    turn(rig);
  }
  assert_true(rig->state.beats.beat == 16 && rig->state.beats.stopped);
}

/* The key assigns the next knob that moves to the parameter that was changed last. */
static void a_knob_is_learnt_by_the_key(void **state) {
  struct rig *rig = *state;
  start(rig, rig->pipe);
  turn(rig);
  run_command(rig, "midi-learn");
  await_notice(rig, "change what is to be bound first");
  assert_null(parameters_text(turn(rig), PARAMETER_MIDI_LEARN, 0));
  run_command(rig, "stronger");
  turn(rig);
  run_command(rig, "midi-learn");
  await_notice(rig, "move what is to set strength");
  PLAY(rig, "\xb0\x15\x40");
  await_notice(rig, "cc 21 of channel 1 sets strength");
  await_file(rig, "\"cc 21\"");
  char *told = hub_get_list(rig->hub, HUB_KNOBS); /* the list of bindings that clients can read */
  assert_non_null(strstr(told, "\"cc 21\""));
  free(told);
  assert_null(parameters_text(turn(rig), PARAMETER_MIDI_LEARN, 0));
  PLAY(rig, "\xb0\x15\x7f");
  await_strength(rig, 1);
  /* The binding is still known after a restart. */
  assert_true(midi_stop(&rig->midi, 60000));
  start(rig, rig->pipe);
  PLAY(rig, "\xb0\x15\x7f\x15\x00");
  await_strength(rig, 0);
}

static void a_knob_is_learnt_by_name(void **state) {
  struct rig *rig = *state;
  struct error err;
  start(rig, rig->pipe);
  turn(rig);
  assert_int_equal(hub_set_text(rig->hub, PARAMETER_MIDI_LEARN, 0, "no-such-thing", &err), -1);
  hub_set_text(rig->hub, PARAMETER_MIDI_LEARN, 0, "split", &err);
  await_notice(rig, "move what is to set split");
  run_command(rig, "midi-learn"); /* a second press cancels learning */
  assert_string_equal(rig->state.notice, "MIDI: nothing is learnt");
  hub_set_text(rig->hub, PARAMETER_MIDI_LEARN, 0, "pause", &err);
  await_notice(rig, "move what is to set pause");
  PLAY(rig, "\x99\x24\x40\x24\x00");
  await_notice(rig, "note 36 of channel 10 sets pause");
  PLAY(rig, "\x24\x40");
  for (int i = 0; i < WAIT_MS && !turn(rig)->pause; i++)
    platform_sleep_ns(1000000);
  assert_true(turn(rig)->pause);
}

static void without_midi_nothing_is_learnt(void **state) {
  struct rig *rig = *state;
  rig->state.midi = false;
  run_command(rig, "midi-learn");
  assert_non_null(strstr(rig->state.notice, "--midi"));
  assert_null(parameters_text(turn(rig), PARAMETER_MIDI_LEARN, 0));
}

static void a_damaged_file_is_kept_aside(void **state) {
  struct rig *rig = *state;
  char *aside = fixture_path(rig->folder, "reverie/midi.json.damaged");
  fixture_text(rig->folder, "reverie/midi.json", "{\"bindings\": [{\"knob\"");
  start(rig, rig->pipe);
  assert_non_null(strstr(rig->warned, "kept as midi.json.damaged"));
  char *text = fixture_read(aside, NULL);
  assert_string_equal(text, "{\"bindings\": [{\"knob\"");
  free(text);
  free(aside);
  assert_int_equal(access(rig->kept, F_OK), -1);
}

static void what_another_version_wrote_stays(void **state) {
  struct rig *rig = *state;
  struct error err;
  struct knobs knobs;
  fixture_text(rig->folder, "reverie/midi.json",
               "{\"bindings\": [{\"knob\": \"cc 3\", \"channel\": 1, \"sets\": \"quit-at-once\"},"
               "{\"knob\": \"ribbon\", \"channel\": 1, \"sets\": \"strength\"}]}");
  knobs_load(&knobs, rig->kept, &rig->log);
  assert_non_null(strstr(rig->warned, "2 of its bindings"));
  assert_non_null(strstr(rig->warned, "as the one that sets quit-at-once"));
  assert_int_equal(knobs_save(&knobs, rig->kept, &err), 0);
  await_file(rig, "ribbon");
  await_file(rig, "quit-at-once");
  chmod(rig->kept, 0400); /* the file is replaced by a new one, so this does not matter */
  assert_int_equal(knobs_save(&knobs, rig->kept, &err), 0);
  char *nowhere = fixture_path(rig->folder, "no/such/folder/midi.json");
  assert_int_equal(knobs_save(&knobs, nowhere, &err), -1);
  assert_non_null(strstr(err.message, "cannot be kept"));
  free(nowhere);
}

static void a_file_is_played(void **state) {
  struct rig *rig = *state;
  char *path = fixture_path(rig->folder, "bytes");
  fixture_text(rig->folder, "reverie/midi.json", BINDING);
  fixture_write(rig->folder, "bytes", "\xb0\x15\x40\x15\x00", 5);
  start(rig, path);
  await_strength(rig, 0);
  free(path);
}

/* A named pipe in the working directory is also found without "./". */
static void a_pipe_here_needs_no_slash(void **state) {
  struct rig *rig = *state;
  int before = open(".", O_RDONLY | O_DIRECTORY);
  assert_true(before >= 0);
  fixture_text(rig->folder, "reverie/midi.json", BINDING);
  assert_int_equal(chdir(rig->folder), 0);
  start(rig, "pipe");
  PLAY(rig, "\xb0\x15\x40\x15\x7f");
  await_strength(rig, 1);
  PLAY(rig, "\x15\x00");
  await_strength(rig, 0);
  assert_int_equal(fchdir(before), 0);
  close(before);
}

/* A device that sends a lot of nonsense gets at most one log line a second, with the number of errors. */
static void complaints_are_counted(void **state) {
  enum { NOTES = 2000 };
  struct rig *rig = *state;
  char notes[4 * NOTES];
  fixture_text(rig->folder, "reverie/midi.json",
               "{\"bindings\": [{\"knob\": \"note 36\", \"channel\": 10, \"sets\": \"new-seed\"},"
               "{\"knob\": \"cc 21\", \"channel\": 1, \"sets\": \"strength\"}]}");
  start(rig, rig->pipe);
  int64_t began_ns = platform_now_ns();
  for (int i = 0; i < NOTES; i++)
    memcpy(notes + 4 * i, "\x24\x40\x24\x00", 4);
  PLAY(rig, "\x99");
  play(rig, notes, sizeof notes);
  PLAY(rig, "\xb0\x15\x7f\x15\x00");
  for (int i = 0; i < WAIT_MS && !atomic_load(&rig->warnings); i++)
    platform_sleep_ns(1000000);
  await_strength(rig, 0);
  assert_non_null(strstr(rig->warned, "new-seed: too many commands at once"));
  assert_true(atomic_load(&rig->warnings) <= 1 + (platform_now_ns() - began_ns) / 1000000000);
}

static void assert_not_started(struct rig *rig, const char *source, const char *why) {
  const struct midi_params params = {.source = source, .hub = rig->hub, .log = &rig->log};
  struct error err = {0};
  assert_int_equal(midi_start(&rig->midi, &params, &err), -1);
  if (!strstr(err.message, why))
    fail_msg("%s, not %s", err.message, why);
}

/* Values are written to a pipe as soon as it has a reader, and to the next reader as well; without a reader the thread
 * does not wait. */
static void values_go_to_a_pipe(void **state) {
  struct rig *rig = *state;
  char *back = fixture_path(rig->folder, "back");
  const struct midi_params params = {.source = rig->pipe, .target = back, .hub = rig->hub, .log = &rig->log};
  struct error err;
  signal(SIGPIPE, SIG_IGN);
  assert_int_equal(mkfifo(back, 0600), 0);
  fixture_text(rig->folder, "reverie/midi.json", BINDING);
  if (midi_start(&rig->midi, &params, &err))
    fail_msg("%s", err.message);
  for (int level = 127; level >= 0; level -= 127) {
    int reader = open(back, O_RDONLY | O_NONBLOCK);
    char got[3] = "";
    assert_true(reader >= 0);
    hub_set_number(rig->hub, PARAMETER_STRENGTH, 0, level / 127.0, &err);
    await_strength(rig, level / 127.0);
    for (int i = 0; i < WAIT_MS && !(got[0] == '\xb0' && got[1] == 0x15 && got[2] == level); i++)
      if (read(reader, got, sizeof got) < 1)
        platform_sleep_ns(1000000);
    assert_true(got[0] == '\xb0' && got[1] == 0x15 && got[2] == level);
    close(reader);
  }
  PLAY(rig, "\xb0\x15\x40\xb0\x15\x7f\xb0\x15\x00\xb0\x15\x7f"); /* knobs still work while the pipe has no reader */
  await_strength(rig, 1);
  free(back);
}

static void what_is_no_target_is_refused(void **state) {
  struct rig *rig = *state;
  const char *const wrong[] = {"/no/such/device", rig->folder, rig->kept};
  fixture_text(rig->folder, "reverie/midi.json", BINDING);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const struct midi_params params = {.target = wrong[i], .hub = rig->hub, .log = &rig->log};
    struct error err = {0};
    assert_int_equal(midi_start(&rig->midi, &params, &err), -1);
    assert_non_null(strstr(err.message, i ? "neither a device nor a named pipe" : "No such file"));
  }
}

static void what_is_no_source_is_refused(void **state) {
  struct rig *rig = *state;
  assert_not_started(rig, "/no/such/device", "No such file");
  assert_not_started(rig, rig->folder, "it is a folder");
}

/* A second reader of a pipe is refused, because each would get only a part of the input. */
static void a_pipe_has_one_reader(void **state) {
  struct rig *rig = *state;
  struct midi *first;
  fixture_text(rig->folder, "reverie/midi.json", BINDING);
  start(rig, rig->pipe);
  first = rig->midi;
  assert_not_started(rig, rig->pipe, "another program reads this pipe");
  rig->midi = first;
  PLAY(rig, "\xb0\x15\x40\x15\x7f\x15\x00\x15\x7f");
  await_strength(rig, 1);
  assert_true(midi_stop(&rig->midi, 60000));
  start(rig, rig->pipe); /* the pipe is free again */
  PLAY(rig, "\xb0\x15\x7f\x15\x00");
  await_strength(rig, 0);
  /* The pipe is replaced by another one, which another program reads already. */
  assert_int_equal(unlink(rig->pipe), 0);
  assert_int_equal(mkfifo(rig->pipe, 0600), 0);
  int other = open(rig->pipe, O_RDONLY | O_NONBLOCK);
  assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
  close(rig->writer);
  rig->writer = -1;
  for (int i = 0; i < WAIT_MS && !strstr(rig->warned, "another program reads"); i++)
    platform_sleep_ns(1000000);
  assert_non_null(strstr(rig->warned, "another program reads"));
  close(other);
  PLAY(rig, "\xb0\x15\x7f");
  await_strength(rig, 1);
}

/* Skipped if there is no /dev/snd. */
static void the_sequencer_has_a_port(void **state) {
  struct rig *rig = *state;
  if (access("/dev/snd/seq", R_OK | W_OK)) {
    assert_not_started(rig, "", "--midi=/dev/snd/midiC1D0");
    print_message("no /dev/snd/seq: the sequencer itself is not tried\n");
    skip();
  }
  start(rig, "");
  assert_not_started(rig, "no such client", "aconnect");
}

#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, open_rig, close_rig)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_RIG(bound_knobs_set_values),
      WITH_RIG(a_clock_sets_the_beat),
      WITH_RIG(a_knob_is_learnt_by_the_key),
      WITH_RIG(a_knob_is_learnt_by_name),
      WITH_RIG(without_midi_nothing_is_learnt),
      WITH_RIG(a_damaged_file_is_kept_aside),
      WITH_RIG(what_another_version_wrote_stays),
      WITH_RIG(a_file_is_played),
      WITH_RIG(a_pipe_here_needs_no_slash),
      WITH_RIG(complaints_are_counted),
      WITH_RIG(what_is_no_source_is_refused),
      WITH_RIG(a_pipe_has_one_reader),
      WITH_RIG(values_go_to_a_pipe),
      WITH_RIG(what_is_no_target_is_refused),
      WITH_RIG(the_sequencer_has_a_port),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
