/* Source of MIDI bytes: a port of ALSA's sequencer to which others connect, or a raw device, file or named pipe. One
 * thread uses it. */
#ifndef APP_REMOTE_MIDI_INPUT_H
#define APP_REMOTE_MIDI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/base/log.h"

struct midi_input;

/* Opens the source. "": a port that others connect to. A text with a slash, or the name of a file in the working
 * directory: that file or device. Any other "NAME" or "CLIENT:PORT": a port that is connected to this one of the
 * sequencer's. log must outlive the input. */
int midi_input_open(struct midi_input **input, const char *source, const struct log *log, struct error *err);
void midi_input_close(struct midi_input **input); /* stores NULL; takes NULL */

/* Waits at most wait_ms for bytes. Returns how many came. A device or pipe that went away is opened again when it is
 * back. */
size_t midi_input_read(struct midi_input *input, uint8_t *bytes, size_t size, int wait_ms);

/* --- in midi_alsa.c or midi_alsa_absent.c --- */

struct midi_alsa;
/* Opens a port of the sequencer and connects it to source, if that is not "". */
int midi_alsa_open(struct midi_alsa **alsa, const char *source, const struct log *log, struct error *err);
/* From now on libasound prints nothing to the terminal, whoever in this process uses it. */
void midi_alsa_hush(void);
void midi_alsa_close(struct midi_alsa *alsa);
/* Waits at most wait_ms for events and writes their bytes. Returns the number of bytes. */
size_t midi_alsa_read(struct midi_alsa *alsa, uint8_t *bytes, size_t size, int wait_ms);

#endif
