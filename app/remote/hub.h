/* Where all that sets values from outside the window's thread meets it: messages, a MIDI knob, a script. Such a client
 * lives on a thread of its own, sets parameters and runs commands by their names, and reads what became of it. The
 * window's thread takes what has come once a turn, so nobody waits for anybody.
 *
 * What comes from outside may set parameters within their ranges and no more: it never names a file. The text of a
 * parameter that names one is taken only where it is among those that the command line gave. */
#ifndef APP_REMOTE_HUB_H
#define APP_REMOTE_HUB_H

#include "app/control/alerts.h"
#include "app/control/cover_pixels.h"
#include "app/control/keys.h"

/* Pictures that the hub, and all who look at one, hold at most: the last one, HUB_LOOKERS on the way elsewhere, and as
 * many that a freeze holds over these. */
enum { HUB_LOOKERS = 1, HUB_HOLDS = 2 * (1 + HUB_LOOKERS) };

enum { HUB_NOTICE_MAX = NOTICE_MAX, HUB_STATE_MAX = 400 };

/* What there is to be seen and not to be set. */
struct hub_figures {
  bool ready; /* the engine is open */
  double fps, frame_ms, budget_ms, latency_ms, latency_p99_ms;
  long shown, dropped, missed;
  int width, height; /* of the picture */
  double recorded_s; /* of the recording under way; 0: there is none */
  long not_recorded; /* pictures that recordings had no time for */
  int sending, lost; /* streams, and those of them whose receiver is gone */
  char model[128], source[160], state[HUB_STATE_MAX], notice[HUB_NOTICE_MAX];
  struct alerts alerts;
};

struct hub;

/* The state outlives the hub, and its models, vaes, loras and styles stay as they are. */
int hub_open(struct hub **hub, const struct live_state *state, struct error *err);
void hub_close(struct hub **hub); /* after all clients; stores NULL; takes NULL */

/* --- clients, on any thread --- */

/* Each checks name, index and range at once and refuses with one line; a value set twice before it is taken is the
 * newer one. Text NULL: none. */
int hub_set_number(struct hub *hub, enum parameter id, int index, double number, struct error *err);
int hub_set_text(struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
int hub_parse(struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
/* Whether it may be set from outside at all, to this text where it is one. */
int hub_check(const struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
/* A command of commands_table; value NaN: the entry's own. */
int hub_run(struct hub *hub, const char *command, double value, struct error *err);
/* A line shown for a moment, and logged where the user wants to know all. */
PRINTF_LIKE(2, 3) void hub_tell(struct hub *hub, const char *format, ...);

/* What clients have set counts at once, though no picture has it yet. */
void hub_get_values(struct hub *hub, struct parameters *values);
void hub_get_figures(struct hub *hub, struct hub_figures *figures);
/* Waits until values or figures are newer than *seen (0 at first), which becomes theirs. False: they are not. */
bool hub_wait(struct hub *hub, uint64_t *seen, int wait_ms);
/* Whose wake is called, on whichever thread, each time that values or figures have become others: it returns at once
 * and calls nothing of the hub's. From hub_watch to hub_unwatch the hub's. */
struct hub_watch {
  void (*wake)(void *opaque);
  void *opaque;
  struct hub_watch *next;
};
void hub_watch(struct hub *hub, struct hub_watch *watch);
void hub_unwatch(struct hub *hub, struct hub_watch *watch); /* takes one that does not watch */
/* *shown gets holds on the picture that the audience sees, with what lies over it, by HUB_LOOKERS at a time. False:
 * there is none, or others look. Ends with hub_put_back. */
bool hub_get_picture(struct hub *hub, struct covered *shown);
void hub_put_back(struct hub *hub, struct covered *shown);

/* --- the window's thread --- */

/* What clients have set becomes the state's, marked, and their commands run. Returns whether anything came. */
bool hub_has_wishes(struct hub *hub); /* or a notice: what hub_take and hub_take_notice would take */
bool hub_take(struct hub *hub, struct live_state *state, int64_t now_ns);
/* The line that hub_tell was told last, which is then the caller's to show and log. False: none since. */
bool hub_take_notice(struct hub *hub, char notice[HUB_NOTICE_MAX]);
/* What clients read from now on. */
void hub_publish(struct hub *hub, const struct parameters *values, const struct hub_figures *figures);
/* The hub gets holds of its own. */
void hub_show(struct hub *hub, const struct covered *shown);

#endif
