/* The show file, which holds options, sources, values, presets and keys. Only the main thread uses it, with one
 * exception: background work writes `unsaved`, values that are restored after a crash, to a file. */
#ifndef APP_LIVE_LIVE_SHOW_H
#define APP_LIVE_LIVE_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "app/flow/errand.h"
#include "unet/base/error.h"

struct live;
struct parameters;
struct presets_file;

struct live_show {
  /* the show file; the same as live->presets.file if the show file contains the presets, too; NULL: the user named
   * none */
  struct presets_file *file;
  bool left_out; /* true: parts of the show file were left out because it is not trusted */
  /* shows_told: number of the user's requests to write the show file that were carried out; recoveries_told: the same
   * for requests to restore the values from before a crash */
  int shows_told, recoveries_told;
  char *midi_bindings; /* bindings of MIDI in the show file, as JSON; owned; NULL: none */
  /* values that the program had before it crashed; those that the user had changed are marked; owned; NULL: there was
   * no crash */
  struct parameters *recovered;
  char *unsaved;      /* the parameter values, as JSON, that were last written to the file for a restore after a crash;
                       * owned; NULL: none yet */
  int64_t unsaved_ns; /* when it was last checked whether the values differ from `unsaved` (platform_now_ns) */
  struct errand unsaving; /* background work that writes `unsaved` to the file for the case of a crash */
};

/* Opens the show file and reads its key bindings. Also reads the values saved by an earlier run that crashed, and
 * offers to restore them. Does nothing if the user named no show file. Called after live_open_presets and
 * live_read_keys. Returns 0, or -1 with err if the file cannot be read. */
int live_open_show(struct live *live, struct error *err);
/* Saves the values, keys, presets and so on in the show file if the user asked for it, or restores those that were
 * set before a crash. Also writes changed values to a file every few seconds, so that they can be restored after a
 * crash. */
void live_follow_show(struct live *live, int64_t now_ns);
/* Closes the show file, and removes the file from which values are restored after a crash, unless `failed` is true.
 * Called before live_close_presets. */
void live_close_show(struct live *live, bool failed);

#endif
