/* Where bytes of MIDI come from: a port of ALSA's sequencer that others connect to, or a raw device, file or named
 * pipe. Used by one thread. */
#ifndef APP_REMOTE_MIDI_INPUT_H
#define APP_REMOTE_MIDI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/base/log.h"

struct midi_input;

/* source: "" a port alone; anything with a slash and the name of what lies in the working directory a file; any other
 * "NAME" or "CLIENT:PORT" one of the sequencer's, which is connected to. log outlives the input. */
int midi_input_open(struct midi_input **input, const char *source, const struct log *log, struct error *err);
void midi_input_close(struct midi_input **input); /* stores NULL; takes NULL */

/* Waits so long for bytes; returns how many came. A device or pipe that went away is opened again when it is back. */
size_t midi_input_read(struct midi_input *input, uint8_t *bytes, size_t size, int wait_ms);

/* --- midi_alsa.c or midi_alsa_absent.c --- */

struct midi_alsa;
int midi_alsa_open(struct midi_alsa **alsa, const char *source, const struct log *log, struct error *err);
/* From now on libasound says nothing of itself on the terminal, whoever uses it. */
void midi_alsa_hush(void);
void midi_alsa_close(struct midi_alsa *alsa);
size_t midi_alsa_read(struct midi_alsa *alsa, uint8_t *bytes, size_t size, int wait_ms);

#endif
