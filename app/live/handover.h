/* The state that a live window passes on when the program restarts. A GPU that has failed cannot be used again by the
 * same process, so only a new program can go on. The state is JSON, with values as in presets (control/presets.h), in a
 * file without a name. The environment variable REVERIE_HANDOVER tells the new program its descriptor. Only the program
 * itself sets this variable. */
#ifndef APP_LIVE_HANDOVER_H
#define APP_LIVE_HANDOVER_H

#include "app/control/parameters.h"
#include "app/remote/web.h"
#include "app/source/playlist.h"
#include "app/window/window.h"

#define HANDOVER_VARIABLE "REVERIE_HANDOVER"

enum { HANDOVERS_A_MINUTE = 3, HANDOVER_TEXT_MAX = 4 << 20 };

/* Restarts so far. */
struct handover_record {
  int64_t done_ns[HANDOVERS_A_MINUTE]; /* times of the last restarts, the oldest first; 0: none */
  int barren;                          /* number of last restarts in a row after which no picture was made */
};

struct handover {
  struct parameters values; /* the marked ones were set by somebody */
  char device[64];          /* the engine's device; "": unknown */
  struct playlist sources;  /* empty: text to image */
  int source;               /* the one that is shown, from 0 */
  double position;          /* seconds into that source, counted from where it starts */
  bool loop;                /* the source starts again when it ends */
  struct window_place place;
  /* When show and script began, by platform_now_ns, which goes on between programs; 0: not yet. */
  int64_t started_ns, script_ns;
  int64_t shown;   /* pictures shown by all programs so far */
  double blackout; /* level of the blackout's fade, 0 to 1 */
  int preset_taken, slot_before, share, lora, control, control_value;
  double walk;
  struct web_key web; /* port and token of the web page; port 0: there is no page */
  char why[200];      /* reason of the restart */
  struct handover_record record;
};

/* Returns when the next restart may happen: at once, unless HANDOVERS_A_MINUTE of them happened in the last minute. If
 * restarts do not lead to pictures, the pause between them grows, up to ten minutes. */
int64_t handover_due_ns(const struct handover_record *record);
/* Adds a restart to the record. */
void handover_note(struct handover_record *record, int64_t now_ns);

/* Returns the state as JSON, which the caller frees. NULL: out of memory. */
char *handover_print(const struct handover *handover);
/* Reads the state. handover must be initialised, with zeros for instance, and must be freed with handover_free even on
 * failure. */
int handover_read(struct handover *handover, const char *text, struct error *err);
void handover_free(struct handover *handover); /* frees the memory that it points to */

#endif
