/* A source of MIDI bytes: a port of ALSA's sequencer, or a raw device, file or named pipe. Only the MIDI thread uses
 * struct midi_input. */
#ifndef APP_REMOTE_MIDI_INPUT_H
#define APP_REMOTE_MIDI_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/base/log.h"

struct midi_input;

/* Opens a source of MIDI bytes. source "": makes a sequencer port, to which other programs connect. A text with a
 * slash, or the name of a file in the working directory: opens that file, pipe or device. Any other text, "NAME" or
 * "CLIENT:PORT": makes a sequencer port and connects the device or program of that name to the port. log is borrowed
 * and must outlive *input. Returns 0, or -1 with err set. */
int midi_input_open(struct midi_input **input, const char *source, const struct log *log, struct error *err);
/* closes the source; *input becomes NULL; does nothing if it is NULL */
void midi_input_close(struct midi_input **input);

/* Waits at most wait_ms for bytes, and returns how many were read into `bytes`. If a device or pipe has disappeared,
 * the function first tries to open it again. Returns 0 if nothing came, or if the source has ended or cannot be
 * opened. */
size_t midi_input_read(struct midi_input *input, uint8_t *bytes, size_t size, int wait_ms);

/* --- ALSA's sequencer: midi_alsa.c, or midi_alsa_absent.c in a build without ALSA --- */

struct midi_alsa;
/* Makes a port of ALSA's sequencer and, if source is not "", connects the client of that name to the port. Returns 0,
 * or -1 with err set. */
int midi_alsa_open(struct midi_alsa **alsa, const char *source, const struct log *log, struct error *err);
/* Stops the library libasound from printing to the terminal, for all its users in this process. */
void midi_alsa_hush(void);
void midi_alsa_close(struct midi_alsa *alsa);
/* Waits at most wait_ms for events of ALSA's sequencer, converts them to MIDI bytes, and returns how many bytes were
 * stored. */
size_t midi_alsa_read(struct midi_alsa *alsa, uint8_t *bytes, size_t size, int wait_ms);

/* Makes a port of ALSA's sequencer that sends and, if target is not "", connects it to the client of that name. Returns
 * 0, or -1 with err set. */
int midi_alsa_open_out(struct midi_alsa **alsa, const char *target, const struct log *log, struct error *err);
/* Sends whole MIDI messages to all that are connected to the port of midi_alsa_open_out. Does not wait: what the
 * sequencer has no room for is lost. */
void midi_alsa_write(struct midi_alsa *alsa, const uint8_t *bytes, size_t size);

#endif
