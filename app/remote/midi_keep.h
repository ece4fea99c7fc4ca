/* The file that bindings of MIDI are kept in. */
#ifndef APP_REMOTE_MIDI_KEEP_H
#define APP_REMOTE_MIDI_KEEP_H

#include "app/remote/midi_bind.h"
#include "unet/base/log.h"

/* Reads path into knobs; where there is no file there are none. One that is damaged is kept aside under another name,
 * and a line says so. */
void knobs_load(struct knobs *knobs, const char *path, const struct log *log);
/* Writes them beside and puts them in the file's place. What of the file another version wrote stays. */
int knobs_save(const struct knobs *knobs, const char *path, struct error *err);

#endif
