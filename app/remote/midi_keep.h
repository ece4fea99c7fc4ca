/* Loads and saves the file of MIDI bindings. */
#ifndef APP_REMOTE_MIDI_KEEP_H
#define APP_REMOTE_MIDI_KEEP_H

#include "app/remote/midi_bind.h"
#include "unet/base/log.h"

/* Reads the file. If there is none, there are no bindings. A damaged file is renamed, and a line is logged. */
void knobs_load(struct knobs *knobs, const char *path, const struct log *log);
/* Writes the bindings to a new file that replaces the old one. Entries of another version stay in it. Returns -1 with
 * err set on failure. */
int knobs_save(const struct knobs *knobs, const char *path, struct error *err);

#endif
