/* The state that a live window passes on when the program restarts itself. A process cannot use a GPU again that has
 * failed in it, so a new program must be started. The state is JSON, with values as in presets (control/presets.h), in
 * a file without a name. The environment variable REVERIE_HANDOVER tells the new program the file's descriptor; only
 * the program itself sets this variable. */
#ifndef APP_LIVE_HANDOVER_H
#define APP_LIVE_HANDOVER_H

#include "app/control/parameters.h"
#include "app/remote/web.h"
#include "app/source/playlist.h"
#include "app/window/window.h"

#define HANDOVER_VARIABLE "REVERIE_HANDOVER"

enum { HANDOVERS_A_MINUTE = 3, HANDOVER_TEXT_MAX = 4 << 20 };

/* The restarts so far, from which handover_due_ns computes when the next one may happen. */
struct handover_record {
  /* times of the last restarts (platform_now_ns), the oldest first; 0: fewer have happened */
  int64_t done_ns[HANDOVERS_A_MINUTE];
  int barren; /* number of restarts in a row, up to the last, that led to no picture */
};

struct handover {
  struct parameters values; /* current values; a mark shows that somebody has set the value */
  char device[64];          /* name of the device that the engine used; "": unknown */
  struct playlist sources;  /* all sources; empty: text to image without a source */
  int source;               /* index in `sources`, from 0, of the one that is shown */
  /* position in the shown source, in seconds after its --start; 0: its beginning, or a live source */
  double position;
  bool loop; /* true: a source starts again when it ends */
  struct window_place place;
  /* When the show and its script began (platform_now_ns, whose clock goes on through restarts); 0: not begun. */
  int64_t started_ns, script_ns;
  int64_t shown;   /* number of pictures shown since the user started the program, before all restarts */
  double blackout; /* current opacity of the blackout (the fade to black), 0 to 1 */
  int preset_taken, slot_before, share, lora, control, control_value;
  double walk;
  /* port and token of the web page, so that open browsers can go on; port 0: there is no page */
  struct web_key web;
  char why[200]; /* reason of the restart, for users */
  struct handover_record record;
};

/* Returns when the next restart may happen (platform_now_ns); a time in the past means at once. At most
 * HANDOVERS_A_MINUTE restarts happen in a minute. After restarts that led to no picture the pause grows from 20 s up to
 * ten minutes. */
int64_t handover_due_ns(const struct handover_record *record);
/* Adds a restart at now_ns to the record. */
void handover_note(struct handover_record *record, int64_t now_ns);

/* Returns the state as JSON text, which the caller frees. NULL: out of memory. */
char *handover_print(const struct handover *handover);
/* Reads the state from JSON text. handover must be initialised, with zeros for instance. Returns 0, or -1 with err; in
 * both cases the caller frees it with handover_free. */
int handover_read(struct handover *handover, const char *text, struct error *err);
void handover_free(struct handover *handover); /* frees what handover points to, and not handover itself */

#endif
