/* Declarations that the files of the live window share. A reader thread reads the source's frames, the loop's thread
 * makes pictures from them with the engine, and the main thread shows the pictures. The main thread runs in turns: each
 * handles events, applies changed values, takes the newest picture, and draws.
 *
 * live.c              opens everything, runs the turns from the first picture to the last, and closes everything
 * open.c              opens the source, the engine, the mask and the control source
 * turn.c              applies changed values in each turn to engine, reader, window and files
 * view.c              handles the window's events and draws
 * overlay.c           fills the text overlay over the picture
 * alerting.c          decides which alerts the overlay shows
 * telling.c           writes messages to the window's notice line and to the terminal
 * renewal.c           replaces an OpenGL context that was lost
 * live_presets.c      applies presets and saves them
 * live_scripts.c      plays and records scripts (parameter values over time)
 * sending.c           manages recordings and other outputs
 * source_list.c       decides which source of several is shown
 * sound_modulation.c  analyses sound and lets it move values
 * clients.c           opens the clients (IPC, web page, OSC, MIDI), which set values from outside
 * successor.c         restarts the program if the engine cannot be opened again in this process
 * probe.c             measures for the command bench --live */
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

/* Without --size the picture has the source's aspect ratio, and its longer side has this many pixels, or fewer if the
 * device is too slow. */
enum { LONGEST_SIDE = 320 };

/* Progress of a restart of the program: none is going on; the curtain (curtain.h, a still picture by another process)
 * is being shown; the state for the new program is gathered, and this program can end. */
enum handing { HANDING_NOT, HANDING_CURTAIN, HANDING_READY };

/* Resources used since the start: bytes of pixels copied by the engine and for the window, processor time of the loop's
 * and the main thread, and the numbers of pictures made and shown. */
struct costs {
  size_t engine_bytes;
  uint64_t window_bytes;
  double engine_cpu_ms, window_cpu_ms;
  long made, shown;
};

struct live {
  /* Set before other threads begin. Any thread may log. told_lock protects told_line; any thread writes it, and the
   * main thread shows it. */
  const struct options *options;
  struct log log;
  struct log told;           /* a log that also stores warnings in told_line; any thread may use it */
  pthread_mutex_t told_lock; /* protects told_line */
  /* the last warning that the main thread has not shown as a notice yet; "": none */
  char told_line[NOTICE_MAX];

  /* The source. The main thread sets these fields before other threads begin, and alone uses them afterwards, except:
   * threads that open a source read sources_stop and mirror, and the loop's thread and its helpers read
   * first_source. */
  const char *spec; /* name or address of the first source; NULL: text to image */
  /* the model makes images from text, and the only source is --control-source, read by ControlNets */
  bool source_is_control;
  char clip[PATHS_MAX]; /* path of the sample clip, if that is shown for want of a source */
  struct source_options source_options;
  struct playlist list; /* the list of sources, until live->changer takes it over */
  int first;            /* index in list, from 0, of the source that is read first */
  struct changer *changer;
  atomic_bool sources_stop; /* set to make threads that open a source give up */
  int source_told;          /* value of the parameter source, from 1, that was applied last */
  int mirror_told;          /* value of the parameter mirror that was applied last */
  /* mirroring of frames; source_options.mirror points to it, and the sources' threads read it */
  struct mirror mirror;
  struct source_info info; /* info of the source that is shown; zeros until it is open */
  /* info of the first source, for the loop's thread when it opens the engine */
  struct source_info first_source;

  /* Frames and pictures between the threads. The main thread opens and closes all of these; mailboxes and reader have
   * locks of their own. While the loop's thread runs, it alone uses masking, styling and control, but any thread may
   * call styling_ask. */
  /* frames: from the source to the engine; pictures: from the engine to the window */
  struct mailbox frames, pictures;
  struct reader *reader;   /* reads the source on its own thread; NULL: text to image without a source */
  struct masking *masking; /* NULL: there is no mask */
  struct styling styling;
  int styles_told; /* number of requests in state.styles_asked that were passed to styling_ask */
  /* the source for ControlNets; NULL: they read the frames of the main source */
  struct control_source *control;

  /* Sound. The main thread opens and closes these while the loop's thread does not run. The loop's thread reads sound
   * levels from listener and track, which have locks of their own, and alone uses modulations while it runs. */
  struct listener *listener; /* sound input (--sound) whose levels change parameters (--modulate); NULL: none */
  /* input (--record-sound) for recordings, if it is not the same as --sound; NULL: none */
  struct listener *microphone;
  struct sound_tap *heard; /* sound of --record-sound for recordings; NULL: they get the source's sound, or none */
  /* levels of the source's own sound, if they change parameters (--sound source); NULL: they do not */
  struct track *track;
  /* value of sound_tap_number that live_follow_sound saw last; it changes with the source */
  unsigned track_told;
  char silent_told[SOUND_NAME_MAX]; /* name of the source that the user was told has no sound; "": none */
  struct modulations modulations;

  /* The loop's thread and the clients. The main thread opens and closes these; each has a lock of its own. The loop's
   * thread and its helpers read `leaving`. */
  struct loop *loop;
  atomic_bool leaving; /* set when the show is over: the engine gives up what it is doing */
  struct hub *hub;
  struct ipc *ipc; /* ipc, osc, midi and web are NULL if the options do not ask for them */
  struct osc *osc;
  struct midi *midi;
  struct web *web;

  /* From here on, all fields are used by the main thread alone, with two exceptions. The loop's thread reads
   * first_values, which the main thread fills before that thread begins. And snapshot, presets, outputs and tap have
   * threads inside, which their own functions synchronise. */
  bool clients_stay; /* a client's thread did not end in time and still uses the hub, so the hub is not freed */
  struct hub_figures figures_told; /* the figures that clients were given last, through the hub */
  int64_t published_ns;            /* time at which clients were given figures_told */

  /* The window and its OpenGL context. */
  struct window *window;
  struct present *present;
  struct hud *hud;
  /* when the context was lost (0: it is not), and when a replacement was tried last */
  int64_t context_lost_ns, context_tried_ns;

  /* The parameters' values, the panel that sets them, and the engine's status and alerts that the overlay shows. */
  /* values of the command line and the default prompts; a preset is applied on top of them */
  struct parameters start;
  struct parameters first_values; /* values with which the engine was first opened */
  struct live_state state;
  struct panel panel;
  /* files that keys and clients may choose: LoRA adapters, and style pictures */
  struct parameter_choices loras, styles;
  struct loop_status engine; /* the engine thread's status, copied once in each pass of the main thread's loop */
  struct alerts alerts;      /* the alerts that the overlay shows in this pass of the loop */
  /* value of platform_count_demoted (threads that lost real-time priority) that was logged last */
  int demoted_told;
  struct awake *awake; /* keeps processor cores from sleep states; NULL: not asked for, or not possible */
  int engines_told;    /* value of engine.engines for which the engine's name was logged last */

  /* The picture that is shown. */
  /* the picture on screen; valid until the next is taken from the mailbox; NULL: none yet */
  const struct mail *shown;
  int64_t overlay_ns;         /* when the overlay was updated last */
  int64_t active_ns;          /* when the last picture or event came, to find out if nothing happens */
  struct recent_summary late; /* summary of the last seconds' frame times, computed at published_ns */
  float input_part;           /* part of shown's input frame that was uploaded to OpenGL, from its left edge: 0 to 1 */
  struct snapshot snapshot;   /* the snapshot that is being written */
  int snapshots;              /* number of snapshots that were started */

  /* Presets. */
  struct presets_file *presets; /* the file of presets; NULL: none */
  int presets_told;             /* number of requests in state.presets_asked for which presets were saved */
  int preset_taken;             /* number of the preset applied last; 0: none */
  /* set: somebody has set the preset's number since it was applied; put_back: this program has reset the number,
   * because the preset could not be applied */
  bool preset_set, preset_put_back;

  /* Recordings and other outputs. */
  struct sound_tap *tap; /* the sound of the source that is shown, for recordings; NULL: there is no source */
  struct frame held;     /* during a freeze: the frozen picture, which outputs get as well */
  bool covered_anew;     /* what is drawn over the picture (struct cover) has changed in this pass of the loop */
  struct outputs *outputs;
  struct outputs_figures output_figures; /* figures of all outputs, copied once in each pass of the loop */
  int recording;      /* number (outputs_add) of the recording that the recording key has begun; 0: none */
  bool record_ending; /* that recording was told to end, and has not ended yet */
  /* file for the next recording by the key (--record); NULL: its name is made from the time */
  const char *record_next;

  /* The show's start and end, and when things were drawn last. All times are of platform_now_ns. */
  bool ended;           /* no more pictures will come */
  bool overlay_changed; /* the overlay's contents have changed since it was drawn */
  /* when the show began (before all restarts of the program), and when this program's window opened */
  int64_t started_ns, opened_ns;
  int64_t drawn_ns;          /* when the output (the audience's window) was drawn last */
  int64_t operator_drawn_ns; /* when it was last checked if the operator's window must be drawn */
  bool operator_changed;     /* something in the operator's window has changed since it was drawn */
  /* position and size of the picture in the operator's window as drawn last */
  struct present_view operator_view;
  int64_t notice_told_ns; /* state.notice_until_ns of the last notice that was also written to the terminal */
  long dropped_before;    /* number of frames dropped before the engine was open, which do not count as lost */
  struct live_figures figures;
  /* resources used up to the 30th picture (SETTLED in view.c), from which costs are counted */
  struct costs costs;
  struct present_counts former; /* counts of pictures drawn in OpenGL contexts that were lost since */

  /* What is drawn over the picture: freeze, bypass (the source instead of pictures) and blackout, with fades. */
  struct cover cover;
  struct cover_levels cover_levels; /* opacities of freeze, bypass and blackout in this pass of the loop */
  bool cover_moves;                 /* a fade is going on, so the opacities will differ in the next pass of the loop */

  /* Scripts that are played and recorded. */
  struct script *script; /* the script that is played; NULL: none */
  /* writes the recorded script; NULL: none is recorded, or the engine is not open yet */
  struct script_recorder *recorder;
  FILE *script_file;  /* file to which changes of parameters are recorded; NULL: none, or the recorder owns it */
  bool script_broken; /* writing the recorded script failed, and its file is incomplete */
  int64_t begun_ns, script_ns; /* when recording began; when the played script began, or began again */
  double script_s;             /* seconds up to which the script was played; < 0: it has not begun */

  /* An engine that hangs, and the restart of the program. */
  struct engine_shape shape_told; /* size of the pictures that the user was told last; width 0: none */
  bool stalled;                   /* the engine hangs, although it has made pictures before */
  double stalled_ms;              /* ms for which the engine has hung, without time in which this process was stopped */
  int64_t exchanged_ns;           /* time of the last pass of the loop */
  const struct handover *came;    /* state of the program before a restart; NULL: the user started this program */
  int curtain;                    /* descriptor of the connection to the curtain (curtain.h); -1: there is no curtain */
  /* when the curtain was started; when this window was shown (0: not yet) instead of the curtain */
  int64_t curtain_ns, window_shown_ns;
  enum handing handing;
  bool handing_told; /* the user was told that the program will restart */
  char fate[120];    /* for users: when the program will restart, or why it will not; "": no restart is needed */
  char *handed;      /* JSON state for the program after the restart; allocated */

  /* A freeze, changes sent to the loop, and measuring. */
  bool frozen;              /* a freeze shows one picture for as long as it lasts */
  uint64_t source_serial;   /* serial number of the source's frame that was uploaded for a bypass; 0: none */
  long sent;                /* number of calls of loop_send so far */
  struct live_probe *probe; /* measurement for bench --live; NULL: none */
};

/* --- telling.c --- */

/* Shows a notice in the window's overlay and logs it at this level. Main thread only. */
PRINTF_LIKE(4, 5) void live_tell(struct live *live, enum log_level level, int64_t now_ns, const char *format, ...);
/* live_open_telling initialises live->told, the log that also shows warnings in the window; called before other threads
 * use it. live_close_telling frees it after they have ended. */
void live_open_telling(struct live *live);
void live_close_telling(struct live *live);
/* Shows the last warning that any thread has written to live->told as a notice. */
void live_follow_told(struct live *live, int64_t now_ns);
/* Records that the current notice was also logged at this level, so that live_tell_terminal does not log it again. */
void live_was_told(struct live *live, enum log_level level);

/* --- open.c --- */

/* Opens the first source of the command line that can be opened. If none is given, opens the first camera, or if that
 * fails the sample clip, repeated. *source stays NULL if the reader's thread opens the source later. Returns 0, or -1
 * with err. */
int live_open_source(struct live *live, struct source **source, struct error *err);
/* Opens the mask (--mask) and the source for ControlNets (--control-source). Returns 0, or -1 with err. */
int live_open_mask_and_control(struct live *live, struct error *err);
/* Starts the reader's thread and the loop's thread, which opens the engine. Once the reader owns *source, that is NULL.
 * Returns 0, or -1 with err. */
int live_start_threads(struct live *live, struct source **source, struct error *err);
/* Ends both threads, the reader's first. Returns 0, or -1 with err if one of them had failed. */
int live_stop_threads(struct live *live, struct error *err);

/* --- sound_modulation.c --- */

/* Checks the options about sound and opens its inputs. Called before the loop's thread starts; live_close_sound after
 * that thread has ended. Returns 0, or -1 with err. */
int live_open_sound(struct live *live, struct error *err);
/* Starts to analyse the source's own sound if the options let it move values. Called after live->tap was opened.
 * Returns 0, or -1 with err. */
int live_open_track(struct live *live, struct error *err);
void live_close_sound(struct live *live);
/* Returns the sound for recordings; NULL: they have none. If it is live->heard, its timestamps are those of
 * platform_now_ns; otherwise they are the source's. */
struct sound_tap *live_recorded_sound(const struct live *live);
/* Adds offsets to a frame's values that follow from the sound's levels. Returns true if sound may change values at any
 * moment. Called on the loop's thread. */
bool live_modulate(struct live *live, struct settings *settings, const struct frame *frame, int64_t now_ns);
/* Tells the user if the source's sound is to move values, but the source has none. */
void live_follow_sound(struct live *live, int64_t now_ns);

/* --- clients.c --- */

/* Opens the clients that the options ask for (IPC, web page, OSC, MIDI). Each has a thread of its own, which shares
 * only live->hub with the main thread. Returns 0, or -1 with err. */
int live_open_clients(struct live *live, struct error *err);
/* Ends the clients and waits up to three seconds for each thread. If one does not end, live->clients_stay is set. */
void live_close_clients(struct live *live);

/* --- source_list.c --- */

/* Fills live->list with the sources of the command line or, after a restart, of the program before. The list is empty
 * if there are none. Returns 0, or -1 with err. */
int live_list_sources(struct live *live, struct error *err);
/* Opens live->changer, which replaces one source by another. Called after the reader was started with the first source.
 * Returns 0, or -1 with err. */
int live_open_changer(struct live *live, struct error *err);
void live_close_changer(struct live *live); /* called before the reader ends */
/* Changes to the source whose number the parameter `source` has; if the source has changed otherwise, stores its number
 * there. */
void live_follow_sources(struct live *live, int64_t now_ns);
/* Returns true if the list has another source after the one that is shown, so that the end of that is not the end of
 * the show. */
bool live_sources_go_on(const struct live *live);
/* Adds a file that was dropped on the window to the sources and shows it. follows: it was dropped together with the
 * file before, and is added after that one. file NULL: something was dropped that is not a file, and the user is told
 * so. */
void live_drop(struct live *live, const char *file, bool follows, int64_t now_ns);

/* --- live_scripts.c --- */

/* Opens the script that is to be played and the file that one is to be recorded to. Returns 0, or -1 with err. */
int live_open_scripts(struct live *live, struct error *err);
/* Sets the values that the played script has at this moment, and records the values that somebody has set. */
void live_follow_scripts(struct live *live, int64_t now_ns);
/* Ends playing and recording. Returns 0, or -1 with err if the recorded script is incomplete. */
int live_close_scripts(struct live *live, struct error *err);

/* --- turn.c --- */

/* Runs the middle part of a turn, between handling events and drawing: takes the values that clients have set, and
 * applies the current values to window, reader, engine, outputs and files. */
void live_exchange(struct live *live, int64_t now_ns);
/* Waits until all snapshots that the user asked for are written. */
void live_finish_snapshots(struct live *live);

/* --- live_presets.c --- */

/* Opens the file of presets. Returns 0, or -1 with err if it cannot be read, or lacks the preset that the command line
 * names. */
int live_open_presets(struct live *live, struct error *err);
/* Applies a preset if the parameter saved_preset has changed, saves one if the user asked for that, and says so in a
 * notice. */
void live_follow_presets(struct live *live, int64_t now_ns);
void live_close_presets(struct live *live);

/* --- sending.c --- */

/* Checks and opens the outputs of the command line. Called after the source was opened. Returns 0, or -1 with err. */
int live_open_outputs(struct live *live, struct error *err);
/* Returns 0, or -1 with err if a file at the path spec cannot be created because its folder is missing or not writable.
 * A URL is not checked. */
int live_check_place(const char *spec, struct error *err);
/* Holds the picture that is shown now, at the beginning of a freeze, for outputs. */
void live_hold_for_outputs(struct live *live);
/* Gives outputs and clients the picture that the window shows. Called after drawing. fresh: a new picture was taken in
 * this turn. */
void live_show_elsewhere(struct live *live, bool fresh);
/* Begins and ends recordings as the parameter `recording` says, and tells the user what happened to outputs. */
void live_follow_outputs(struct live *live, int64_t now_ns);
/* Writes a text about recordings and streams for the overlay into words, and returns words; NULL: there are none. */
const char *live_describe_outputs(const struct live *live, char *words, size_t size);
/* Returns how many of the engine's pictures all outputs hold at most, including a recording that may be begun later. */
int live_outputs_hold(const struct live *live);
/* Ends all outputs and waits until their files are complete. Returns 0, or -1 with err if a recording is incomplete. */
int live_close_outputs(struct live *live, struct error *err);

/* --- successor.c --- */

/* What a restarted program begins with: the command line's options with the values that the program before had, and
 * memory for the texts in them. */
struct succession {
  struct options options;
  struct parameters start; /* values of the command line alone */
  struct handover came;
  /* descriptor of the connection to the curtain, which is on screen since the restart; -1: none */
  int curtain;
  /* names of output files: those of the options with a number appended, so that the files before the restart stay */
  char record[PATHS_MAX], record_script[PATHS_MAX], to[CHOICES_MAX][PATHS_MAX];
};
/* Reads the state of the program before a restart from the descriptor in REVERIE_HANDOVER. *succession becomes NULL if
 * the user started this program. The caller frees it with live_free_succession. Returns 0, or -1 with err. */
int live_take_succession(struct succession **succession, const struct options *options, struct error *err);
void live_free_succession(struct succession **succession);
/* Puts the state of the program before the restart into live, so that the show goes on with it. */
void live_succeed(struct live *live, const struct succession *succession);
/* Handles the result of opening something (status: 0, or -1 with err). If the user started this program, returns
 * status. After a restart, logs err and returns 0, so that the show goes on without it. */
int live_allow_failure(struct live *live, int status, const struct error *err);
/* After a restart: shows the window as soon as it has a picture to show, and then removes the curtain that covered
 * it. */
void live_replace_curtain(struct live *live, int64_t now_ns);
/* Begins and prepares a restart of the program if the engine's device is lost for this process, or the engine hangs. */
void live_follow_handover(struct live *live, int64_t now_ns);
/* Replaces this process's program by a new instance, with the state in live->handed. Everything must be closed, except
 * for an engine that hangs. Returns only on failure, with err. */
void live_hand_over(struct live *live, struct error *err);

/* --- probe.c --- */

/* Called at the beginning of a turn while bench measures: sends a change of prompt or strength when the next one is
 * due, and ends the show when enough was measured. */
void live_probe_turn(struct live *live, int64_t now_ns);
/* Draws the part of the input frame that contains its marker beside the picture, and measures how long that takes.
 * Replaces present_input while bench measures. */
void live_probe_bring(struct live *live, float part);
/* Called right after a picture was presented while bench measures: reads from the window which frame's marker it
 * shows. */
void live_probe_look(struct live *live, const struct present_view *view);

/* --- view.c --- */

/* Opens the window, the operator's window if the options ask for it, and what draws in them. Returns 0, or -1 with
 * err. */
int live_open_window(struct live *live, struct error *err);
/* Returns true if the output fills its display from the beginning. It does if the operator's window is on another
 * display. */
bool live_fills_display(const struct live *live);
/* Closes the windows and prints a summary of the show. */
void live_close_window(struct live *live);
/* Stores the largest default window size for a picture of this aspect ratio (width / height). Used if the user has not
 * chosen a size. */
void live_fit_window(const struct live *live, double shape, int *width, int *height);
/* Handles all events in the queue. Returns true if the window has to be drawn again because of them. */
bool live_handle_events(struct live *live, int64_t now_ns);
/* Waits some ms for a picture and takes the newest one; before the first picture it takes a frame of the source
 * instead. Returns true if it took one. */
bool live_take_picture(struct live *live);
/* Updates freeze, bypass (the source instead of pictures) and blackout, with their fades. Returns true if the window
 * has to be drawn again because of them. */
bool live_cover(struct live *live, int64_t now_ns);
/* Draws the windows if something in them has changed. fresh: a new picture was taken; changed: something other than the
 * picture has changed. */
void live_draw(struct live *live, bool fresh, bool changed, int64_t now_ns);
/* Returns the pixels of the output without its overlay: RGBA, rows from bottom to top. The caller frees them. NULL:
 * they cannot be read. */
uint8_t *live_read_output(struct live *live, int *width, int *height);

/* --- overlay.c --- */

/* Returns HUD_OPERATOR if there is an operator's window, which then shows the overlay; otherwise HUD_OVERLAY, over the
 * picture. */
enum hud_layout live_layout(const struct live *live);
/* Fills the overlay with current values for a window of this size in pixels. Returns true if it has to be drawn
 * again. */
bool live_update_overlay(struct live *live, int64_t now_ns, int width, int height);
/* Logs a notice that is visible in no window, because the overlay is hidden, unless it was logged already. */
void live_tell_terminal(struct live *live);
/* Writes into words what the user waits for, such as "loading the model" or "640x360 is being prepared"; "":
 * nothing. */
void live_describe_start(const struct live *live, char *words, size_t size);

/* --- alerting.c --- */

/* Updates live->alerts in each pass of the loop, so that each alert lasts exactly as long as its cause. */
void live_follow_alerts(struct live *live, int64_t now_ns);

/* --- renewal.c --- */

/* Replaces the window's OpenGL context if it was lost. Returns 1: it was replaced, and everything has to be drawn
 * again; 0: it was not lost, or another attempt will follow; -1 with err: attempts have failed for too long. */
int live_follow_context(struct live *live, int64_t now_ns, struct error *err);
/* Returns the counts of pictures drawn since the start, in all OpenGL contexts. */
struct present_counts live_count_drawn(const struct live *live);

#endif
