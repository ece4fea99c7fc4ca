/* The command line. The table in options_table.c describes all options; parsing, --help, the man page and the shell
 * completions use it.
 *
 * Options that are parameters (control/parameters.h) are stored in `values`, and marked there if they were given. Other
 * strings point into argv, which outlives the options. 0 or NULL means that an option was not given, unless a field
 * says otherwise, and the command then uses its own default. */
#ifndef APP_OPTIONS_OPTIONS_H
#define APP_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "app/control/parameters.h"
#include "app/source/source.h"
#include "unet/engine.h"

enum command { COMMAND_NONE, COMMAND_LIVE, COMMAND_RENDER, COMMAND_BENCH, COMMAND_INFO, COMMAND_FETCH };

enum { FETCH_FILES_MAX = 32, FILES_MAX = 1000 };

/* How video is decoded. HWDEC_YES means HWDEC_AUTO, and HWDEC_CUDA means HWDEC_NVDEC. */
enum hwdec { HWDEC_AUTO, HWDEC_NO, HWDEC_NVDEC, HWDEC_YES, HWDEC_CUDA };

enum sweep_by { SWEEP_NONE, SWEEP_SIZE, SWEEP_STEPS, SWEEP_BATCH };

enum real_time { REAL_TIME_AUTO, REAL_TIME_NO };

enum strength_grid {
  STRENGTH_CONTINUOUS, /* any noise level */
  STRENGTH_DIFFUSERS,  /* quantised as diffusers' image-to-image does */
  STRENGTH_TRAINED,    /* snapped to the points an adversarially distilled model was trained at */
};

/* Value of budget_ms that stands for the time for which the display shows one picture, at its refresh rate. */
#define BUDGET_DISPLAY (-1.0)

/* Values of `sound` and `record_sound` that name no input. */
#define SOUND_OF_SOURCE "source" /* the sound of the source that is shown */
#define SOUND_NONE "none"

struct options {
  enum command command;
  const char *input;  /* live: SOURCE, render: IN, bench --live: CLIP, info: MODEL, fetch: REPO */
  const char *output; /* render: OUT */
  /* fetch: names of files; live, bench --steadiness: all sources or clips but the first */
  const char *files[FILES_MAX];
  int file_count;

  struct parameters values;
  struct parameter_choices models, vaes; /* all that were given, in order; the first one is also in values */
  /* files that were given beyond the number of LoRAs or styles that act at once; keys can select them */
  struct parameter_choices spare_loras, spare_styles;
  int prompt_count;            /* number of prompts in values.prompt */
  int lora_count, style_count; /* number of entries in values.lora and values.style */
  int control_count;           /* number of entries in values.control */

  int batch; /* frames in one run of the engine; 0: chosen automatically */

  struct device_options device; /* log, cache_dir and stamps are not set by options */
  enum real_time real_time;     /* scheduling class of live's threads */
  bool awake;                   /* live keeps the processors from sleeping */

  /* Options of sources. */
  const char *input_format, *input_options;
  enum hwdec hwdec;
  const char *control_source;       /* the second source, which some controls read; NULL: none */
  const char *mask;                 /* picture or video of the region to be repainted, or "alpha"; NULL: none */
  int input_width, input_height;    /* size that is requested of a camera, screen or pattern */
  enum pattern_pixels input_pixels; /* pixel format of bench's pattern */
  double input_fps;
  const char *playlist; /* file with a list of sources; NULL: none */
  double still; /* seconds for which each picture of a playlist is shown; 0: until the user shows the next source */
  bool loop;
  double start;        /* position in the input at which it starts, in seconds */
  double read_timeout; /* seconds without data after which an input has failed */
  double duration;     /* seconds of input (render) or of running (live); 0: no limit */
  long frames;         /* number of frames to show, write or measure; 0: no limit */

  /* Options of render. */
  const char *output_format; /* FFmpeg muxer or file extension; NULL: chosen by OUT's name */
  const char *codec;
  double quality; /* constant rate factor; negative: the encoder's default */
  bool no_sound;
  int sound_track; /* number of the track to copy, from 1; 0: all tracks */
  bool overwrite;

  /* Options of bench. */
  bool live;                  /* measure the live window */
  long warmup;                /* frames that are run before the first one that counts; -1: the command's default */
  const char *json;           /* file for the figures as JSON, or "-" for standard output */
  const char *save, *compare; /* files of reports; NULL: none */
  const char *report;         /* file of the HTML report; NULL: none */
  enum sweep_by sweep;
  const char *trace; /* file for a trace of each frame, as Chrome's trace viewer reads it; NULL: none */
  bool steadiness;   /* measure how steady pictures are from frame to frame instead of frame rates */
  bool profile;      /* measure the ops of a frame instead of frame rates */

  /* Options of live. */
  double budget_ms; /* longest time that a frame may take; 0: no limit */
  /* smallest size to which the budget may reduce the picture; 0: chosen automatically */
  int budget_floor_width, budget_floor_height;
  /* file of values by time that is played; file to which such values are recorded; NULL: none */
  const char *script, *record_script;
  bool script_loop;
  int window_width, window_height; /* size of the window; 0: chosen automatically */
  const char *display;             /* number or name of the display for the output; NULL: chosen automatically */
  const char *snapshot_dir;        /* folder of snapshots; NULL: the working directory */
  const char *presets;             /* file of named sets of values; NULL: none */
  const char *record;              /* file to which recording starts at once; NULL: none */
  struct parameter_choices to;     /* further outputs of pictures: files, streams, cameras */
  const char *ipc;                 /* path of the IPC socket; NULL: none */
  const char *osc;                 /* [HOST:]PORT at which OSC messages are received; NULL: none */
  struct parameter_choices osc_to; /* addresses to which OSC messages are sent */
  const char *midi;         /* device, file, pipe or sequencer port; "": a port of the program's own; NULL: no MIDI */
  const char *web;          /* address of the web page; "": the default address; NULL: no page */
  const char *record_sound; /* sound of recordings: an input, SOUND_NONE or SOUND_OF_SOURCE; NULL: SOUND_OF_SOURCE */
  const char *sound;        /* sound that is analysed: an input or SOUND_OF_SOURCE; NULL: none */
  struct parameter_choices modulate; /* each as text: a parameter that the sound changes, and how */

  int verbose; /* -1: errors only; 0: usual; 1: more; 2: details for debugging */
};

/* What the command line asks for: to run a command, or to print something and exit. */
enum options_action { ACTION_RUN, ACTION_HELP, ACTION_VERSION, ACTION_GENERATE, ACTION_NAMES, ACTION_DEVICES };

struct options_request {
  enum options_action action;
  const char *generate; /* "man", "bash", "zsh", "fish" */
};

/* Parses argv. On failure (STATUS_USAGE) the message names the offending argument and, if it is misspelt, the nearest
 * option. */
int options_parse(struct options *options, struct options_request *request, int argc, char **argv, struct error *err);

/* Returns how many instances of a text parameter are given, counted from the first one up to the first gap. */
int options_given(const struct parameters *values, enum parameter id);
/* Copies options to *wish, with `values` in place of its values, and the counts of prompts, LoRAs, styles and controls
 * that they have. */
void options_with(struct options *wish, const struct options *options, const struct parameters *values);

/* Prints the help of one command, or of the program for COMMAND_NONE. */
void options_help(FILE *out, enum command command);

/* Writes the man page or a completion script. kind: "man", "bash", "zsh" or "fish". */
int options_generate(FILE *out, const char *kind, struct error *err);

/* The commands. Each returns 0 or -1, and err->status becomes the exit status. */
int command_live(const struct options *options, struct error *err);
int command_render(const struct options *options, struct error *err);
int command_bench(const struct options *options, struct error *err);
int command_info(const struct options *options, struct error *err);
int command_fetch(const struct options *options, struct error *err);
/* Prints the devices that can be given as SOURCE to standard output. */
void command_devices(const struct options *options);

#endif
