/* The hub stands between the window's thread and the clients: IPC, OSC, MIDI and the web page. A client lives on a
 * thread of its own, sets parameters and runs commands by their names, and reads values and figures. The window's
 * thread takes what clients have set once a turn, so that neither waits for the other.
 *
 * Clients may set parameters within their ranges and no more: they can never open a file of their choice. The text of a
 * parameter that names a file is accepted only if the command line gave that text. */
#ifndef APP_REMOTE_HUB_H
#define APP_REMOTE_HUB_H

#include "app/control/alerts.h"
#include "app/control/cover_pixels.h"
#include "app/control/keys.h"

/* HUB_LOOKERS: clients that may hold the picture at a time. HUB_HOLDS: pictures that the hub and these clients hold at
 * most: for each the picture shown, and one that a freeze holds over it. */
enum { HUB_LOOKERS = 1, HUB_HOLDS = 2 * (1 + HUB_LOOKERS) };

enum { HUB_NOTICE_MAX = NOTICE_MAX, HUB_STATE_MAX = 400 };

/* Figures that clients read and cannot set. */
struct hub_figures {
  bool ready; /* the engine is open */
  double fps, frame_ms, budget_ms, latency_ms, latency_p99_ms;
  long shown, dropped, missed;
  int width, height; /* size of the picture */
  double recorded_s; /* length of the recording that is under way, in seconds; 0: there is none */
  long not_recorded; /* pictures that were left out of recordings because writing was too slow */
  int sending, lost; /* number of streams, and of those whose receiver is gone */
  char model[128], source[160], state[HUB_STATE_MAX], notice[HUB_NOTICE_MAX];
  struct alerts alerts;
};

struct hub;

/* Makes a hub. The state must outlive it, and the state's models, vaes, loras and styles must not change meanwhile. */
int hub_open(struct hub **hub, const struct live_state *state, struct error *err);
/* Frees the hub; all clients must have ended. Stores NULL; takes NULL. */
void hub_close(struct hub **hub);

/* --- called by clients, on any thread --- */

/* Set a parameter. Name, index and range are checked at once: returns -1 with err set if the value is refused. If a
 * value is set twice before the window takes it, the newer one counts. Text NULL: none. */
int hub_set_number(struct hub *hub, enum parameter id, int index, double number, struct error *err);
int hub_set_text(struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
int hub_parse(struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
/* Checks that a client may set this parameter, and to this text if it is a text. */
int hub_check(const struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
/* Runs a command of commands_table at the window's next turn. value NaN: the entry's own. */
int hub_run(struct hub *hub, const char *command, double value, struct error *err);
/* Shows a notice in the window, which logs it, too (LOG_INFO). */
PRINTF_LIKE(2, 3) void hub_tell(struct hub *hub, const char *format, ...);

/* Copies the values. Values that clients have set are among them at once, even before a picture shows them. */
void hub_get_values(struct hub *hub, struct parameters *values);
/* Copies the figures. */
void hub_get_figures(struct hub *hub, struct hub_figures *figures);
/* Waits until values or figures have changed since *seen (0 at first), and updates *seen. Returns false if they have
 * not changed after wait_ms. */
bool hub_wait(struct hub *hub, uint64_t *seen, int wait_ms);
/* A function that the hub calls on any thread when values or figures have changed. It must return at once and must not
 * call the hub. The caller owns the struct; it must stay valid from hub_watch to hub_unwatch. */
struct hub_watch {
  void (*wake)(void *opaque);
  void *opaque;
  struct hub_watch *next;
};
/* Begins the calls. */
void hub_watch(struct hub *hub, struct hub_watch *watch);
/* Ends the calls. Does nothing if the watch was not given to hub_watch. */
void hub_unwatch(struct hub *hub, struct hub_watch *watch);
/* Gets holds on the picture on the screen and its cover. At most HUB_LOOKERS callers have it at a time. Returns false
 * if there is no picture or others have it. The caller ends the holds with hub_put_back. */
bool hub_get_picture(struct hub *hub, struct covered *shown);
void hub_put_back(struct hub *hub, struct covered *shown);

/* --- called by the window's thread --- */

/* hub_has_wishes returns true if hub_take or hub_take_notice would take something. hub_take copies the values that
 * clients have set to the state, marks them and runs the clients' commands; it returns true if there were any. */
bool hub_has_wishes(struct hub *hub);
bool hub_take(struct hub *hub, struct live_state *state, int64_t now_ns);
/* Takes the last line of hub_tell, which the caller shows and logs. Returns false if there is none. */
bool hub_take_notice(struct hub *hub, char notice[HUB_NOTICE_MAX]);
/* Publishes the values and figures that clients read from now on. */
void hub_publish(struct hub *hub, const struct parameters *values, const struct hub_figures *figures);
/* Publishes the picture that clients read. The hub takes holds of its own. */
void hub_show(struct hub *hub, const struct covered *shown);

#endif
