/* What a live window hands to the one that the same program opens when it is started anew: a GPU that failed serves no
 * process for which it failed, so that only another program in its place can go on. As JSON, whose values are those of
 * presets (control/presets.h), in a file without a name that the new program finds by REVERIE_HANDOVER in its
 * environment. Nobody but the program itself sets that. */
#ifndef APP_LIVE_HANDOVER_H
#define APP_LIVE_HANDOVER_H

#include "app/control/parameters.h"
#include "app/remote/web.h"
#include "app/source/playlist.h"
#include "app/window/window.h"

#define HANDOVER_VARIABLE "REVERIE_HANDOVER"

enum { HANDOVERS_A_MINUTE = 3, HANDOVER_TEXT_MAX = 4 << 20 };

/* When it was done before. */
struct handover_record {
  int64_t done_ns[HANDOVERS_A_MINUTE]; /* the last, from the oldest on; 0: none */
  int barren;                          /* so many of them in a row led to no picture */
};

struct handover {
  struct parameters values; /* marked: what somebody has set */
  char device[64];          /* "": not known */
  struct playlist sources;  /* none: text to image */
  int source;               /* of them, from 0 */
  double position;          /* seconds into it, from where it would begin */
  bool loop;                /* that source starts again by itself */
  struct window_place place;
  int64_t started_ns, script_ns; /* of platform_now_ns, which is the machine's; 0: not yet */
  int64_t shown;                 /* pictures, by all programs so far */
  double blackout;               /* as far as its fade has come */
  int preset_taken, slot_before, share, lora, control, control_value;
  double walk;
  struct web_key web; /* port 0: there is no page */
  char why[200];      /* it came to that */
  struct handover_record record;
};

/* When the next one may be, seen from now: at once, unless there were HANDOVERS_A_MINUTE in the last minute; and later
 * and later, up to ten minutes, where they lead to nothing. */
int64_t handover_due_ns(const struct handover_record *record);
void handover_note(struct handover_record *record, int64_t now_ns);

/* Allocated; NULL: no memory. */
char *handover_print(const struct handover *handover);
/* Into one that has a value, if only zeros; on failure as well it is to be freed. */
int handover_read(struct handover *handover, const char *text, struct error *err);
void handover_free(struct handover *handover); /* what it points to */

#endif
