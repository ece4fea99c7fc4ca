/* The hub passes values between the window's thread and the remote clients: IPC, OSC, MIDI and the web page, each on a
 * thread of its own. Clients set parameters, run commands, and read values and figures. Once in each turn of its loop
 * the window's thread takes what clients have set, and publishes the new state; neither side waits for the other.
 *
 * Clients can set parameters only within their ranges, and cannot make the program open any file: a file's name is
 * accepted only if the command line gave it or keys can select it. */
#ifndef APP_REMOTE_HUB_H
#define APP_REMOTE_HUB_H

#include "app/control/alerts.h"
#include "app/control/cover_pixels.h"
#include "app/control/keys.h"

/* HUB_LOOKERS: how many clients may hold the picture at the same time. HUB_HOLDS: how many pictures the hub and these
 * clients hold at most. Each holds up to two: the newest picture, and the one that freeze shows instead. */
enum { HUB_LOOKERS = 1, HUB_HOLDS = 2 * (1 + HUB_LOOKERS) };

enum { HUB_NOTICE_MAX = NOTICE_MAX, HUB_STATE_MAX = 400 };

/* Figures that clients can read but not set. Times in milliseconds are of single frames. */
struct hub_figures {
  bool ready; /* the engine is open */
  double fps, frame_ms, budget_ms, latency_ms, latency_p99_ms;
  long shown, dropped, missed;
  int width, height; /* size of the picture */
  double recorded_s; /* length of the recording under way, in seconds; 0: nothing is recorded */
  long not_recorded; /* number of pictures that are missing in recordings, because writing was too slow */
  int sending, lost; /* number of outgoing streams, and how many of them have lost their receiver */
  char model[128], source[160], state[HUB_STATE_MAX], notice[HUB_NOTICE_MAX];
  struct alerts alerts;
};

struct hub;

/* Makes a hub. state is borrowed and must outlive it; the lists state->models, vaes, loras and styles must not change
 * meanwhile. The caller frees *hub with hub_close. Returns 0, or -1 with err set. */
int hub_open(struct hub **hub, const struct live_state *state, struct error *err);
/* Frees the hub; all clients must have ended. Stores NULL; takes NULL. */
void hub_close(struct hub **hub);

/* --- called by clients, on any thread --- */

/* Set a parameter; the window's thread takes the value at its next turn. Return 0, or -1 with err set if the name,
 * index or value is refused. If a value is set again before it was taken, only the newer one is used. text NULL: the
 * text becomes "not given". */
int hub_set_number(struct hub *hub, enum parameter id, int index, double number, struct error *err);
int hub_set_text(struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
int hub_parse(struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
/* Checks that clients may set this parameter, and if it is a text, that they may set it to this text. Returns 0, or -1
 * with err set. */
int hub_check(const struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
/* Asks for a command (by its name in commands_table), which the window's thread runs at its next turn. value NaN: the
 * value in the table. Returns 0, or -1 with err set if there is no such command or value. */
int hub_run(struct hub *hub, const char *command, double value, struct error *err);
/* Asks the window's thread to show a notice and to log it (LOG_INFO). */
PRINTF_LIKE(2, 3) void hub_tell(struct hub *hub, const char *format, ...);

/* Copies the present values, including those that clients have set and the window's thread has not taken yet. */
void hub_get_values(struct hub *hub, struct parameters *values);
/* Copies the figures. */
void hub_get_figures(struct hub *hub, struct hub_figures *figures);
/* Waits up to wait_ms until values or figures change. *seen is the version that the caller has read, 0 at first, and is
 * updated. Returns false if nothing has changed since that version. */
bool hub_wait(struct hub *hub, uint64_t *seen, int wait_ms);
/* A callback for changes of values or figures. The hub calls wake(opaque) on the thread that made the change; it must
 * not block and must not call the hub. The caller owns the struct, which must stay valid from hub_watch to hub_unwatch;
 * the hub uses `next`. */
struct hub_watch {
  void (*wake)(void *opaque);
  void *opaque;
  struct hub_watch *next;
};
/* Registers a watch. */
void hub_watch(struct hub *hub, struct hub_watch *watch);
/* Removes a watch. Does nothing if it is not registered. After the return wake is not called any more. */
void hub_unwatch(struct hub *hub, struct hub_watch *watch);
/* Copies the picture on the screen and its cover, with references to the frames of its own, which the caller releases
 * with hub_put_back. Returns false if there is no picture, or if HUB_LOOKERS callers hold it already. */
bool hub_get_picture(struct hub *hub, struct covered *shown);
void hub_put_back(struct hub *hub, struct covered *shown);

/* --- called by the window's thread --- */

/* hub_has_wishes returns true if hub_take or hub_take_notice has something to do. hub_take copies the values that
 * clients have set to the state, marks them, and runs the commands that clients asked for; it returns true if there
 * were any. */
bool hub_has_wishes(struct hub *hub);
bool hub_take(struct hub *hub, struct live_state *state, int64_t now_ns);
/* Copies the text of the last hub_tell, which the caller shows and logs. Returns false if there is no new one. */
bool hub_take_notice(struct hub *hub, char notice[HUB_NOTICE_MAX]);
/* Stores the values and figures that clients read, and calls the watches if any differ from those before. */
void hub_publish(struct hub *hub, const struct parameters *values, const struct hub_figures *figures);
/* Stores the picture that clients read. The hub holds references of its own to its frames. */
void hub_show(struct hub *hub, const struct covered *shown);

#endif
