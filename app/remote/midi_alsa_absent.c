#include "app/remote/midi_input.h"

void midi_alsa_hush(void) {}

int midi_alsa_open(struct midi_alsa **alsa, const char *source, const struct log *log, struct error *err) {
  (void)log;
  *alsa = NULL;
  return error_set(err, STATUS_USAGE,
                   "--midi %.100s: this reverie was built without ALSA (libasound2-dev); a raw device, file or named "
                   "pipe can be given, as in --midi=/dev/snd/midiC1D0",
                   source);
}

void midi_alsa_close(struct midi_alsa *alsa) {
  (void)alsa;
}

size_t midi_alsa_read(struct midi_alsa *alsa, uint8_t *bytes, size_t size, int wait_ms) {
  (void)alsa;
  (void)bytes;
  (void)size;
  (void)wait_ms;
  return 0;
}

int midi_alsa_open_out(struct midi_alsa **alsa, const char *target, const struct log *log, struct error *err) {
  (void)log;
  *alsa = NULL;
  return error_set(err, STATUS_USAGE,
                   "--midi-out %.100s: this reverie was built without ALSA (libasound2-dev); a raw device or named "
                   "pipe can be given, as in --midi-out=/dev/snd/midiC1D0",
                   target);
}

void midi_alsa_write(struct midi_alsa *alsa, const uint8_t *bytes, size_t size) {
  (void)alsa;
  (void)bytes;
  (void)size;
}
