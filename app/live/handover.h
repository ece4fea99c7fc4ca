/* The state that a live window passes on when the program restarts itself. A restart helps because a process in which a
 * GPU has failed cannot use that GPU again, but a new one can. The state is JSON in an anonymous file, with values as
 * in presets (control/presets.h). The environment variable REVERIE_HANDOVER gives the new program the file's
 * descriptor; only the program itself sets it. */
#ifndef APP_LIVE_HANDOVER_H
#define APP_LIVE_HANDOVER_H

#include "app/control/parameters.h"
#include "app/remote/web.h"
#include "app/source/playlist.h"
#include "app/window/window.h"

#define HANDOVER_VARIABLE "REVERIE_HANDOVER"

enum { HANDOVERS_A_MINUTE = 3, HANDOVER_TEXT_MAX = 4 << 20 };

/* The restarts of the program so far, from which handover_due_ns computes when the next restart is allowed. */
struct handover_record {
  /* times of the last restarts (platform_now_ns), the oldest first; 0 in place of restarts that have not happened */
  int64_t done_ns[HANDOVERS_A_MINUTE];
  int barren; /* number of restarts in a row, up to the last one, by programs that had shown no picture */
};

struct handover {
  /* the parameters' current values; those that somebody has set are marked (parameters_marked) */
  struct parameters values;
  char device[64];         /* name of the device that the engine used; "": unknown */
  struct playlist sources; /* all sources of the list; none: the model makes images from text without a source */
  int source;              /* index in `sources`, from 0, of the source that is shown */
  /* position in the source that is shown, in seconds after its --start; 0: at its beginning, or the source is live */
  double position;
  bool loop; /* true: when the source ends, it starts again */
  struct window_place place;
  /* Times of platform_now_ns, a clock that restarts do not reset: when the user started the program (started_ns), and
   * when the script that it plays began (script_ns). 0: it has not begun. */
  int64_t started_ns, script_ns;
  /* number of pictures shown since the user started the program, those before earlier restarts included */
  int64_t shown;
  double blackout; /* current opacity of the blackout (the fade to black), 0 to 1 */
  int preset_taken, slot_before, share, lora, control, control_value;
  double walk;
  /* port and token of the web page, so that open browsers remain connected; port 0: there is no page */
  struct web_key web;
  char why[200]; /* reason of the restart, as text for users */
  struct handover_record record;
};

/* Returns the earliest time of the next restart (platform_now_ns); a time in the past means at once. At most
 * HANDOVERS_A_MINUTE restarts are allowed in a minute. If restarts led to no picture, the pause before the next one
 * grows from 20 s to ten minutes. */
int64_t handover_due_ns(const struct handover_record *record);
/* Adds a restart at the time now_ns to the record of restarts. */
void handover_note(struct handover_record *record, int64_t now_ns);

/* Returns the state in *handover as JSON text, which the caller frees. NULL: out of memory. */
char *handover_print(const struct handover *handover);
/* Reads the state from JSON text into *handover, which must be initialised, with zeros for instance. Returns 0, or -1
 * with err; in both cases the caller calls handover_free. */
int handover_read(struct handover *handover, const char *text, struct error *err);
void handover_free(struct handover *handover); /* frees the memory that *handover points to, but not *handover itself */

#endif
