/* Loads and saves the file of MIDI bindings (midi.json). */
#ifndef APP_REMOTE_MIDI_KEEP_H
#define APP_REMOTE_MIDI_KEEP_H

#include "app/remote/midi_bind.h"
#include "unet/base/log.h"

/* Reads the bindings. If the file does not exist, there are none. A damaged file is renamed, which is logged, so that
 * it is not overwritten later. */
void knobs_load(struct knobs *knobs, const char *path, const struct log *log);
/* Writes the bindings to a temporary file and renames it. Entries of the old file that only another version can read
 * are kept. Returns 0, or -1 with err set. */
int knobs_save(const struct knobs *knobs, const char *path, struct error *err);

#endif
