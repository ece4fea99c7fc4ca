/* Declarations that the files of the live window share. A reader thread reads the source's frames, the loop's thread
 * makes pictures from them with the engine, and the main thread shows the pictures. Each pass of the main thread's loop
 * handles events, applies changed values, takes the newest picture, and draws.
 *
 * live.c              opens everything, runs the main thread's loop, and closes everything
 * open.c              opens the source, the engine, the mask and the control source
 * turn.c              applies changed values in each pass of the loop to engine, reader, window and files
 * view.c              handles the window's events and draws
 * overlay.c           fills the text overlay over the picture
 * operating.c         gathers what the operator's window shows beside it, and handles mouse and fingers there
 * alerting.c          decides which alerts the overlay shows
 * telling.c           writes messages to the window's notice line and to the terminal
 * renewal.c           replaces an OpenGL context that was lost
 * live_presets.c      applies presets and saves them
 * live_keys.c         reads keys.conf
 * live_show.c         saves the show, and keeps what a crash would lose
 * live_scripts.c      plays and records scripts (parameter values over time)
 * sending.c           manages recordings and other outputs
 * source_list.c       decides which source of several is shown
 * live_clip.c         seeks in the file that is shown, and reports the position in it
 * sound_modulation.c  analyses sound and lets it change values
 * live_output.c       keeps where each display shows the picture, and draws the test card
 * live_tempo.c        passes onsets (beginnings of sounds) to the clock of beats
 * clients.c           opens the clients (IPC, web page, OSC, MIDI), which set values from outside
 * successor.c         restarts the program if the engine cannot be opened again in this process
 * probe.c             measures for the command bench --live */
#ifndef APP_LIVE_LIVE_IMPL_H
#define APP_LIVE_LIVE_IMPL_H

#include "app/control/corners.h"
#include "app/control/cover.h"
#include "app/control/key_bindings.h"
#include "app/control/keys.h"
#include "app/control/lfo.h"
#include "app/control/meter.h"
#include "app/control/modulation.h"
#include "app/control/panel.h"
#include "app/control/script.h"
#include "app/flow/errand.h"
#include "app/live/figures.h"
#include "app/live/handover.h"
#include "app/live/live_clip.h"
#include "app/live/live_presets.h"
#include "app/live/live_scripts.h"
#include "app/live/live_show.h"
#include "app/live/operating.h"
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
#include "app/source/fallback.h"
#include "app/source/listener.h"
#include "app/source/reader.h"
#include "app/source/sound_tap.h"
#include "app/source/track.h"
#include "app/window/hud.h"
#include "app/window/present.h"
#include "app/window/snapshot.h"
#include "app/window/test_card.h"
#include "app/window/window.h"

/* Number of pixels of the picture's longer side if --size is not given; the shorter side follows from the source's
 * aspect ratio. On a slow device the picture is smaller. */
enum { LONGEST_SIDE = 320 };

/* State of a restart of the program. HANDING_NOT: there is none; HANDING_CURTAIN: another process is about to show a
 * still picture in place of this window (curtain.h); HANDING_READY: the state for the new program is gathered, and this
 * program can end. */
enum handing { HANDING_NOT, HANDING_CURTAIN, HANDING_READY };

/* Resources used since the start: bytes of pixels copied by the engine and for the window, processor time of the loop's
 * and the main thread, and the numbers of pictures made and shown. */
struct costs {
  size_t engine_bytes;
  uint64_t window_bytes;
  double engine_cpu_ms, window_cpu_ms;
  long made, shown;
};

/* Writes the picture's position in the output window, for the window's display, to displays.json, on a background
 * thread (errand). While that thread runs, it alone uses the fields after `errand`. */
struct display_keeper {
  struct errand errand;
  char name[96]; /* name of the display whose values (the picture's position on it) are written */
  struct parameters values;
  int status; /* result of writing displays.json last: 0, or -1 with the reason in err */
  struct error err;
};

struct live {
  /* All threads use the fields from options to told_line. options and the logs are set before other threads begin. Any
   * thread may log; this may write told_line (protected by told_lock), which the main thread shows. */
  const struct options *options;
  struct log log;
  struct log told;           /* a log that also copies each warning to told_line; any thread may use it */
  pthread_mutex_t told_lock; /* protects told_line */
  /* the last warning that the main thread has not shown as a notice yet; "": none */
  char told_line[NOTICE_MAX];

  /* The fields from here to first_source are about the source. The main thread sets them before other threads begin,
   * and then only it uses them. There are two exceptions: threads that open a source read sources_stop and mirror, and
   * several threads use first_source, under source_lock. */
  const char *spec; /* name or address of the first source; NULL: text to image */
  /* true: the model makes images from text, and the only source is --control-source, read by ControlNets */
  bool source_is_control;
  char clip[PATHS_MAX]; /* path of the sample clip, if it is shown because there is no source */
  struct source_options source_options;
  struct playlist list; /* the list of sources on the command line; once live->changer is opened, the changer owns it */
  int first;            /* index in `list`, from 0, of the source that is shown first */
  struct changer *changer;
  atomic_bool sources_stop; /* set to true so that threads which are opening a source give up */
  int cued_told;            /* value of the parameter cued-source that was last carried out */
  int source_told;          /* value of the parameter `source` (number of a source, from 1) that was last carried out */
  struct live_clip played;  /* the position in the file that is played, and the user's wishes about it (live_clip.c) */
  int mirror_told;          /* value of the parameter mirror that was last carried out */
  /* the user's wish that frames are mirrored, and if the newest frame was; source_options.mirror points to it, and the
   * sources' threads use it */
  struct mirror mirror;
  struct source_info info; /* description of the source that is shown; zeros until it is open */
  /* description of the first source, from which an engine takes the size and aspect ratio of its pictures. The loop's
   * thread writes it under source_lock when the reader has opened the source. Threads that help to open an engine copy
   * it under the lock; the loop's thread reads it without. */
  pthread_mutex_t source_lock;
  struct source_info first_source;

  /* Frames and pictures pass through the objects in the fields from here to `control`. The main thread opens and closes
   * them; mailboxes and reader have their own locks. While the loop's thread runs, only it uses masking, styling and
   * control, except that any thread may call styling_ask. */
  /* two mailboxes: `frames` passes frames from the source to the engine, `pictures` passes pictures from the engine to
   * the window */
  struct mailbox frames, pictures;
  struct mixer *mixer;   /* passes frames of `reader`, or of `fallback`, on to the mailbox `frames`; NULL: no reader */
  struct reader *reader; /* reads the source on its own thread; NULL: text to image without a source */
  /* the reader's state, copied once in each pass of the main thread's loop; zeros: there is no reader */
  struct reader_status source_status;
  long frames_told;          /* number of frames that the mailbox `frames` had received when the main thread looked last
                              * during a pause */
  struct fallback *fallback; /* the file that is shown while the source is lost (--fallback); NULL: none */
  struct masking *masking;   /* the mask of an inpainting model; NULL: there is no mask */
  struct styling styling;
  int styles_told; /* number of requests for a style (state.styles_asked) that were carried out */
  /* the source whose frames ControlNets read; NULL: they read the frames of the main source */
  struct control_source *control;

  /* The fields from here to `modulations` are about sound. The main thread opens and closes these objects while the
   * loop's thread does not run. The loop's thread reads sound levels from `listener` and `track`, which have their own
   * locks. Only it uses `modulations` while it runs. */
  struct listener *listener; /* sound input (--sound) whose levels change parameters (--modulate); NULL: none */
  /* the sound input --record-sound, for recordings, if it is not the same input as --sound; NULL: none */
  struct listener *microphone;
  /* the sound of --record-sound, for recordings; NULL: recordings get the source's sound, or none */
  struct sound_tap *heard;
  /* levels of the source's own sound, if that changes parameters (--sound source); NULL: it changes none */
  struct track *track;
  /* the value that sound_tap_number had at the last call of live_follow_sound; the number changes when another source's
   * sound is read */
  unsigned track_told;
  /* name of the present source if its sound is to change parameters but it has none; "" otherwise */
  char silent_now[SOUND_NAME_MAX];
  struct playlist silent; /* names of all sources of which the user was told that they have no sound */
  struct modulations modulations;
  /* the sound's levels, and the values that sound and LFOs change, for users to see; used by the loop's thread alone
   * while it runs */
  struct meter meter;
  /* state of the oscillators (LFOs) that change values; used by the loop's thread alone while it runs */
  struct lfos lfos;
  /* tempo_lock protects the fields down to meter_shown. The loop's thread writes the number of onsets (beginnings of
   * sounds) and the time of the last one, for the main thread. The main thread writes the clock of beats, for the
   * loop's thread. */
  pthread_mutex_t tempo_lock;
  long onsets;
  int64_t onset_ns;
  struct beats beats;
  struct meter meter_shown; /* protected by tempo_lock: a copy of `meter` (the sound's levels, and the values that sound
                             * and LFOs change) for the main thread */
  long onsets_told;         /* number of onsets (`onsets`) that the main thread has seen last */
  /* The texts of the parameters lfo[] name other parameters. The main thread checks these names after each change of
   * the texts. This is the version number (parameters.texts) of the texts that it has checked last. */
  uint64_t lfos_told;

  /* The fields down to `web` belong to the engine's loop (loop, leaving) and to its clients (from hub on). The main
   * thread opens and closes them. Each has a lock of its own, except `leaving`, which the loop's threads read. */
  struct loop *loop;
  atomic_bool leaving; /* true: the live window has ended, so an engine that is being opened gives up */
  struct hub *hub;
  /* the clients: programs and devices that set values from outside through `hub` (IPC, web page, OSC, MIDI); each is
   * NULL if the options do not ask for it */
  struct ipc *ipc;
  struct osc *osc;
  struct midi *midi;
  struct web *web;

  /* Only the main thread uses the fields from here on, with two exceptions. The loop's thread reads first_values, which
   * is set before that thread begins. snapshot, presets, outputs and tap have threads of their own, and locks for
   * that. */
  bool clients_stay; /* true: a client's thread did not end in time and still uses `hub`, so the hub is not freed */
  /* the measured values (rates, times, sizes) that clients were given last, through `hub` */
  struct hub_figures figures_told;
  int64_t published_ns; /* time (platform_now_ns) at which the values in figures_told were given to clients */

  /* The fields from here down to context_tried_ns are about the window and its OpenGL context. */
  struct window *window;
  struct present *present;
  struct hud *hud;
  /* context_lost_ns: when the OpenGL context was lost, 0: it is not lost; context_tried_ns: when a replacement was
   * tried last */
  int64_t context_lost_ns, context_tried_ns;

  /* The fields from here down to engines_told hold the parameters' values, the panel that sets them, and the engine's
   * status and alerts, which the overlay shows. */
  /* the parameters' values from the command line, with default prompts; a preset changes only some of them */
  struct parameters start;
  struct parameters first_values; /* the parameters' values with which the first engine is opened */
  struct live_state state;
  struct panel panel;
  struct key_bindings bindings; /* the keys that keys.conf binds */
  /* the files among which keys and clients can choose: LoRA adapters (loras) and style pictures (styles) */
  struct parameter_choices loras, styles;
  struct loop_status engine; /* the engine thread's status, copied once in each pass of the main thread's loop */
  struct alerts alerts;      /* the alerts that the overlay shows in this pass of the loop */
  /* number of threads that had lost their real-time priority (platform_count_demoted) when that number was last
   * logged */
  int demoted_told;
  /* keeps processor cores from sleep states (--awake); NULL: the option is not given, or this is not possible */
  struct awake *awake;
  /* number of engines opened (engine.engines) when an engine's name was last logged */
  int engines_told;

  /* The fields from here down to `snapshots` are about the picture that is shown, and about the overlay. */
  /* the picture on screen; valid until the next one is taken from the mailbox; NULL: none yet */
  const struct mail *shown;
  int64_t overlay_ns; /* when the overlay's contents were updated last */
  /* time of the last picture or event; a second later, events are checked less often */
  int64_t active_ns;
  struct recent_summary late; /* summary of the frame times of the last seconds, made at published_ns */
  /* fraction of the shown picture's input frame, from its left edge, that was uploaded to OpenGL: 0 to 1 */
  float input_part;
  struct snapshot snapshot; /* the snapshot (saved picture) that is being written */
  int pages;                /* number of times that the web page was opened in a browser */
  int snapshots;            /* number of snapshots (saved pictures) that were started */

  struct live_presets presets; /* presets, which are the scenes of a show (live_presets.c) */
  struct live_show show;       /* the show file (live_show.c) */

  /* The fields from here down to record_next are about recordings and other outputs. */
  struct sound_tap *tap; /* the sound of the source that is shown, for recordings; NULL: there is no source */
  struct frame held;     /* the picture that a freeze shows, for outputs; empty if there is no freeze */
  /* true: what covers the picture (black, the source, or a frozen picture) has just changed, in this pass of the
   * loop */
  bool covered_anew;
  struct outputs *outputs;
  struct outputs_figures output_figures; /* how many outputs there are, and their problems; copied once in
                                          * each pass of the loop */
  int recording;                         /* number (outputs_add) of the recording that a key has begun; 0: none */
  bool record_ending; /* true: the recording with the number `recording` was asked to end, and has not ended yet */
  /* file for the next recording that the key begins (--record); NULL: the name is made from the time */
  const char *record_next;

  /* The fields from here to `former`: when the live window began and ended, when things were last drawn, and
   * measurements. All times are of platform_now_ns. */
  bool ended;           /* true: no more pictures will come from the engine */
  bool overlay_changed; /* true: the overlay's contents have changed since it was drawn */
  /* started_ns: when the user started the program (before all restarts of it); opened_ns: when this program's window
   * opened */
  int64_t started_ns, opened_ns;
  int64_t drawn_ns; /* when the output window (the audience's) was drawn last */
  /* when it was last checked if the operator's window must be drawn again; the next check is at least OPERATOR_NS
   * later */
  int64_t operator_drawn_ns;
  bool operator_changed; /* true: something in the operator's window has changed since it was drawn */
  /* position and size of the picture in the operator's window as drawn last */
  struct present_view operator_view;
  struct live_operation operation; /* the operator's window: its widgets, and presses of mouse or fingers on them */
  int64_t notice_told_ns;          /* state.notice_until_ns of the last notice that was also written to the terminal, to
                                    * recognise a newer notice */
  /* number of frames that were dropped before the engine was open; the measured value figures.dropped does not count
   * them */
  long dropped_before;
  struct live_figures figures;
  /* processor time and copied bytes before the 30th picture was shown (SETTLED in view.c); tell_costs logs only what
   * was used after that */
  struct costs costs;
  struct present_counts former; /* counts of pictures that were drawn in OpenGL contexts which have been lost */

  /* The fields from here to cover_moves: what may cover the picture in the window, each with fades. That is a frozen
   * picture, the source's frame (bypass) or black (blackout). */
  struct cover cover;
  struct cover_levels cover_levels; /* opacities of frozen picture, source and black in this pass of the loop, 0 to 1 */
  bool cover_moves; /* true: a fade is going on, so cover_levels will differ in the next pass of the loop */

  /* The fields from here down to `keeper` are about where the output window shows the picture. */
  struct placement placement; /* position of the picture in the output window, as it was drawn last */
  /* when `placement` was changed last (platform_now_ns); 0: displays.json has its present values, so nothing is to be
   * written */
  int64_t placed_ns;
  char display_told[96];          /* display whose values of displays.json were applied last; "": none yet */
  struct corner_drag corner_drag; /* the corner of the corner pin that the mouse drags */
  struct test_card card;
  float card_level; /* opacity of the test card, 0 to 1 */
  struct display_keeper keeper;

  struct live_scripts scripts; /* scripts that are played and recorded (live_scripts.c) */

  /* The fields from here down to `handed` are about an engine that hangs, and about the restart of the program. */
  struct engine_shape shape_told; /* size of the pictures when the user was last told about it; width 0: never */
  bool stalled;                   /* true: the engine does not answer, although it has made pictures before */
  /* ms for which the engine has not answered, without times in which this whole process was stopped */
  double stalled_ms;
  int64_t exchanged_ns; /* time of the last pass of the main thread's loop (platform_now_ns) */
  /* the state that the program had before it restarted itself; NULL: the user has started this program */
  const struct handover *came;
  /* descriptor of the connection to the curtain (a still picture in another process's window, curtain.h); -1: there is
   * none */
  int curtain;
  /* curtain_ns: when the curtain (a still picture in another process's window) was started; window_shown_ns: when this
   * window replaced it, 0: not yet */
  int64_t curtain_ns, window_shown_ns;
  enum handing handing;
  bool handing_told; /* true: the user was told that the program will restart */
  /* text for users: when the program will restart, or why it will not; "": no restart is needed */
  char fate[120];
  char *handed; /* JSON text with the state for the new program; allocated here; NULL: none yet */

  /* The last fields are about freeze and bypass, the number of changes sent to the loop, and measuring for bench
   * --live. */
  bool frozen; /* true: a freeze is on: the window keeps showing one picture */
  /* serial number of the source's frame that was last uploaded for a bypass (which shows the source); 0: none */
  uint64_t source_serial;
  long sent;                /* number of times that changed values were sent to the loop's thread (loop_send) */
  struct live_probe *probe; /* measurement for bench --live; NULL: none */
};

/* --- telling.c: messages to the user --- */

/* Shows a notice in the window's overlay and logs it at this log level. Main thread only. */
PRINTF_LIKE(4, 5) void live_tell(struct live *live, enum log_level level, int64_t now_ns, const char *format, ...);
/* live_open_telling initialises live->told, the log that also shows warnings in the window; it is called before other
 * threads use that log. live_close_telling frees the log after they have ended. */
void live_open_telling(struct live *live);
void live_close_telling(struct live *live);
/* Shows the last warning that any thread has written to live->told as a notice in the window, unless it was shown
 * before. */
void live_follow_told(struct live *live, int64_t now_ns);
/* Notes that the notice on screen was already logged at this log level, so that live_tell_terminal does not log it
 * again. */
void live_was_told(struct live *live, enum log_level level);

/* --- open.c: source, mask, reader thread and engine --- */

/* Opens the first source of the command line that can be opened. If none is given, opens the first camera or, without a
 * camera, the sample clip, which is repeated. *source stays NULL if the reader's thread opens the source later. Returns
 * 0, or -1 with err. */
int live_open_source(struct live *live, struct source **source, struct error *err);
/* Opens the mask (--mask) and the source for ControlNets (--control-source). Returns 0, or -1 with err. */
int live_open_mask_and_control(struct live *live, struct error *err);
/* Starts the reader's thread and the loop's thread, which opens the engine. *source becomes NULL once the reader owns
 * the source. Returns 0, or -1 with err. */
int live_start_threads(struct live *live, struct source **source, struct error *err);
/* Ends the reader's thread, and then the loop's thread. Returns 0, or -1 with err if one of the two had failed. */
int live_stop_threads(struct live *live, struct error *err);

/* --- sound_modulation.c: sound that changes parameters, and sound for recordings --- */

/* Checks the options about sound and opens the sound inputs. Called before the loop's thread starts; live_close_sound
 * is called after that thread has ended. Returns 0, or -1 with err. */
int live_open_sound(struct live *live, struct error *err);
/* Starts to measure the levels of the source's own sound, if the options let that sound change parameters. Called after
 * live->tap was opened. Returns 0, or -1 with err. */
int live_open_track(struct live *live, struct error *err);
void live_close_sound(struct live *live);
/* Returns the sound for recordings; NULL: recordings get none. If the result is live->heard, its time stamps are on the
 * clock of platform_now_ns; otherwise they are the source's. */
struct sound_tap *live_recorded_sound(const struct live *live);
/* Adds to the values for a frame the offsets that follow from the sound's levels (--modulate) and from LFOs. Returns
 * true if sound or LFOs may change values at any moment. Called on the loop's thread. */
bool live_modulate(struct live *live, struct settings *settings, const struct frame *frame, int64_t now_ns);
/* Tells the user, once for each source, if its sound is to change parameters but it has none. */
void live_follow_sound(struct live *live, int64_t now_ns);

/* --- live_tempo.c: the clock of beats (beats.h), set by values and by onsets of sound --- */

/* live_open_tempo initialises the lock of onsets and beats; it is called before other threads use it. live_close_tempo
 * frees the lock after they have ended. */
void live_open_tempo(struct live *live);
void live_close_tempo(struct live *live);
/* Stores, for the main thread, how many onsets (beginnings of sounds) the sound has had up to the present frame, and
 * the time of the last one. Called on the loop's thread. */
void live_note_onset(struct live *live);
/* Copies live->meter (sound levels, and the values that sound and LFOs change) to live->meter_shown, which the main
 * thread reads. Called on the loop's thread. */
void live_note_meter(struct live *live);
/* Copies the sound's levels and the values that sound and LFOs change (struct meter) for the overlay. Called on the
 * main thread. */
void live_get_meter(struct live *live, struct meter *meter);
/* Copies the clock of beats (tempo and present beat) to *beats. Called on the loop's thread. */
void live_get_beats(struct live *live, struct beats *beats);
/* Brings the clock of beats up to date: applies the tempo parameters that somebody has set, and the beginning of a
 * sound (an onset) that was heard since the last call. Passes the parameters that limit sound levels to the threads
 * that measure sound. Tells the user if an LFO names a parameter that it cannot change. */
void live_follow_tempo(struct live *live, int64_t now_ns);

/* --- clients.c: IPC, web page, OSC, MIDI --- */

/* Opens the clients that the options ask for (IPC, web page, OSC, MIDI). Each has a thread of its own, which shares
 * only live->hub with the main thread. Returns 0, or -1 with err. */
int live_open_clients(struct live *live, struct error *err);
/* Ends the clients, and waits up to three seconds for each of their threads. If a thread does not end,
 * live->clients_stay is set. */
void live_close_clients(struct live *live);

/* --- source_list.c: which source is shown --- */

/* Fills live->list with the sources of the command line or, after a restart, with those of the former program. The list
 * is empty if there are none. Returns 0, or -1 with err. */
int live_list_sources(struct live *live, struct error *err);
/* Opens live->changer, which replaces one source by another. Called after the reader was started with the first source.
 * Returns 0, or -1 with err. */
int live_open_changer(struct live *live, struct error *err);
/* Closes live->changer. Must be called before the reader ends, which the changer uses. */
void live_close_changer(struct live *live);
/* Shows the source whose number the parameter `source` has. If the source was changed otherwise, for example at the end
 * of a file, stores the number of the new one in the parameter. */
void live_follow_sources(struct live *live, int64_t now_ns);
/* Returns true if the list has another source after the one that is shown, so that the window continues with that
 * source when the present one ends. */
bool live_sources_go_on(const struct live *live);
/* Adds a file that was dropped on the window to the list of sources and shows it. follows: true: it was dropped
 * together with the file of the previous call, and is only added after that file. file NULL: what was dropped is not a
 * file, and the user gets a message. */
void live_drop(struct live *live, const char *file, bool follows, int64_t now_ns);

/* --- live_output.c: where the output window shows the picture --- */

/* Writes to displays.json the picture's position in the output window, if it has changed since the file was written.
 * Called before the window closes. */
void live_close_output(struct live *live);
/* If the output window has moved to another display, sets the values that displays.json has for that display. Writes
 * values that somebody has changed to that file, and updates the test card. Returns true if the output window must be
 * drawn again. */
bool live_follow_output(struct live *live, int64_t now_ns);
/* Handles the mouse in the output window while corners are edited. Returns false if it has no use for the event. */
bool live_drag_corner(struct live *live, const struct window_event *event, int64_t now_ns);

/* --- turn.c: applying changed values in each pass of the main thread's loop --- */

/* Called in each pass of the main thread's loop between handling events and drawing: takes the values that clients have
 * set, and applies the current values to window, reader, engine, outputs and files. */
void live_exchange(struct live *live, int64_t now_ns);
/* Waits until all snapshots that the user asked for are written. */
void live_finish_snapshots(struct live *live);

/* --- live_keys.c: keys that the user has bound --- */

/* Reads keys.conf from the folder for the user's settings, unless --no-config is given or bench --live measures. Wrong
 * lines are logged and shown. */
void live_read_keys(struct live *live);

/* --- sending.c: recordings and other outputs --- */

/* Checks and opens the outputs (recordings, streams, virtual cameras) that the command line names. Called after the
 * source was opened. Returns 0, or -1 with err. */
int live_open_outputs(struct live *live, struct error *err);
/* Returns 0, or -1 with err if no file can be created at the path `spec`, because its folder is missing or not
 * writable. A URL, or a file that exists already, is not checked. */
int live_check_place(const char *spec, struct error *err);
/* Called when a freeze begins: keeps a reference to the picture on screen, which outputs get for as long as the freeze
 * lasts. */
void live_hold_for_outputs(struct live *live);
/* Gives outputs and clients the picture that the window shows, if it has changed. Called after drawing. fresh: true:
 * that picture came in this pass of the main thread's loop. */
void live_show_elsewhere(struct live *live, bool fresh);
/* Begins and ends recordings as the parameter `recording` says, and shows messages about outputs. Resets `recording` if
 * one could not begin or has ended on its own. */
void live_follow_outputs(struct live *live, int64_t now_ns);
/* Writes to `words` a text about the present recordings and streams, for the overlay, and returns `words`; NULL: there
 * are none. */
const char *live_describe_outputs(const struct live *live, char *words, size_t size);
/* Returns how many of the engine's pictures all outputs together may keep references to, including a recording that may
 * be begun later. */
int live_outputs_hold(const struct live *live);
/* Ends all outputs and waits until their files are complete. Returns 0, or -1 with err if a recording is incomplete. */
int live_close_outputs(struct live *live, struct error *err);

/* --- successor.c: restarting the program --- */

/* What a restarted program begins with: the command line's options, into which the former program's values were
 * written, and the memory to which pointers in these options point. */
struct succession {
  struct options options;
  /* parameters' values from the command line alone, without the values that the program had before the restart */
  struct parameters start;
  struct handover came;
  /* descriptor of the connection to the curtain (another process's window), which is on screen since the restart; -1:
   * none */
  int curtain;
  /* names of output files: those of the options with a number appended, so that files from before the restart are not
   * overwritten */
  char record[PATHS_MAX], record_script[PATHS_MAX], to[CHOICES_MAX][PATHS_MAX];
};
/* Reads the state of the program before a restart from the descriptor in REVERIE_HANDOVER. *succession becomes NULL if
 * the user has started this program. The caller frees it with live_free_succession. Returns 0, or -1 with err. */
int live_take_succession(struct succession **succession, const struct options *options, struct error *err);
void live_free_succession(struct succession **succession);
/* After a restart of the program, copies into live the state that the program had before, so that it continues where it
 * stopped. succession: what the program before the restart has handed over. */
void live_succeed(struct live *live, const struct succession *succession);
/* Decides if a failure to open something ends the program. status: 0, or -1 with err. After the program has restarted
 * itself it must go on, so err is only logged, and the result is 0. Otherwise returns status. */
int live_allow_failure(struct live *live, int status, const struct error *err);
/* After a restart: shows the window as soon as there is a picture for it, and then removes the curtain (another
 * process's window) in front of it. */
void live_replace_curtain(struct live *live, int64_t now_ns);
/* Begins a restart of the program if this process can no longer use the engine's device, or if the engine hangs: shows
 * the curtain (a still picture in another process's window), then gathers the state for the new program. */
void live_follow_handover(struct live *live, int64_t now_ns);
/* Replaces the program in this process by a new instance, which gets the state in live->handed. Everything must be
 * closed, except for an engine that hangs. Returns only on failure, with err. */
void live_hand_over(struct live *live, struct error *err);

/* --- probe.c: measuring for bench --live --- */

/* Called at the beginning of each pass of the main thread's loop while bench measures: changes prompt or strength when
 * the next change is due, and ends the loop when enough was measured. */
void live_probe_turn(struct live *live, int64_t now_ns);
/* Called instead of present_input while bench measures: draws the input frame beside the picture, and measures how long
 * that takes. part: visible fraction of the frame's width, from its left edge; it contains the marker (a pattern that
 * encodes the frame's number). */
void live_probe_bring(struct live *live, float part);
/* Called right after a picture was presented while bench measures: reads from the window's pixels the marker of the
 * frame that the window shows. */
void live_probe_look(struct live *live, const struct present_view *view);

/* --- view.c: the windows, their events, and drawing --- */

/* Opens the window, the operator's window if the options ask for one, and what draws in both (present, hud). Returns 0,
 * or -1 with err. */
int live_open_window(struct live *live, struct error *err);
/* Returns true if the output window fills its display from the beginning, which is the case if the operator's window is
 * on another display. */
bool live_fills_display(const struct live *live);
/* Closes the windows, and prints how many pictures were shown, at which rate and with which latency; prints nothing
 * with -q, while bench measures, and before a restart of the program. */
void live_close_window(struct live *live);
/* Stores the size of the window that is used if the user has not chosen one: the largest allowed one for a picture of
 * the aspect ratio `shape` (width / height). */
void live_fit_window(const struct live *live, double shape, int *width, int *height);
/* Handles all events in the queue. Returns true if the window has to be drawn again because of them. */
bool live_handle_events(struct live *live, int64_t now_ns);
/* Waits some ms for a picture and takes the newest one; before the first picture it takes a frame of the source
 * instead. Returns true if it took a picture or frame. */
bool live_take_picture(struct live *live);
/* Updates freeze, bypass (the source instead of pictures) and blackout, with their fades. Returns true if the window
 * has to be drawn again because of them. */
bool live_cover(struct live *live, int64_t now_ns);
/* Draws the windows if their contents have changed. fresh: true: a new picture was taken; changed: true: something else
 * has changed. */
void live_draw(struct live *live, bool fresh, bool changed, int64_t now_ns);
/* Returns the pixels of the output window without its overlay: RGBA, rows from bottom to top. The caller frees them.
 * NULL: the pixels cannot be read. */
uint8_t *live_read_output(struct live *live, int *width, int *height);

/* --- overlay.c: text over the picture --- */

/* Returns the layout of the overlay: HUD_OPERATOR if there is an operator's window, which then shows it; otherwise
 * HUD_OVERLAY, over the picture. */
enum hud_layout live_layout(const struct live *live);
/* Fills the overlay with current values for a window of this size in pixels. Returns true if the overlay has to be
 * drawn again. */
bool live_update_overlay(struct live *live, int64_t now_ns, int width, int height);
/* Logs a notice that no window shows, because the overlay is hidden, unless it was logged already. */
void live_tell_terminal(struct live *live);
/* Writes to `words` what the user waits for, such as "loading the model" or "640x360 is being prepared"; "":
 * nothing. */
void live_describe_start(const struct live *live, char *words, size_t size);

/* --- alerting.c: messages that last as long as their cause --- */

/* Updates live->alerts in each pass of the loop, so that each alert lasts exactly as long as its cause. */
void live_follow_alerts(struct live *live, int64_t now_ns);

/* --- renewal.c: replacing a lost OpenGL context --- */

/* Replaces the window's OpenGL context if it was lost. Returns 1 if the context was replaced, so that everything has to
 * be drawn again; 0 if it was not lost, or if another attempt will follow; -1 with err if attempts have failed for too
 * long. */
int live_follow_context(struct live *live, int64_t now_ns, struct error *err);
/* Returns how many pictures were drawn since the start, in all OpenGL contexts together. */
struct present_counts live_count_drawn(const struct live *live);

#endif
