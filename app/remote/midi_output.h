/* Where MIDI bytes go: a port of ALSA's sequencer, or a raw device or named pipe. Only the MIDI thread uses struct
 * midi_output. */
#ifndef APP_REMOTE_MIDI_OUTPUT_H
#define APP_REMOTE_MIDI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"
#include "unet/base/log.h"

struct midi_output;

/* Opens a sink for MIDI bytes. target "": makes a sequencer port, to which other programs connect. A text with a slash,
 * or the name of a file in the working directory: opens that device or pipe, which need not have a reader yet. Any
 * other text, "NAME" or "CLIENT:PORT": makes a sequencer port and connects it to the device or program of that name.
 * `log` is borrowed and must outlive *output. Returns 0, or -1 with err set. */
int midi_output_open(struct midi_output **output, const char *target, const struct log *log, struct error *err);
/* closes the sink; *output becomes NULL; does nothing if it is NULL */
void midi_output_close(struct midi_output **output);

/* Returns how many bytes midi_output_write takes now, at most `most`. Returns 0 while earlier bytes wait to be written,
 * or while the device or pipe is missing; then the function tries now and then to open it again. *anew becomes true if
 * it was opened since the last call. */
size_t midi_output_room(struct midi_output *output, size_t most, bool *anew);
/* Writes whole MIDI messages without waiting; what the device does not take now is written by later calls of
 * midi_output_room. size: at most what midi_output_room has returned, and MIDI_OUTPUT_MAX. */
void midi_output_write(struct midi_output *output, const uint8_t *bytes, size_t size);
enum { MIDI_OUTPUT_MAX = 64 };

#endif
