#include "app/remote/midi_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"

/* Nanoseconds between two attempts to open a device or pipe that has disappeared. */
static const int64_t again_ns = 250000000;

struct midi_input {
  const struct log *log;
  struct midi_alsa *alsa; /* the port of ALSA's sequencer; NULL: the source is a file, pipe or device at `path` */
  char *path;
  /* the open file, pipe or device; -1: it is closed, because it ended, disappeared or is read by another program */
  int descriptor;
  /* true: reading or opening the file, pipe or device has failed. It is opened again at intervals of again_ns, and
   * success is logged. */
  bool told;
  bool ended; /* true: the source is a regular file, and its end was reached */
  int64_t tried_ns;
};

static int open_file(struct midi_input *input, const char *path, struct error *err) {
  struct platform_entry entry;
  input->path = strdup(path);
  if (!input->path)
    return error_set(err, STATUS_FAILED, "no memory for MIDI");
  if (platform_look(&entry, path))
    return error_set(err, STATUS_USAGE, "--midi %.200s: %s", path, strerror(errno));
  if (entry.kind == ENTRY_FOLDER)
    return error_set(err, STATUS_USAGE, "--midi %.200s: it is a folder", path);
  input->descriptor = platform_open_pipe(path);
  if (input->descriptor < 0)
    return error_set(err, STATUS_USAGE, "--midi %.200s: %s", path, strerror(errno));
  if (!platform_claim_pipe(input->descriptor))
    return error_set(err, STATUS_USAGE,
                     "--midi %.200s: another program reads this pipe, and each would get a part of "
                     "what comes: give each one a pipe of its own",
                     path);
  return 0;
}

/* Returns true if the text is a path. A text without a slash is a path if a file of that name exists; otherwise it
 * names an ALSA client. */
static bool is_file(const char *source) {
  struct platform_entry entry;
  return strchr(source, '/') || (!platform_look(&entry, source) && entry.kind != ENTRY_FOLDER);
}

int midi_input_open(struct midi_input **out, const char *source, const struct log *log, struct error *err) {
  struct midi_input *input = calloc(1, sizeof *input);
  if (!input)
    return error_set(err, STATUS_FAILED, "no memory for MIDI");
  input->log = log;
  input->descriptor = -1;
  int status = is_file(source) ? open_file(input, source, err) : midi_alsa_open(&input->alsa, source, log, err);
  *out = input;
  if (status)
    midi_input_close(out);
  return status;
}

void midi_input_close(struct midi_input **pointer) {
  struct midi_input *input = *pointer;
  if (!input)
    return;
  if (input->alsa)
    midi_alsa_close(input->alsa);
  if (input->descriptor >= 0)
    platform_close_descriptor(input->descriptor);
  free(input->path);
  free(input);
  *pointer = NULL;
}

/* Closes the file, pipe or device. at_end: true: the end was reached; false: reading failed. A pipe is opened again at
 * once, because its next writer may come at any time; a device is opened again only after a pause. */
static void lose(struct midi_input *input, bool at_end) {
  struct platform_entry entry;
  input->ended = at_end && !platform_look_at(&entry, input->descriptor) && entry.kind == ENTRY_FILE;
  platform_close_descriptor(input->descriptor);
  input->descriptor = -1;
  if (!at_end && !input->told)
    log_line(input->log, LOG_WARNING, "MIDI: %s is away; waiting for it to come back", input->path);
  input->told |= !at_end;
}

/* Closes the pipe because another program has begun to read from it while the pipe had no writer; two readers would
 * each get a part of the bytes. */
static void give_way(struct midi_input *input) {
  platform_close_descriptor(input->descriptor);
  input->descriptor = -1;
  if (!input->told)
    log_line(input->log, LOG_WARNING, "MIDI: another program reads %s; waiting until it does not", input->path);
}

static void try_again(struct midi_input *input, int wait_ms) {
  int64_t now_ns = platform_now_ns();
  if (input->ended || (input->told && now_ns - input->tried_ns < again_ns)) {
    platform_sleep_ns((int64_t)wait_ms * 1000000);
    return;
  }
  input->tried_ns = now_ns;
  input->descriptor = platform_open_pipe(input->path);
  if (input->descriptor >= 0 && !platform_claim_pipe(input->descriptor))
    give_way(input);
  if (input->descriptor >= 0 && input->told)
    log_line(input->log, LOG_INFO, "MIDI: %s is back", input->path);
  input->told = input->descriptor < 0;
}

size_t midi_input_read(struct midi_input *input, uint8_t *bytes, size_t size, int wait_ms) {
  if (input->alsa)
    return midi_alsa_read(input->alsa, bytes, size, wait_ms);
  if (input->descriptor < 0)
    try_again(input, wait_ms);
  if (input->descriptor < 0)
    return 0;
  int64_t got = platform_read_pipe(input->descriptor, bytes, size, wait_ms);
  if (got > 0)
    return (size_t)got;
  if (got == 0 || errno != EAGAIN)
    lose(input, got == 0);
  return 0;
}
