/* Declarations that the files of the live window share. Fields of struct live belong to the main thread unless they say
 * otherwise. A reader thread reads the source's frames, and an engine thread makes pictures from them. The main thread
 * runs in turns: each turn handles events, brings everything to what the state says, takes the newest picture, and
 * draws.
 *
 * live.c              opens everything, runs the turns from the first picture to the last, and closes everything
 * open.c              opens the source, the engine, the mask and the control source
 * turn.c              applies the state in each turn: to engine, reader, window and files
 * view.c              handles the window's events and draws
 * overlay.c           fills the overlay over the picture
 * alerting.c          decides which alerts hold
 * telling.c           writes messages to the window's notice and to the terminal
 * renewal.c           replaces an OpenGL context that was lost
 * live_presets.c      takes and saves presets
 * live_scripts.c      plays and records scripts: values over time
 * sending.c           recordings and other outputs
 * source_list.c       decides which source of several is shown
 * sound_modulation.c  listens to sound and lets it move values
 * clients.c           opens the clients, which set values from outside
 * successor.c         restarts the program if the engine cannot be opened again in this process
 * probe.c             measures for bench --live */
#ifndef APP_LIVE_LIVE_IMPL_H
#define APP_LIVE_LIVE_IMPL_H

#include "app/control/cover.h"
#include "app/control/keys.h"
#include "app/control/modulation.h"
#include "app/control/panel.h"
#include "app/control/script.h"
#include "app/live/figures.h"
#include "app/live/handover.h"
#include "app/live/probe.h"
#include "app/options/options.h"
#include "app/remote/hub.h"
#include "app/remote/ipc.h"
#include "app/remote/midi.h"
#include "app/remote/osc.h"
#include "app/remote/web.h"
#include "app/run/control_source.h"
#include "app/run/loop.h"
#include "app/run/masking.h"
#include "app/run/outputs.h"
#include "app/run/styling.h"
#include "app/source/changer.h"
#include "app/source/listener.h"
#include "app/source/reader.h"
#include "app/source/sound_tap.h"
#include "app/source/track.h"
#include "app/window/hud.h"
#include "app/window/present.h"
#include "app/window/snapshot.h"
#include "app/window/window.h"

/* Without --size the picture has the source's shape. Its longer side has this length, or less if the device is too slow
 * for it. */
enum { LONGEST_SIDE = 320 };

/* How far a restart of the program has come: none is wanted; the curtain is being shown; all is ready for it. */
enum handing { HANDING_NOT, HANDING_CURTAIN, HANDING_READY };

/* Costs of pictures up to some moment: bytes of pixels that the engine copied and that were copied for the window,
 * processor time of both threads, and the numbers of pictures made and shown. */
struct costs {
  size_t engine_bytes;
  uint64_t window_bytes;
  double engine_cpu_ms, window_cpu_ms;
  long made, shown;
};

struct live {
  /* Set before other threads begin. Any thread may log; told_lock protects told_line, which the main thread shows. */
  const struct options *options;
  struct log log;
  struct log told;            /* like log, and warnings are also shown as a notice; any thread may use it */
  pthread_mutex_t told_lock;  /* protects told_line */
  char told_line[NOTICE_MAX]; /* the last warning, which is yet to be shown; "": none */

  /* The source: set before its threads begin, and then the main thread's. Threads that open a source read a copy of
   * source_options, and through it sources_stop and mirror. Once the engine's threads have begun, first_source is
   * theirs. */
  const char *spec;       /* name or address of the first source; NULL: text to image */
  bool source_is_control; /* the model makes images from text, and the only source is that of the controls */
  char clip[PATHS_MAX];   /* path of the sample clip, if that is the source */
  struct source_options source_options;
  struct playlist list; /* the sources, until the changer takes them over */
  int first;            /* number of the source in list that is read first, from 0 */
  struct changer *changer;
  atomic_bool sources_stop;        /* sources that the changer opens give up when this is set */
  int source_told;                 /* number of the source that the state was given last, from 1 */
  int mirror_told;                 /* the state's mirror that was passed on last */
  struct mirror mirror;            /* source_options.mirror, read on the sources' threads */
  struct source_info info;         /* information about the source; zeros until it is known */
  struct source_info first_source; /* the same about the first source, for the engine's threads */

  /* Pictures on their way. The mailboxes and the reader have locks of their own; the main thread opens and closes all.
   * The engine's thread uses masking, styling and control while it runs; any thread may ask styling for a frame. */
  struct mailbox frames, pictures; /* frames of the source, for the engine; pictures, for the window */
  struct reader *reader;           /* NULL: text to image */
  struct masking *masking;         /* NULL: there is no mask */
  struct styling styling;
  int styles_told;                /* value of state.styles_asked up to which styling was asked */
  struct control_source *control; /* NULL: controls read the source itself */

  /* Sound: opened and closed by the main thread while the engine's thread does not run. That thread asks listener and
   * track, which have locks of their own, for levels; while it runs, only it may use modulations. */
  struct listener *listener;        /* the input whose sound moves values; NULL: none */
  struct listener *microphone;      /* the input of recordings' sound, if that is another one; NULL: none */
  struct sound_tap *heard;          /* sound of microphone or listener for recordings; NULL: they use the source's */
  struct track *track;              /* the source's own sound, if that moves values; NULL: it does not */
  unsigned track_told;              /* number (sound_tap_number) of the sound that live_follow_sound saw last */
  char silent_told[SOUND_NAME_MAX]; /* the source that the alert says has no sound; "": none */
  struct modulations modulations;

  /* The engine's thread and clients: the main thread opens and closes them, and each has a lock of its own. The
   * engine's threads read leaving. */
  struct loop *loop;
  atomic_bool leaving; /* the show is over, and the engine gives up what it is doing */
  struct hub *hub;
  struct ipc *ipc; /* ipc, osc, midi and web are NULL if they were not asked for */
  struct osc *osc;
  struct midi *midi;
  struct web *web;

  /* Clients, as the main thread knows them. From here on everything belongs to the main thread, with two exceptions. It
   * fills first_values before the engine's threads begin, which then read them. And snapshot, presets, outputs and tap
   * have threads inside, which their own functions synchronise. */
  bool clients_stay;               /* a client's thread has not ended in time, and still uses the hub */
  struct hub_figures figures_told; /* figures that the hub was given last */
  int64_t published_ns;            /* when the hub was given them */

  /* The window and its OpenGL context. */
  struct window *window;
  struct present *present;
  struct hud *hud;
  int64_t context_lost_ns, context_tried_ns; /* when the context was lost, 0: it is not; last attempt to replace it */

  /* Values, and what the user sees of the engine. */
  struct parameters start;        /* values of the command line, with the usual prompts; presets start from them */
  struct parameters first_values; /* the engine's first values, prompts of all keys included */
  struct live_state state;
  struct panel panel;
  struct parameter_choices loras, styles; /* files among which keys and clients may choose */
  struct loop_status engine;              /* the loop's status in this turn */
  struct alerts alerts;                   /* the alerts of this turn */
  int demoted_told;                       /* value of platform_count_demoted() that was logged last */
  struct awake *awake;                    /* keeps processors from sleeping; NULL: nothing does */
  int engines_told;                       /* value of engine.engines that was logged last */

  /* The picture that is shown. */
  const struct mail *shown;   /* valid until the next picture is taken; NULL: none yet */
  int64_t overlay_ns;         /* when the overlay was updated last */
  int64_t active_ns;          /* when a picture or an event came last */
  struct recent_summary late; /* summary of recent pictures, as of published_ns */
  float input_part;           /* how much of shown's input the window has, from the left: 0 to 1 */
  struct snapshot snapshot;   /* the snapshot that is being written */
  int snapshots;              /* number of snapshots begun */

  /* Presets. */
  struct presets_file *presets;     /* NULL: none */
  int presets_told;                 /* value of state.presets_asked up to which presets were saved */
  int preset_taken;                 /* number of the preset taken last; 0: none */
  bool preset_set, preset_put_back; /* the number was set by someone; it was set back here, which nobody asked for */

  /* Recordings and other outputs. */
  struct sound_tap *tap; /* sound of the source that is shown; NULL: there is no source */
  struct frame held;     /* the picture that a freeze holds, for outputs */
  bool covered_anew;     /* the cover has changed in this turn */
  struct outputs *outputs;
  struct outputs_figures output_figures; /* the outputs' figures in this turn */
  int recording;                         /* the output that the recording key begins and ends; 0: none */
  bool record_ending;                    /* the recording was asked to end */
  const char *record_next;               /* file of the next recording; NULL: it is named after the time */

  /* The course of the show, and when things were drawn. */
  bool ended;                    /* no more pictures will come */
  bool overlay_changed;          /* the overlay has changed since it was drawn */
  int64_t started_ns, opened_ns; /* when the show began, maybe in a former program; when this program's window opened */
  int64_t drawn_ns;              /* when the output was drawn last */
  int64_t operator_drawn_ns;     /* when the operator's window was looked at last */
  bool operator_changed;         /* something in it has changed since it was drawn */
  struct present_view operator_view; /* the view that was drawn in it last */
  int64_t notice_told_ns;            /* state.notice_until_ns of the last notice that the terminal has seen, too */
  long dropped_before;               /* frames dropped while the engine was being opened */
  struct live_figures figures;
  struct costs costs;           /* costs up to picture SETTLED, from which they are counted */
  struct present_counts former; /* counts of contexts that were lost */

  /* The cover: what lies over the picture. */
  struct cover cover;
  struct cover_levels cover_levels; /* the levels in this turn */
  bool cover_moves;                 /* the levels will differ in the next turn */

  /* Scripts that are played and recorded. */
  struct script *script;            /* the script that is played; NULL: none */
  struct script_recorder *recorder; /* NULL: nothing is recorded, or not yet */
  FILE *script_file;                /* the recorder's file until it takes it over */
  bool script_broken;               /* recording failed, and the file is not complete */
  int64_t begun_ns, script_ns;      /* when recording began; when the script began, in this round */
  double script_s;                  /* seconds of the script that were played; < 0: none yet */

  /* An engine that hangs, and the restart of the program. */
  struct engine_shape shape_told;      /* shape of pictures that the user was told last; width 0: none */
  bool stalled;                        /* the engine has made pictures before, and now hangs */
  double stalled_ms;                   /* for how long, not counting time in which this program did not run */
  int64_t exchanged_ns;                /* time of the last turn */
  const struct handover *came;         /* state of the former program; NULL: the user started this one */
  int curtain;                         /* connection to the curtain (curtain.h); -1: there is none */
  int64_t curtain_ns, window_shown_ns; /* when the curtain was begun; when the new window was shown, 0: not yet */
  enum handing handing;
  bool handing_told; /* the user was told of the restart */
  char fate[120];    /* words about what happens to an engine that cannot be opened again here; "": it can be */
  char *handed;      /* text for the next program, allocated */

  /* A freeze, changes sent to the loop, and measuring. */
  bool frozen;              /* a freeze holds the picture that was shown when it began */
  uint64_t source_serial;   /* serial of the source's frame that the window has for a bypass; 0: none yet */
  long sent;                /* number of changes sent to the loop */
  struct live_probe *probe; /* NULL: nothing is measured */
};

/* --- telling.c --- */

/* Shows a notice in the window and logs it at this level. */
PRINTF_LIKE(4, 5) void live_tell(struct live *live, enum log_level level, int64_t now_ns, const char *format, ...);
/* Initialises live->told, before other threads use it; live_close_telling ends it after they have ended. */
void live_open_telling(struct live *live);
void live_close_telling(struct live *live);
/* Shows the last warning that came through live->told as a notice. */
void live_follow_told(struct live *live, int64_t now_ns);
/* Records that the current notice was also logged at this level, so that live_tell_terminal does not repeat it. */
void live_was_told(struct live *live, enum log_level level);

/* --- open.c --- */

/* Opens the command line's first source that can be opened. Without any it opens the first camera, and if that fails
 * the sample clip in a loop. *source stays NULL if the source is opened later, on the reader's thread. */
int live_open_source(struct live *live, struct source **source, struct error *err);
/* Opens the mask and the control source. */
int live_open_mask_and_control(struct live *live, struct error *err);
/* Starts the reader's and the engine's thread; the engine is opened on the latter. Takes over *source and sets it to
 * NULL as soon as the reader has it. */
int live_start_threads(struct live *live, struct source **source, struct error *err);
/* Ends both threads, the reader's first. Returns -1 and err if one of them had failed. */
int live_stop_threads(struct live *live, struct error *err);

/* --- sound_modulation.c --- */

/* Checks the options about sound and opens its inputs. Must be called before the engine's thread starts.
 * live_close_sound is called after that has ended. */
int live_open_sound(struct live *live, struct error *err);
/* Starts to analyse the source's own sound if that moves values. Must be called after live->tap was opened. */
int live_open_track(struct live *live, struct error *err);
void live_close_sound(struct live *live);
/* Returns the sound for recordings; NULL: they have none. If it is live->heard, its times are those of the clock and
 * not the source's (outputs.h). */
struct sound_tap *live_recorded_sound(const struct live *live);
/* Moves the settings of a frame as the sound says. Returns true if sound may move them at any moment. Called on the
 * engine's thread. */
bool live_modulate(struct live *live, struct settings *settings, const struct frame *frame, int64_t now_ns);
/* Tells the user of a source without sound if its sound is to move values. */
void live_follow_sound(struct live *live, int64_t now_ns);

/* --- clients.c --- */

/* Opens the clients that the options ask for. Each has a thread of its own, which shares only the hub with the main
 * thread. */
int live_open_clients(struct live *live, struct error *err);
/* Ends the clients and waits up to some seconds for their threads. A thread that does not end stays, and
 * live->clients_stay says so. */
void live_close_clients(struct live *live);

/* --- source_list.c --- */

/* Fills live->list with the sources of the command line or of the former program. The list stays empty if there are
 * none. */
int live_list_sources(struct live *live, struct error *err);
/* Must be called after the reader was started with the first source. */
int live_open_changer(struct live *live, struct error *err);
void live_close_changer(struct live *live); /* must be called before the reader ends */
/* Changes to the source that the state asks for, and stores in the state which one is shown. */
void live_follow_sources(struct live *live, int64_t now_ns);
/* Returns true if another source follows the one that is shown. */
bool live_sources_go_on(const struct live *live);
/* Shows a file that was dropped on the window. follows: it was dropped together with the one before, and comes after
 * that. file NULL: something else was dropped, which is refused. */
void live_drop(struct live *live, const char *file, bool follows, int64_t now_ns);

/* --- live_scripts.c --- */

/* Opens the script to play and the file to record to. Returns -1 and err if that fails. */
int live_open_scripts(struct live *live, struct error *err);
/* Sets the values that the played script has for this moment, and records the values that were set. */
void live_follow_scripts(struct live *live, int64_t now_ns);
/* Returns -1 and err if the recorded script is not complete. */
int live_close_scripts(struct live *live, struct error *err);

/* --- turn.c --- */

/* Runs the middle part of a turn: takes values from clients, and applies the state to window, reader, engine, outputs
 * and files. */
void live_exchange(struct live *live, int64_t now_ns);
/* Waits until all snapshots that were asked for are written. */
void live_finish_snapshots(struct live *live);

/* --- live_presets.c --- */

/* Opens the file of presets. Returns -1 and err if it cannot be read, or has no preset of the number that was asked
 * for. */
int live_open_presets(struct live *live, struct error *err);
/* Takes and saves presets as the state asks, and tells the user about it. */
void live_follow_presets(struct live *live, int64_t now_ns);
void live_close_presets(struct live *live);

/* --- sending.c --- */

/* Checks and opens the outputs of the command line. Must be called after the source was opened. */
int live_open_outputs(struct live *live, struct error *err);
/* Returns -1 and err if the file cannot be created because its folder is missing or not writable. So this is known
 * before the show begins. spec may also be an address, which is not checked. */
int live_check_place(const char *spec, struct error *err);
/* Makes the picture that is shown the one that a freeze holds for outputs. */
void live_hold_for_outputs(struct live *live);
/* Passes what the window shows to outputs and clients. Called after drawing. fresh: a new picture was taken. */
void live_show_elsewhere(struct live *live, bool fresh);
/* Begins and ends recordings as the state asks, and tells the user what happened to outputs. */
void live_follow_outputs(struct live *live, int64_t now_ns);
/* Writes words about recordings and streams for the overlay. Returns NULL if there are none. */
const char *live_describe_outputs(const struct live *live, char *words, size_t size);
/* Returns how many pictures outputs hold at most, including a recording that is begun later. */
int live_outputs_hold(const struct live *live);
/* Completes all recordings and ends all streams. Returns -1 and err if one of them is not complete. */
int live_close_outputs(struct live *live, struct error *err);

/* --- successor.c --- */

/* Start values of a restarted program: the command line's options with the values of the former program, and the
 * memory that they point to. */
struct succession {
  struct options options;
  struct parameters start; /* values of the command line alone */
  struct handover came;
  /* connection to the curtain; -1: none */
  int curtain;
  /* new names of output files */
  char record[PATHS_MAX], record_script[PATHS_MAX], to[CHOICES_MAX][PATHS_MAX];
};
/* Reads the state of the former program, which the environment names. *succession is NULL if the user started this
 * program. The caller frees it. */
int live_take_succession(struct succession **succession, const struct options *options, struct error *err);
void live_free_succession(struct succession **succession);
/* Starts the show with the former program's state. */
void live_succeed(struct live *live, const struct succession *succession);
/* Decides what a failure to open something means. At the user's own start it returns status. After a restart it logs
 * err and returns 0, because the show must go on. */
int live_allow_failure(struct live *live, int status, const struct error *err);
/* Shows the window of a restarted program as soon as it has something to show, and then ends the curtain. */
void live_replace_curtain(struct live *live, int64_t now_ns);
/* Prepares the restart of the program if the engine is lost for this process, or hangs. */
void live_follow_handover(struct live *live, int64_t now_ns);
/* Replaces this program by its restart. Everything must be closed, except for an engine that hangs. Returns with err
 * only on failure. */
void live_hand_over(struct live *live, struct error *err);

/* --- probe.c --- */

/* Called at the beginning of a turn: sends a change of prompt or strength when one is due. Ends the show when enough
 * was measured. */
void live_probe_turn(struct live *live, int64_t now_ns);
/* Draws the input frame, with its marker, beside the picture, as present_input does. */
void live_probe_bring(struct live *live, float part);
/* Called right after a picture was presented: reads its marker from the window. */
void live_probe_look(struct live *live, const struct present_view *view);

/* --- view.c --- */

/* Opens the window, the operator's window if it is asked for, and everything that draws in them. */
int live_open_window(struct live *live, struct error *err);
/* Returns true if the output fills its display from the beginning, as it does next to an operator's window on another
 * display. */
bool live_fills_display(const struct live *live);
/* Closes the window and prints the show's figures. */
void live_close_window(struct live *live);
/* Stores the window's size if the user has not chosen one: the largest one that fits for a picture of this shape (width
 * over height). */
void live_fit_window(const struct live *live, double shape, int *width, int *height);
/* Handles all events that wait. Returns true if the window has to be drawn again because of them. */
bool live_handle_events(struct live *live, int64_t now_ns);
/* Waits for a picture and takes the newest, or before the first one a frame of the source. Returns true if it took
 * one. */
bool live_take_picture(struct live *live);
/* Follows freeze, bypass and blackout. Returns true if what lies over the picture looks different now. */
bool live_cover(struct live *live, int64_t now_ns);
/* Draws the windows if something in them has changed. fresh: a picture was taken; changed: something else has
 * changed. */
void live_draw(struct live *live, bool fresh, bool changed, int64_t now_ns);
/* Returns the output without its overlay: RGBA, rows from the bottom to the top. The caller frees it. NULL: it cannot
 * be read. */
uint8_t *live_read_output(struct live *live, int *width, int *height);

/* --- overlay.c --- */

/* Returns where the overlay is: in the operator's window if there is one, otherwise over the picture. */
enum hud_layout live_layout(const struct live *live);
/* Fills the overlay for a window of this size. Returns true if it has to be drawn again. */
bool live_update_overlay(struct live *live, int64_t now_ns, int width, int height);
/* Logs a notice that no screen shows, unless it was logged already. */
void live_tell_terminal(struct live *live);
/* Writes what is waited for, such as "loading the model" or "640x360 is being prepared"; "": nothing. */
void live_describe_start(const struct live *live, char *words, size_t size);

/* --- alerting.c --- */

/* Updates live->alerts: each alert holds exactly as long as its cause. */
void live_follow_alerts(struct live *live, int64_t now_ns);

/* --- renewal.c --- */

/* Replaces the window's OpenGL context if it was lost and another can be had. Returns 1 if it did, and everything has
 * to be drawn again; 0 if there was nothing to do or it will be tried again; -1 and err if that has failed for too
 * long. */
int live_follow_context(struct live *live, int64_t now_ns, struct error *err);
/* Returns the counts of pictures that were drawn, in all contexts so far. */
struct present_counts live_count_drawn(const struct live *live);

#endif
