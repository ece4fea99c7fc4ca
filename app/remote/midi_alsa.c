#include <alsa/asoundlib.h>
#include <stdlib.h>

#include "app/remote/midi_input.h"

enum { POLLED_MAX = 8, EVENT_BYTES_MAX = 64 };

struct midi_alsa {
  snd_seq_t *sequencer;
  snd_midi_event_t *decoder; /* converter of ALSA's events to bytes, or of bytes to events */
  int port;                  /* number of the port of midi_alsa_open_out */
  /* bytes of an event that had no room in the caller's buffer; the next call of midi_alsa_read returns them */
  uint8_t waiting[EVENT_BYTES_MAX];
  size_t waiting_count;
};

/* Replaces libasound's error handler and prints nothing, because this program prints messages of its own. */
static void be_quiet(const char *file, int line, const char *function, int code, const char *format, ...) {
  (void)file;
  (void)line;
  (void)function;
  (void)code;
  (void)format;
}

static int connect_source(struct midi_alsa *alsa, int port, const char *source, struct error *err) {
  snd_seq_addr_t address;
  if (!*source)
    return 0;
  int code = snd_seq_parse_address(alsa->sequencer, &address, source);
  if (code < 0)
    return error_set(err, STATUS_USAGE, "--midi %.100s: the sequencer has no such port; `aconnect -i` lists them",
                     source);
  code = snd_seq_connect_from(alsa->sequencer, port, address.client, address.port);
  return code < 0 ? error_set(err, STATUS_USAGE, "--midi %.100s: %s", source, snd_strerror(code)) : 0;
}

void midi_alsa_hush(void) {
  snd_lib_error_set_handler(be_quiet);
}

static int open_port(struct midi_alsa *alsa, const char *source, const struct log *log, struct error *err) {
  midi_alsa_hush();
  int code = snd_seq_open(&alsa->sequencer, "default", SND_SEQ_OPEN_INPUT, SND_SEQ_NONBLOCK);
  if (code < 0)
    return error_set(err, STATUS_USAGE,
                     "--midi: there is no ALSA sequencer here (%s); a raw device, file or named pipe can be given, as "
                     "in --midi=/dev/snd/midiC1D0",
                     snd_strerror(code));
  snd_seq_set_client_name(alsa->sequencer, "reverie");
  int port =
      snd_seq_create_simple_port(alsa->sequencer, "control", SND_SEQ_PORT_CAP_WRITE | SND_SEQ_PORT_CAP_SUBS_WRITE,
                                 SND_SEQ_PORT_TYPE_MIDI_GENERIC | SND_SEQ_PORT_TYPE_APPLICATION);
  if (port < 0 || snd_midi_event_new(EVENT_BYTES_MAX, &alsa->decoder) < 0)
    return error_set(err, STATUS_USAGE, "--midi: no port of ALSA's sequencer can be made");
  snd_midi_event_no_status(alsa->decoder, 1);
  log_line(log, LOG_INFO, "MIDI: listening at ALSA's port %d:%d (reverie)", snd_seq_client_id(alsa->sequencer), port);
  return connect_source(alsa, port, source, err);
}

int midi_alsa_open(struct midi_alsa **out, const char *source, const struct log *log, struct error *err) {
  struct midi_alsa *alsa = calloc(1, sizeof *alsa);
  *out = NULL;
  if (!alsa)
    return error_set(err, STATUS_FAILED, "no memory for MIDI");
  if (open_port(alsa, source, log, err)) {
    midi_alsa_close(alsa);
    return -1;
  }
  *out = alsa;
  return 0;
}

void midi_alsa_close(struct midi_alsa *alsa) {
  if (alsa->decoder)
    snd_midi_event_free(alsa->decoder);
  if (alsa->sequencer)
    snd_seq_close(alsa->sequencer);
  snd_config_update_free_global();
  free(alsa);
}

/* Converts the next event of ALSA's sequencer to MIDI bytes, which it stores in alsa->waiting. Returns false if there
 * is no event. */
static bool take_event(struct midi_alsa *alsa) {
  snd_seq_event_t *event;
  while (snd_seq_event_input(alsa->sequencer, &event) >= 0 && event) {
    long count = snd_midi_event_decode(alsa->decoder, alsa->waiting, sizeof alsa->waiting, event);
    if (count > 0) {
      alsa->waiting_count = (size_t)count;
      return true;
    }
  }
  return false;
}

size_t midi_alsa_read(struct midi_alsa *alsa, uint8_t *bytes, size_t size, int wait_ms) {
  struct pollfd polled[POLLED_MAX];
  int count = snd_seq_poll_descriptors(alsa->sequencer, polled, POLLED_MAX, POLLIN);
  size_t used = 0;
  if (!alsa->waiting_count)
    poll(polled, (nfds_t)count, wait_ms);
  while ((alsa->waiting_count || take_event(alsa)) && used + alsa->waiting_count <= size) {
    memcpy(bytes + used, alsa->waiting, alsa->waiting_count);
    used += alsa->waiting_count;
    alsa->waiting_count = 0;
  }
  return used;
}

static int connect_target(struct midi_alsa *alsa, const char *target, struct error *err) {
  snd_seq_addr_t address;
  if (!*target)
    return 0;
  int code = snd_seq_parse_address(alsa->sequencer, &address, target);
  if (code < 0)
    return error_set(err, STATUS_USAGE, "--midi-out %.100s: the sequencer has no such port; `aconnect -o` lists them",
                     target);
  code = snd_seq_connect_to(alsa->sequencer, alsa->port, address.client, address.port);
  return code < 0 ? error_set(err, STATUS_USAGE, "--midi-out %.100s: %s", target, snd_strerror(code)) : 0;
}

static int open_sending_port(struct midi_alsa *alsa, const char *target, const struct log *log, struct error *err) {
  midi_alsa_hush();
  int code = snd_seq_open(&alsa->sequencer, "default", SND_SEQ_OPEN_OUTPUT, SND_SEQ_NONBLOCK);
  if (code < 0)
    return error_set(err, STATUS_USAGE,
                     "--midi-out: there is no ALSA sequencer here (%s); a raw device or named pipe can be given, as in "
                     "--midi-out=/dev/snd/midiC1D0",
                     snd_strerror(code));
  snd_seq_set_client_name(alsa->sequencer, "reverie values");
  alsa->port = snd_seq_create_simple_port(alsa->sequencer, "values", SND_SEQ_PORT_CAP_READ | SND_SEQ_PORT_CAP_SUBS_READ,
                                          SND_SEQ_PORT_TYPE_MIDI_GENERIC | SND_SEQ_PORT_TYPE_APPLICATION);
  if (alsa->port < 0 || snd_midi_event_new(EVENT_BYTES_MAX, &alsa->decoder) < 0)
    return error_set(err, STATUS_USAGE, "--midi-out: no port of ALSA's sequencer can be made");
  log_line(log, LOG_INFO, "MIDI: values come from ALSA's port %d:%d (reverie values)",
           snd_seq_client_id(alsa->sequencer), alsa->port);
  return connect_target(alsa, target, err);
}

int midi_alsa_open_out(struct midi_alsa **out, const char *target, const struct log *log, struct error *err) {
  struct midi_alsa *alsa = calloc(1, sizeof *alsa);
  *out = NULL;
  if (!alsa)
    return error_set(err, STATUS_FAILED, "no memory for MIDI");
  if (open_sending_port(alsa, target, log, err)) {
    midi_alsa_close(alsa);
    return -1;
  }
  *out = alsa;
  return 0;
}

void midi_alsa_write(struct midi_alsa *alsa, const uint8_t *bytes, size_t size) {
  snd_seq_event_t event;
  while (size > 0) {
    snd_seq_ev_clear(&event);
    long taken = snd_midi_event_encode(alsa->decoder, bytes, (long)size, &event);
    if (taken <= 0)
      return;
    bytes += taken;
    size -= (size_t)taken;
    if (event.type == SND_SEQ_EVENT_NONE)
      continue;
    snd_seq_ev_set_source(&event, (unsigned char)alsa->port);
    snd_seq_ev_set_subs(&event);
    snd_seq_ev_set_direct(&event);
    snd_seq_event_output_direct(alsa->sequencer, &event);
  }
}
