/* The command line. One table (options_table.c) drives parsing, --help, the man page and the shell completions.
 *
 * Options that are parameters (control/parameters.h) are in values, marked where they were given. Other strings point
 * into argv, which outlives the options. A zero or NULL means "not given" unless a field says otherwise; the commands
 * choose their own defaults then. */
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

/* What decodes; the last two are other words for the first and the third. */
enum hwdec { HWDEC_AUTO, HWDEC_NO, HWDEC_NVDEC, HWDEC_YES, HWDEC_CUDA };

enum sweep_by { SWEEP_NONE, SWEEP_SIZE, SWEEP_STEPS, SWEEP_BATCH };

enum real_time { REAL_TIME_AUTO, REAL_TIME_NO };

enum strength_grid {
  STRENGTH_CONTINUOUS, /* any noise level */
  STRENGTH_DIFFUSERS,  /* quantised as diffusers' image-to-image does */
  STRENGTH_TRAINED,    /* snapped to the points an adversarially distilled model was trained at */
};

/* In place of a budget in ms: as long as the display shows a picture. */
#define BUDGET_DISPLAY (-1.0)

/* In place of an input. */
#define SOUND_OF_SOURCE "source" /* what is shown */
#define SOUND_NONE "none"

struct options {
  enum command command;
  const char *input;            /* live: SOURCE, render: IN, bench --live: CLIP, info: MODEL, fetch: REPO */
  const char *output;           /* render: OUT */
  const char *files[FILES_MAX]; /* fetch: FILE..., live: the other SOURCE... */
  int file_count;

  struct parameters values;
  struct parameter_choices models, vaes;              /* all that were given; the first are in values */
  struct parameter_choices spare_loras, spare_styles; /* that keys put in the place of those in values */
  int prompt_count;                                   /* of values.prompt, given from the first on */
  int lora_count, style_count;                        /* of values.lora, values.style */
  int control_count;                                  /* of values.control */

  int batch; /* frames of a run; 0: chosen */

  struct device_options device; /* log, cache_dir and stamps are not options */
  enum real_time real_time;     /* scheduling of live's threads */
  bool awake;                   /* live keeps the processors so */

  /* Source */
  const char *input_format, *input_options;
  enum hwdec hwdec;
  const char *control_source;       /* what controls see that ask for it; NULL: none */
  const char *mask;                 /* picture or video of what is to be repainted, or "alpha"; NULL: none */
  int input_width, input_height;    /* asked of a camera, screen or pattern */
  enum pattern_pixels input_pixels; /* of bench's pattern */
  double input_fps;
  const char *playlist; /* file that names sources; NULL: none */
  double still;         /* seconds that a picture among sources stays; 0: until another is asked for */
  bool loop;
  double start;        /* seconds into the input */
  double read_timeout; /* seconds */
  double duration;     /* seconds of input (render) or of running (live); 0: all */
  long frames;         /* stop after so many frames shown, written or measured; 0: no limit */

  /* render */
  const char *output_format; /* FFmpeg muxer or extension; NULL: what suits OUT */
  const char *codec;
  double quality; /* constant rate factor; negative: the encoder's usual one */
  bool no_sound;
  int sound_track; /* the one that is copied, from 1; 0: all of them */
  bool overwrite;

  /* bench */
  bool live;                  /* the window */
  long warmup;                /* frames before measuring; -1: chosen */
  const char *json;           /* file, or "-" for standard output */
  const char *save, *compare; /* files of reports; NULL: none */
  const char *report;         /* file of a page; NULL: none */
  enum sweep_by sweep;
  const char *trace; /* file; NULL: none */
  bool profile;      /* where a frame's time goes, in place of frame rates */

  /* live */
  double budget_ms; /* a frame is to take no longer; 0: none */
  /* pixels that the budget leaves the picture; 0: chosen */
  int budget_floor_width, budget_floor_height;
  const char *script, *record_script; /* files; NULL: none */
  bool script_loop;
  int window_width, window_height;   /* 0: chosen */
  const char *display;               /* of the output: its number or name; NULL: chosen */
  const char *snapshot_dir;          /* NULL: the working directory */
  const char *presets;               /* file; NULL: none */
  const char *record;                /* file; NULL: none from the start on */
  struct parameter_choices to;       /* where pictures go as well */
  const char *ipc;                   /* socket; NULL: none */
  const char *osc;                   /* PORT or HOST:PORT; NULL: nobody is listened to */
  struct parameter_choices osc_to;   /* likewise: who is sent to */
  const char *midi;                  /* device, file, pipe or port of the sequencer, "": its own; NULL: no MIDI */
  const char *web;                   /* where the page is served, "": the usual place; NULL: it is not */
  const char *record_sound;          /* of recordings: an input, SOUND_NONE or SOUND_OF_SOURCE; NULL: the latter */
  const char *sound;                 /* what is listened to, or SOUND_OF_SOURCE; NULL: nothing */
  struct parameter_choices modulate; /* what it moves, as text */

  int verbose; /* -1 quiet, 0, 1 informative, 2 debugging */
};

/* What the command line asked for besides running a command. */
enum options_action { ACTION_RUN, ACTION_HELP, ACTION_VERSION, ACTION_GENERATE, ACTION_NAMES, ACTION_DEVICES };

struct options_request {
  enum options_action action;
  const char *generate; /* "man", "bash", "zsh", "fish" */
};

/* Parses argv. On failure (STATUS_USAGE) the message names the offending argument and, for a misspelt one, the nearest.
 */
int options_parse(struct options *options, struct options_request *request, int argc, char **argv, struct error *err);

/* How many texts of a parameter there are, from the first on. */
int options_given(const struct parameters *values, enum parameter id);
/* The options as they are with these values, which need not be those of the command line any more. */
void options_with(struct options *wish, const struct options *options, const struct parameters *values);

/* Help for one command, or for the program with COMMAND_NONE. */
void options_help(FILE *out, enum command command);

/* Writes the man page or a completion script. */
int options_generate(FILE *out, const char *kind, struct error *err);

/* The commands. Each returns 0 or -1; err->status becomes the exit status. */
int command_live(const struct options *options, struct error *err);
int command_render(const struct options *options, struct error *err);
int command_bench(const struct options *options, struct error *err);
int command_info(const struct options *options, struct error *err);
int command_fetch(const struct options *options, struct error *err);
/* What there is to be given as SOURCE, on standard output. */
void command_devices(const struct options *options);

#endif
