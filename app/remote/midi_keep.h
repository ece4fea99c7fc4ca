/* Loads and saves the file of MIDI bindings (midi.json). */
#ifndef APP_REMOTE_MIDI_KEEP_H
#define APP_REMOTE_MIDI_KEEP_H

#include "app/remote/midi_bind.h"
#include "unet/base/log.h"

/* Reads the bindings from the file at `path`. If the file does not exist or cannot be read, *knobs has no bindings. A
 * damaged file is renamed to PATH.damaged, so that it is not overwritten later. Files that cannot be read, damaged ones
 * and unknown entries are logged. */
void knobs_load(struct knobs *knobs, const char *path, const struct log *log);
/* Writes the bindings to a temporary file and renames that file to `path`. Entries of the old file that this version of
 * the program cannot read are kept. Returns 0, or -1 with err set. */
int knobs_save(const struct knobs *knobs, const char *path, struct error *err);

#endif
