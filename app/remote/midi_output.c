#include "app/remote/midi_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"
#include "app/remote/midi_input.h"

/* Nanoseconds between two attempts to open a device or pipe that is away. */
static const int64_t again_ns = 250000000;

struct midi_output {
  const struct log *log;
  struct midi_alsa *alsa; /* the port of ALSA's sequencer; NULL: the sink is a pipe or device at `path` */
  char *path;
  int descriptor; /* descriptor of the pipe or device; -1: it is not open, because it is gone or has no reader */
  bool told;      /* true: a log line has said that the pipe or device is not open */
  bool opened;    /* true: the pipe or device was opened, which midi_output_room has not reported to its caller yet */
  int64_t tried_ns;
  uint8_t waiting[MIDI_OUTPUT_MAX]; /* bytes that the pipe or device has not taken yet */
  size_t waiting_count;
};

static void try_to_open(struct midi_output *output) {
  int64_t now_ns = platform_now_ns();
  if (output->tried_ns && now_ns - output->tried_ns < again_ns)
    return;
  output->tried_ns = now_ns;
  output->descriptor = platform_open_pipe_to_write(output->path);
  output->opened = output->descriptor >= 0;
  if (output->opened && output->told)
    log_line(output->log, LOG_INFO, "MIDI: %s is back", output->path);
  output->told &= !output->opened;
}

/* Checks the path and tries to open the pipe or device at this path. A regular file is refused, because MIDI bytes
 * would overwrite its contents. */
static int open_path(struct midi_output *output, const char *path, struct error *err) {
  struct platform_entry entry;
  output->path = strdup(path);
  if (!output->path)
    return error_set(err, STATUS_FAILED, "no memory for MIDI");
  if (platform_look(&entry, path))
    return error_set(err, STATUS_USAGE, "--midi-out %.200s: %s", path, strerror(errno));
  if (entry.kind == ENTRY_FILE || entry.kind == ENTRY_FOLDER)
    return error_set(err, STATUS_USAGE, "--midi-out %.200s: it is neither a device nor a named pipe", path);
  try_to_open(output);
  if (output->descriptor < 0 && errno != ENXIO) /* ENXIO: the pipe has no reader yet */
    return error_set(err, STATUS_USAGE, "--midi-out %.200s: %s", path, strerror(errno));
  return 0;
}

static bool is_path(const char *target) {
  struct platform_entry entry;
  return strchr(target, '/') || (!platform_look(&entry, target) && entry.kind != ENTRY_FOLDER);
}

int midi_output_open(struct midi_output **out, const char *target, const struct log *log, struct error *err) {
  struct midi_output *output = calloc(1, sizeof *output);
  if (!output)
    return error_set(err, STATUS_FAILED, "no memory for MIDI");
  output->log = log;
  output->descriptor = -1;
  int status = is_path(target) ? open_path(output, target, err) : midi_alsa_open_out(&output->alsa, target, log, err);
  output->opened |= output->alsa != NULL;
  *out = output;
  if (status)
    midi_output_close(out);
  return status;
}

static void close_descriptor(struct midi_output *output) {
  if (output->descriptor >= 0)
    platform_close_descriptor(output->descriptor);
  output->descriptor = -1;
}

void midi_output_close(struct midi_output **pointer) {
  struct midi_output *output = *pointer;
  if (!output)
    return;
  if (output->alsa)
    midi_alsa_close(output->alsa);
  close_descriptor(output);
  free(output->path);
  free(output);
  *pointer = NULL;
}

static void lose(struct midi_output *output) {
  close_descriptor(output);
  output->waiting_count = 0;
  if (!output->told)
    log_line(output->log, LOG_WARNING, "MIDI: %s takes nothing: %s; waiting for it to come back", output->path,
             strerror(errno));
  output->told = true;
}

/* Writes the bytes of MIDI messages that wait in output->waiting, as many as the pipe or device takes now. */
static void flush(struct midi_output *output) {
  if (!output->waiting_count || output->descriptor < 0)
    return;
  int64_t written = platform_write_pipe(output->descriptor, output->waiting, output->waiting_count);
  if (written < 0 && errno != EAGAIN)
    lose(output);
  if (written <= 0)
    return;
  output->waiting_count -= (size_t)written;
  memmove(output->waiting, output->waiting + written, output->waiting_count);
}

size_t midi_output_room(struct midi_output *output, size_t most, bool *anew) {
  flush(output);
  if (!output->alsa && output->descriptor < 0)
    try_to_open(output);
  *anew = output->opened;
  output->opened = false;
  bool ready = output->alsa || (output->descriptor >= 0 && !output->waiting_count);
  return !ready ? 0 : most < MIDI_OUTPUT_MAX ? most : MIDI_OUTPUT_MAX;
}

void midi_output_write(struct midi_output *output, const uint8_t *bytes, size_t size) {
  if (output->alsa) {
    midi_alsa_write(output->alsa, bytes, size);
    return;
  }
  memcpy(output->waiting, bytes, size);
  output->waiting_count = size;
  flush(output);
}
