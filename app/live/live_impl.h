/* The live window from the inside: what its files share. The main thread owns all of it but where a field says
 * otherwise; a reader thread and an engine thread bring the pictures.
 *
 * telling.c           lines in the window and on the terminal
 * open.c              the source, the engine and what goes along with them, as the options ask for them
 * turn.c              each turn: brings reader, engine and files to what the state says, and tells what they refuse
 * live_presets.c      the file of presets
 * sending.c           recordings and other outputs
 * live_scripts.c      values by time, played and recorded
 * view.c              window, events, drawing
 * overlay.c           text over the picture
 * alerting.c          which alerts hold
 * renewal.c           another OpenGL context in the place of a lost one
 * sound_modulation.c  sound that is listened to, and the values it moves
 * source_list.c       which source of several is shown
 * clients.c           the clients that set values from outside
 * successor.c         the program started anew, where the engine cannot be opened again in this process
 * probe.c             the measurements of bench --live
 * live.c              the turns from the first picture to the last */
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

/* Without --size the picture has the source's shape and this longest side, or the one the device has time for. */
enum { LONGEST_SIDE = 320 };

/* On the way to the program anew. */
enum handing { HANDING_NOT, HANDING_CURTAIN, HANDING_READY };

/* What pictures have cost until so many were made and shown: bytes of pixels copied by the engine and for the window,
 * and what their threads have had of a processor. */
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
  struct log told;            /* as log, and warnings are seen in the window's line; any thread's */
  pthread_mutex_t told_lock;  /* protects told_line */
  char told_line[NOTICE_MAX]; /* the last warning, to be shown; "": none */

  /* The source: set before its threads begin, and then the main thread's. Threads that open a source read a copy of
   * source_options, and through it sources_stop and mirror. Once the engine's threads have begun, first_source is
   * theirs. */
  const char *spec;       /* of the source; NULL: text to image */
  bool source_is_control; /* text to image has no other than that of the controls */
  char clip[PATHS_MAX];
  struct source_options source_options;
  struct playlist list; /* of sources, until the changer has it */
  int first;            /* of them, that is read first */
  struct changer *changer;
  atomic_bool sources_stop;        /* told to those that the changer opens */
  int source_told;                 /* the number that the state had last */
  int mirror_told;                 /* likewise its mirror */
  struct mirror mirror;            /* that sources of source_options look at, on their threads */
  struct source_info info;         /* of the source; zeros until it is known */
  struct source_info first_source; /* the same, for the engine's threads */

  /* Pictures on their way. The mailboxes and the reader have locks of their own; the main thread opens and closes all.
   * The engine's thread uses masking, styling and control while it runs; any thread may ask styling for a frame. */
  struct mailbox frames, pictures;
  struct reader *reader;
  struct masking *masking;
  struct styling styling;
  int styles_told; /* of state.styles_asked */
  struct control_source *control;

  /* Sound: opened and closed by the main thread while the engine's thread does not run. That thread asks listener and
   * track, which have locks of their own, for levels; while it runs, modulations are its alone. */
  struct listener *listener;        /* NULL: none */
  struct listener *microphone;      /* what recordings have for sound, where that is another input; NULL: none */
  struct sound_tap *heard;          /* its sound, or the listener's, for recordings; NULL: none */
  struct track *track;              /* the source's own sound in its place; NULL: none */
  unsigned track_told;              /* the tap's number of which it was told whether it can be heard */
  char silent_told[SOUND_NAME_MAX]; /* the source that it was told of that it has none; "": none */
  struct modulations modulations;   /* after the start the engine thread's alone */

  /* The engine's thread and clients: the main thread opens and closes them, and each has a lock of its own. The
   * engine's threads read leaving. */
  struct loop *loop;
  atomic_bool leaving; /* the show is over: what the engine is at is given up */
  struct hub *hub;
  struct ipc *ipc;
  struct osc *osc;
  struct midi *midi;
  struct web *web;

  /* Clients, as the main thread knows them. All from here on is the main thread's alone, except first_values, which it
   * fills before the engine's threads begin and which they read, and the inside of snapshot, presets, outputs and tap:
   * their functions keep their own threads apart. */
  bool clients_stay;               /* a thread of theirs has not come back, and uses the hub */
  struct hub_figures figures_told; /* to clients of the hub */
  int64_t published_ns;            /* when that was */

  /* The window and its OpenGL context. */
  struct window *window;
  struct present *present;
  struct hud *hud;

  int64_t context_lost_ns, context_tried_ns; /* when that was, 0: it is not; when another one was tried last */

  /* Values, and what the user sees of the engine. */
  struct parameters start;        /* what the command line says, and the usual prompts: what the show began with */
  struct parameters first_values; /* the engine's first ones, prompts of all keys among them */
  struct live_state state;
  struct panel panel;
  struct parameter_choices loras, styles; /* all files that a key puts in each other's place */
  struct loop_status engine;
  struct alerts alerts; /* as of this turn */
  int demoted_told;     /* of platform_count_demoted */
  struct awake *awake;  /* keeps processors from sleeping; NULL: nothing does */
  int engines_told;     /* engine.engines, as far as the user knows of them */

  /* The picture that is shown. */
  const struct mail *shown;   /* valid until the next picture is taken; NULL: none yet */
  int64_t overlay_ns;         /* when it was looked after */
  int64_t stirred_ns;         /* when a picture came last, or somebody did something */
  struct recent_summary late; /* of the pictures of late, as of published_ns */
  float input_part;           /* of shown's input, that the window has: from the left */
  struct snapshot snapshot;   /* on its way to its file */
  int snapshots;              /* begun so far */

  /* Presets. */
  struct presets_file *presets;     /* NULL: none */
  int presets_told;                 /* of state.presets_asked */
  int preset_taken;                 /* last; 0: none */
  bool preset_set, preset_put_back; /* somebody has set the number; it was put back, which is no wish */

  /* Recordings and other outputs. */
  struct sound_tap *tap; /* the sound of the source that is shown; NULL: it has none to be recorded */
  struct frame held;     /* what a cover holds, for outputs */
  bool covered_anew;     /* in this turn something else lies over the picture */
  struct outputs *outputs;
  struct outputs_figures output_figures; /* as of this turn */
  int recording;                         /* the output that keys begin and end; 0: none */
  bool record_ending;                    /* it was asked to */
  const char *record_next;               /* file of the next one; NULL: named after the time */

  /* The show's course and what was drawn when. */
  bool ended;
  bool overlay_changed;          /* since the last drawing */
  int64_t started_ns, opened_ns; /* the show; this program's window */
  int64_t drawn_ns;
  int64_t operator_drawn_ns;
  bool operator_changed;             /* since then */
  struct present_view operator_view; /* drawn then */
  int64_t notice_told_ns; /* state.notice_until_ns of what was said on the terminal, as there is no screen for it */
  long dropped_before;    /* while the engine was being opened */
  struct live_figures figures;
  struct costs costs;           /* until pictures took their ways */
  struct present_counts former; /* what came to be drawn in contexts that were lost */

  /* What lies over the picture. */
  struct cover cover;
  struct cover_levels cover_levels; /* in this turn */
  bool cover_moves;                 /* they will be others in the next one */

  /* Scripts that are played and recorded. */
  struct script *script;            /* that is played; NULL: none */
  struct script_recorder *recorder; /* NULL: none, or not yet */
  FILE *script_file;                /* for it */
  bool script_broken;               /* it could not be written on */
  int64_t begun_ns, script_ns;      /* the recording; the script, this time round */
  double script_s;                  /* as far as it has been played; < 0: not at all */

  /* What becomes of an engine that hangs, and of the program that comes in the place of this one. */
  struct engine_shape shape_told;  /* of pictures that have been told of; width 0: none have */
  bool stalled;                    /* the engine, which has made pictures before */
  double stalled_ms;               /* for so long, as far as this program has seen it */
  int64_t exchanged_ns;            /* as of then */
  const struct handover *came;     /* from the program before; NULL: the user started this one */
  int curtain;                     /* what is seen in the window's place (curtain.h); -1: nothing */
  int64_t curtain_ns, unveiled_ns; /* since it is; since the window is again; 0: it is not */
  enum handing handing;
  bool handing_told;
  char fate[120]; /* what becomes of an engine that this process cannot open again; "": there is none */
  char *handed;   /* text for the program anew */

  /* What a freeze holds, what was sent to the loop, and what measures. */
  bool frozen;              /* what is held was shown last when that began */
  uint64_t source_serial;   /* of the frame that would be seen past the engine; 0: none yet */
  long sent;                /* changes, to the loop */
  struct live_probe *probe; /* NULL: nobody measures */
};

/* --- telling.c --- */

/* In the window's line and on the terminal. */
PRINTF_LIKE(4, 5) void live_tell(struct live *live, enum log_level level, int64_t now_ns, const char *format, ...);
/* Before other threads use live->told, and after they have ended. */
void live_open_telling(struct live *live);
void live_close_telling(struct live *live);
/* What was logged by live->told comes into the window's line. */
void live_follow_told(struct live *live, int64_t now_ns);
/* What the window's line says was logged at this level: where nobody sees that line it need not be said again. */
void live_was_told(struct live *live, enum log_level level);

/* --- open.c --- */

/* The source of the command line; without one the first camera, else the sample clip again and again. */
int live_open_source(struct live *live, struct source **source, struct error *err);
/* What goes along with the source. */
int live_open_beside(struct live *live, struct error *err);
/* The engine opens on its thread. Takes over *source. */
int live_start_threads(struct live *live, struct source **source, struct error *err);
/* Ends the threads, the one that feeds first. Returns -1 and err when one of them had failed. */
int live_stop_threads(struct live *live, struct error *err);

/* --- sound_modulation.c --- */

/* Before the engine's thread, which must have ended when they are closed; what the options say is checked here. */
int live_open_sound(struct live *live, struct error *err);
/* The same for the source's own sound, once there is a tap. */
int live_open_track(struct live *live, struct error *err);
void live_close_sound(struct live *live);
/* What recordings have for sound; NULL: nothing. heard is one by the clock (outputs.h). */
struct sound_tap *live_recorded_sound(const struct live *live);
/* The settings of a frame as the sound moves them, and whether there is one that may; the engine's thread. */
bool live_modulate(struct live *live, struct settings *settings, const struct frame *frame, int64_t now_ns);
/* Tells of a source that has no sound to move anything. */
void live_follow_sound(struct live *live, int64_t now_ns);

/* --- clients.c --- */

/* Each has a thread of its own, which meets this one at the hub alone. */
int live_open_clients(struct live *live, struct error *err);
void live_close_clients(struct live *live);

/* --- source_list.c --- */

/* Those of the command line; none: an empty list. */
int live_list_sources(struct live *live, struct error *err);
/* After the reader has begun with the first of them. */
int live_open_changer(struct live *live, struct error *err);
void live_close_changer(struct live *live); /* before the reader ends */
/* Goes to the source that the state says, and says in the state which it is. */
void live_follow_sources(struct live *live, int64_t now_ns);
bool live_sources_go_on(const struct live *live);
/* A file dropped on the window, with the one before it or alone; NULL: it was none. */
void live_drop(struct live *live, const char *file, bool follows, int64_t now_ns);

/* --- live_scripts.c --- */

int live_open_scripts(struct live *live, struct error *err);
/* What the script says for this moment is set, and what has been set is written down. */
void live_follow_scripts(struct live *live, int64_t now_ns);
/* Returns -1 and err where what was to be recorded is not complete. */
int live_close_scripts(struct live *live, struct error *err);

/* --- turn.c --- */

/* Takes what came from outside, and brings window, reader and engine thread to what the state says. */
void live_exchange(struct live *live, int64_t now_ns);
/* Those asked for before the window closed, too. */
void live_finish_snapshots(struct live *live);

/* --- live_presets.c --- */

int live_open_presets(struct live *live, struct error *err);
/* Takes and saves what the state asks for, and tells what became of it. */
void live_follow_presets(struct live *live, int64_t now_ns);
void live_close_presets(struct live *live);

/* --- sending.c --- */

/* Those of the command line, which are checked first. After the source was opened. */
int live_open_outputs(struct live *live, struct error *err);
/* Whether a file may be made there, before the show begins. */
int live_check_place(const char *spec, struct error *err);
/* The picture shown is what a cover holds from now on. */
void live_hold_for_outputs(struct live *live);
/* Outputs and clients get what is seen in the window. After drawing. fresh: a picture was taken. */
void live_show_elsewhere(struct live *live, bool fresh);
/* Begins and ends recordings as the state says, and tells what became of outputs. */
void live_follow_outputs(struct live *live, int64_t now_ns);
/* For the overlay; NULL: nothing is recorded or sent. */
const char *live_describe_outputs(const struct live *live, char *words, size_t size);
/* Pictures at most, with a recording that is begun later. */
int live_outputs_hold(const struct live *live);
int live_close_outputs(struct live *live, struct error *err);

/* --- successor.c --- */

/* The options that a program takes from the command line where it comes in the place of another one, and what they
 * point to. */
struct succession {
  struct options options;
  struct parameters start; /* what the command line itself says */
  struct handover came;
  int curtain;
  char record[PATHS_MAX], record_script[PATHS_MAX], to[CHOICES_MAX][PATHS_MAX];
};
/* Takes what the program before this one left, from the environment. *succession NULL: there was none. To be freed. */
int live_take_succession(struct succession **succession, const struct options *options, struct error *err);
void live_free_succession(struct succession **succession);
/* Begins with it. */
void live_succeed(struct live *live, const struct succession *succession);
/* What cannot be opened as it was then does not end the show. Returns status, or 0. */
int live_insist(struct live *live, int status, const struct error *err);
/* The window is shown when there is something in it. */
void live_unveil(struct live *live, int64_t now_ns);
/* Prepares for the program anew where the engine is lost for this process, or hangs. */
void live_follow_handover(struct live *live, int64_t now_ns);
/* After all is closed but what hangs: becomes that program. Comes back when that fails. */
void live_hand_over(struct live *live, struct error *err);

/* --- probe.c --- */

/* Before an exchange: changes what is due to change. Ends the program when enough was seen. */
void live_probe_turn(struct live *live, int64_t now_ns);
/* The frame beside the picture, with its marker: as present_input. */
void live_probe_bring(struct live *live, float part);
/* Right after a picture was presented, as it was drawn. */
void live_probe_look(struct live *live, const struct present_view *view);

/* --- view.c --- */

int live_open_window(struct live *live, struct error *err);
/* Whether the output begins with all of its display. */
bool live_fills_display(const struct live *live);
void live_close_window(struct live *live);
/* The window's size where nobody asked for another: as large as fits for a picture of this shape, width over height. */
void live_fit_window(const struct live *live, double shape, int *width, int *height);
/* Returns whether something on screen may have changed. */
bool live_handle_events(struct live *live, int64_t now_ns);
/* Takes the newest picture there is, or, before the first one, what the source shows. Returns whether there was one. */
bool live_take_picture(struct live *live);
/* What lies over the picture comes and goes. Returns whether it looks different now. */
bool live_cover(struct live *live, int64_t now_ns);
/* Draws where there is something new to be seen. fresh: a picture was taken; changed: something else may look anew. */
void live_draw(struct live *live, bool fresh, bool changed, int64_t now_ns);
/* The output as it is drawn, without what is said over it: RGBA, from the lowest row up; free() it. NULL: it cannot be
 * had. */
uint8_t *live_read_output(struct live *live, int *width, int *height);

/* --- overlay.c --- */

/* Where it is: in the operator's window, if there is one. */
enum hud_layout live_layout(const struct live *live);
/* To what the state says, for a window of this size. Returns whether it looks different now. */
bool live_update_overlay(struct live *live, int64_t now_ns, int width, int height);
/* What no screen shows is said on the terminal, unless it was. */
void live_tell_terminal(struct live *live);
/* Writes what is waited for: "loading the model", "640x360 is being prepared"; "": nothing. */
void live_describe_start(const struct live *live, char *words, size_t size);

/* --- alerting.c --- */

/* Brings live->alerts to what is so at this moment. */
void live_follow_alerts(struct live *live, int64_t now_ns);

/* --- renewal.c --- */

/* Makes the window's OpenGL context anew after it was lost, when that can be done. 1: it was, and all is to be drawn;
 * -1: it cannot be. */
int live_follow_context(struct live *live, int64_t now_ns, struct error *err);
/* What came to be drawn, in all contexts. */
struct present_counts live_count_drawn(const struct live *live);

#endif
