/* The hub passes values between the window's thread and the remote clients: IPC, OSC, MIDI and the web page, each on a
 * thread of its own. Clients set parameters, run commands, and read parameters and measured values. Once in each pass
 * of its loop, the window's thread takes what clients have set and publishes the new state. Neither side waits for the
 * other.
 *
 * Clients can set parameters only within their ranges. They cannot make the program open any file: a file's name is
 * accepted only if the command line gave it or keys can select it. */
#ifndef APP_REMOTE_HUB_H
#define APP_REMOTE_HUB_H

#include "app/control/alerts.h"
#include "app/control/cover_pixels.h"
#include "app/control/keys.h"
#include "app/control/meter.h"

/* HUB_LOOKERS: how many clients may hold the picture at the same time. HUB_HOLDS: how many pictures the hub and these
 * clients hold at most: up to two each, the newest picture and the one that a freeze shows instead. */
enum { HUB_LOOKERS = 1, HUB_HOLDS = 2 * (1 + HUB_LOOKERS) };

enum { HUB_NOTICE_MAX = NOTICE_MAX, HUB_STATE_MAX = 400 };

/* Measured values ("figures") and texts that clients can read but not set. frame_ms, budget_ms and the latencies are in
 * milliseconds, for one frame each. */
struct hub_figures {
  bool ready; /* true: the engine (the network with its model) is open, so pictures can be made */
  double fps, frame_ms, budget_ms, latency_ms, latency_p99_ms;
  long shown, dropped, missed;
  long left_out, undrawn; /* numbers of frames among `dropped` (struct live_figures) */
  int width, height;      /* size of the picture in pixels */
  double recorded_s;      /* length of the present recording in seconds; 0: no recording is being made */
  long not_recorded;      /* number of pictures that are missing in recordings, because writing was too slow */
  int sending, lost; /* sending: number of outgoing streams; lost: number of outgoing streams whose receiver is lost */
  char model[128], source[160], state[HUB_STATE_MAX], notice[HUB_NOTICE_MAX];
  struct alerts alerts;
  struct meter meter; /* levels of the sound, and the values that sound and LFOs change */
};

/* Lists in JSON that change seldom. HUB_SCENES: the saved presets, as presets_file_list describes them.
 * HUB_SCENE_FILES: the files of their small pictures (presets_file_pictures), which are sent to no client. HUB_KNOBS:
 * the bindings of MIDI, as in midi.json. HUB_REFUSALS: an object with the parameters that the model in use refuses,
 * and why. */
enum hub_list { HUB_SCENES, HUB_SCENE_FILES, HUB_KNOBS, HUB_REFUSALS, HUB_LISTS };

struct hub;

/* Makes a hub. `state` is borrowed and must outlive the hub; the lists state->models, vaes, loras and styles must not
 * change meanwhile. The caller frees *hub with hub_close. Returns 0, or -1 with err set. */
int hub_open(struct hub **hub, const struct live_state *state, struct error *err);
/* Frees the hub; all clients must have ended. *hub becomes NULL; does nothing if it is NULL. */
void hub_close(struct hub **hub);

/* --- functions that clients call, on any thread --- */

/* Three functions that set a parameter. hub_set_number sets a number, switch or choice; hub_set_text a text (NULL: no
 * text); hub_parse a value of any type from its text form. The window's thread takes the value in the next pass of its
 * loop, and only the newest if it was set several times. index: the parameter's instance, 0 if it has none. They return
 * 0, or -1 with err set if parameter, instance or value is refused. */
int hub_set_number(struct hub *hub, enum parameter id, int index, double number, struct error *err);
int hub_set_text(struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
int hub_parse(struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
/* Checks that clients may set this parameter and, if it is a text, that they may set it to this text. Returns 0, or -1
 * with err set. */
int hub_check(const struct hub *hub, enum parameter id, int index, const char *text, struct error *err);
/* Tells the window's thread what a MIDI clock says: tempo and beat. */
void hub_set_beats(struct hub *hub, const struct beats *beats);
/* Asks the window's thread to run a command (named as in commands_table) in the next pass of its loop. value NaN: the
 * value in the table of commands is used. Returns 0, or -1 with err set if there is no such command, if it cannot take
 * this value, or if too many commands wait already. */
int hub_run(struct hub *hub, const char *command, double value, struct error *err);
/* Asks the window's thread to show a notice (a line of text that disappears after some seconds) and to log it
 * (LOG_INFO). */
PRINTF_LIKE(2, 3) void hub_tell(struct hub *hub, const char *format, ...);

/* Copies the present values of all parameters, including those that clients have set and the window's thread has not
 * taken yet. */
void hub_get_values(struct hub *hub, struct parameters *values);
/* Copies the measured values (figures) that the window's thread published last. */
void hub_get_figures(struct hub *hub, struct hub_figures *figures);
/* Stores a list for clients to read, in the place of the former list, and calls the callbacks that hub_watch has
 * registered. The hub owns `json` from then on and frees it; NULL: there is no such list. Any thread may call this. */
void hub_set_list(struct hub *hub, enum hub_list list, char *json);
/* Returns a copy of one of the lists, as JSON text, which the caller frees; NULL: it is not set, or memory is
 * short. */
char *hub_get_list(struct hub *hub, enum hub_list list);
/* hub_set_osc_port stores the UDP port at which OSC messages are received; hub_get_osc_port returns it; 0: none. */
void hub_set_osc_port(struct hub *hub, int port);
int hub_get_osc_port(struct hub *hub);
/* Waits up to wait_ms until parameters' values or figures (measured values) change. *seen is the number of the version
 * that the caller has read, 0 at first; the function updates it. Returns false if nothing has changed since that
 * version. */
bool hub_wait(struct hub *hub, uint64_t *seen, int wait_ms);
/* A callback for changes of parameters' values or figures (measured values). The hub calls wake(opaque) in
 * hub_take, hub_publish or hub_set_list, with its lock held: wake must not block and must not call the hub. The caller
 * owns the struct, which must stay valid from hub_watch to hub_unwatch; only the hub uses `next`. */
struct hub_watch {
  void (*wake)(void *opaque);
  void *opaque;
  struct hub_watch *next;
};
/* Registers a watch: a callback for changes of values or figures. */
void hub_watch(struct hub *hub, struct hub_watch *watch);
/* Removes a watch (a callback for changes). Does nothing if the watch is not registered. After this function returns,
 * wake is not called any more. */
void hub_unwatch(struct hub *hub, struct hub_watch *watch);
/* Copies the struct with the frames that the window shows at the moment: the network's picture, and what is drawn over
 * it (the source or a frozen picture). The copy holds references of its own to the frames, which the caller releases
 * with hub_put_back. Returns false if there is no picture, or if HUB_LOOKERS callers have such a copy already. */
bool hub_get_picture(struct hub *hub, struct covered *shown);
void hub_put_back(struct hub *hub, struct covered *shown);

/* --- functions that the window's thread calls --- */

/* hub_has_wishes returns true if clients have set values, asked for commands or called hub_tell; a new beat of a MIDI
 * clock does not count. hub_take copies the values that clients have set to *state and marks them as set, runs the
 * commands, and sets the clock of beats to a MIDI clock. It returns true if there were values or commands. */
bool hub_has_wishes(struct hub *hub);
bool hub_take(struct hub *hub, struct live_state *state, int64_t now_ns);
/* Copies the text of the last hub_tell, which the caller shows and logs. Returns false if no text came since the last
 * call. */
bool hub_take_notice(struct hub *hub, char notice[HUB_NOTICE_MAX]);
/* Stores the parameters' values and the figures (measured values) for clients to read. If any of them differ from the
 * values stored last, the hub calls the callbacks that hub_watch has registered. */
void hub_publish(struct hub *hub, const struct parameters *values, const struct hub_figures *figures);
/* Stores the picture on the screen for clients to read. The hub holds references of its own to the frames in *shown. */
void hub_show(struct hub *hub, const struct covered *shown);

#endif
