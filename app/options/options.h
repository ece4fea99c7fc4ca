/* The command line. The table in options_table.c describes all options, for parsing, --help, man page and shell
 * completions. Options that are parameters (control/parameters.h) are stored in `values`, and marked there if given.
 * Other strings point into argv, which outlives the options. 0 or NULL: the option was not given, unless a field says
 * otherwise; the command then uses its default. */
#ifndef APP_OPTIONS_OPTIONS_H
#define APP_OPTIONS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "app/control/parameters.h"
#include "app/source/source.h"
#include "unet/engine.h"

enum command { COMMAND_NONE, COMMAND_LIVE, COMMAND_RENDER, COMMAND_JOIN, COMMAND_BENCH, COMMAND_INFO, COMMAND_FETCH };

enum { FETCH_FILES_MAX = 32, FILES_MAX = 1000 };

/* How a render reports its progress: for people, not at all, or in one of three forms for programs. */
enum progress_kind { PROGRESS_AUTO, PROGRESS_NONE, PROGRESS_PERCENT, PROGRESS_JSON, PROGRESS_OPENJD };
/* How video is decoded: on the GPU if possible (HWDEC_AUTO, HWDEC_YES), by FFmpeg on the CPU (HWDEC_NO), or on the GPU
 * only (HWDEC_NVDEC, HWDEC_CUDA). */
enum hwdec { HWDEC_AUTO, HWDEC_NO, HWDEC_NVDEC, HWDEC_YES, HWDEC_CUDA };

enum sweep_by { SWEEP_NONE, SWEEP_SIZE, SWEEP_STEPS, SWEEP_BATCH };

enum real_time { REAL_TIME_AUTO, REAL_TIME_NO };

/* Value of budget_ms that stands for one period of the display's refresh rate. */
#define BUDGET_DISPLAY (-1.0)

/* Whether interlaced video and HDR are converted (--deinterlace, --tone-map). FILTER_AUTO: FILTER_YES in render, and
 * FILTER_NO in live. */
enum filter_wish { FILTER_AUTO, FILTER_YES, FILTER_NO };

/* Value of output_width and output_height that stands for the input's size. */
enum { OUTPUT_SIZE_SOURCE = -1 };

/* Values of `sound` and `record_sound` that name no input. */
#define SOUND_OF_SOURCE "source" /* the sound of the source that is shown */
#define SOUND_NONE "none"

/* A range of numbers of pictures or frames (--range). */
struct option_range {
  bool given;
  long first, last; /* numbers of the first and the last picture or frame; last -1: the range goes to the end */
  long step;        /* only every step-th number, from `first` on, is taken; 1: all */
};

/* The part of a render that --shard selects: part number `index`, from 1, of `count` equal parts, or a range of
 * frames. */
struct option_shard {
  long index, count; /* number of the part, and number of equal parts; count 0: no parts are given by number */
  struct option_range range;
};

/* In and out points of a source: the positions at which playing a file begins and ends (struct playlist_entry). */
struct option_points {
  double in_s, out_s;
};

struct options {
  enum command command;
  /* first argument: of live SOURCE, render IN, bench --live CLIP, info MODEL, fetch REPO; --input of join */
  const char *input;
  const char *output; /* last argument of render and first of join: OUT */
  /* further arguments: fetch: names of files; join: shards; live, render, bench --steadiness: all sources,
   * inputs or clips except the first */
  const char *files[FILES_MAX];
  int file_count;
  /* in and out points of the sources, of `input` first and then of `files`, as the show file has them; NULL: none are
   * given */
  const struct option_points *points;

  struct parameters values;
  /* all models and autoencoders that were given, in order; the first ones are also in `values` */
  struct parameter_choices models, vaes;
  /* LoRA files and style pictures that are not used at first (--spare-lora, --spare-style); keys can select them in
   * place of those in use */
  struct parameter_choices spare_loras, spare_styles;
  int prompt_count;            /* number of prompts in values.prompt */
  int lora_count, style_count; /* number of entries in values.lora and values.style */
  int control_count;           /* number of entries in values.control */
  int lfo_count;               /* number of entries in values.lfo */

  int batch; /* number of frames in one run of the engine; 0: chosen automatically */

  struct device_options device; /* options of the device; its fields log, cache_dir and stamps are not set here */
  enum real_time real_time;     /* how the system schedules live's threads */
  bool awake;                   /* true: live and bench --live keep processors out of sleep states */

  /* The fields of this block are options of sources. */
  const char *input_format, *input_options;
  enum hwdec hwdec;
  enum filter_wish deinterlace, tone_map;
  const char *control_source; /* a second input, from whose frames some controls make their maps; NULL: none */
  /* region to be repainted: a picture or video, or "alpha" (the input's own alpha); NULL: none */
  const char *mask;
  int input_width, input_height;    /* size that is requested of a camera, screen or pattern */
  enum pattern_pixels input_pixels; /* pixel format of bench's pattern */
  double input_fps;
  const char *playlist; /* file with a list of sources; NULL: none */
  const char *fallback; /* file that is shown while a camera or stream is lost; NULL: none */
  double still; /* seconds for which each picture of a playlist is shown; 0: until the user shows the next source */
  bool loop;
  double start;              /* position in the input at which reading starts, in seconds */
  double read_timeout;       /* seconds without data after which an input has failed */
  double duration;           /* seconds of input (render) or of running (live); 0: no limit */
  long frames;               /* number of frames to show, write or measure; 0: no limit */
  int repeat;                /* render: number of times that the input is read in a row; 0: once */
  struct option_range range; /* render: the range of frames that are rendered, by their numbers in the input (in a
                              * sequence, those in the names of the pictures) */
  struct option_shard shard; /* render: the part of the frames in `range` that this process renders (--shard) */

  /* The fields of this block are options of render. */
  const char *output_format; /* FFmpeg muxer or file extension; NULL: OUT's name decides */
  const char *codec;
  /* quality of the encoder (--quality), from 0 (best) to 63; negative: the usual one (sink_options.quality) */
  double quality;
  /* size of the pictures in OUT; 0: that of the model's pictures; OUTPUT_SIZE_SOURCE: that of the input */
  int output_width, output_height;
  /* pixel format and options of the encoder, in FFmpeg's words (sink_options in sink.h); NULL: not given */
  const char *pixel_format, *encoder_options;
  double fps;  /* constant frame rate of OUT; 0: pictures have the times of the input's frames */
  bool beside; /* true: OUT shows the input's frame beside each picture */
  bool no_sound;
  int sound_track; /* number of the sound track to copy, from 1; 0: all tracks */
  bool overwrite;
  enum progress_kind progress;
  bool resume;        /* true: continue an interrupted render from the unfinished file that it left */
  bool skip_existing; /* true: pictures and files that exist already are not made again */

  /* The fields of this block are options of bench. */
  bool live; /* true: measure the live window */
  /* bench: number of frames that are run before measuring begins; render: number of frames before `start` that are run
   * first, without being written; -1: the command's default */
  long warmup;
  const char *json; /* file to which bench writes its measurements as JSON, or "-" for standard output */
  /* files of bench reports: `save`: the new measurements are written to it; `compare`: an earlier report, with which
   * they are compared; NULL: none */
  const char *save, *compare;
  const char *report; /* file of the HTML report; NULL: none */
  enum sweep_by sweep;
  const char *trace; /* file for a trace of each frame, as Chrome's trace viewer reads it; NULL: none */
  bool steadiness;   /* true: measure how steady pictures are from frame to frame instead of frame rates */
  bool profile;      /* true: measure the ops of a frame instead of frame rates */

  /* The fields of this block are options of live. */
  /* --budget: longest time in ms that a frame may take; 0: no limit; BUDGET_DISPLAY: the display's refresh interval */
  double budget_ms;
  /* smallest size, in pixels, to which the picture may be reduced to keep budget_ms; 0: chosen automatically */
  int budget_floor_width, budget_floor_height;
  /* script: file with values of parameters by time, which are played; record_script: file to which such a script is
   * recorded; NULL: none */
  const char *script, *record_script;
  bool script_loop;
  int window_width, window_height; /* size of the window; 0: chosen automatically */
  const char *display;             /* number or name of the display for the output; NULL: chosen automatically */
  const char *snapshot_dir;        /* folder of snapshots; NULL: the working directory */
  const char *presets;             /* file of presets (named sets of values); NULL: none */
  const char *show_file;           /* show file, with all that a performance needs (show_file.h); NULL: none */
  bool trust_show;                 /* true: the show file may name files outside its folder, and set all options */
  const char *record;              /* file to which live records from its first picture on; NULL: none */
  struct parameter_choices to;     /* outputs of pictures besides the main one: files, streams, cameras */
  const char *ipc;                 /* path of the IPC socket; NULL: none */
  const char *osc;                 /* [HOST:]PORT at which OSC messages are received; NULL: none */
  struct parameter_choices osc_to; /* addresses to which OSC messages are sent */
  /* MIDI input: device, file, pipe or sequencer port; "": a port of the program's own; NULL: no MIDI */
  const char *midi;
  /* device, pipe or sequencer port to which the values of the parameters that MIDI knobs set are sent; NULL: none */
  const char *midi_out;
  const char *web; /* [HOST:]PORT at which the web page is served; "": the default; NULL: no page */
  /* sound that recordings get: an input, SOUND_NONE or SOUND_OF_SOURCE; NULL: SOUND_OF_SOURCE */
  const char *record_sound;
  const char *sound; /* sound that changes parameter values: an input or SOUND_OF_SOURCE; NULL: none */
  /* how sound changes values: each text names a parameter, and by how much it changes */
  struct parameter_choices modulate;

  bool no_config; /* true: reverie.conf and keys.conf are not read */

  int verbose; /* how much is logged: -1: errors only; 0: usual; 1: more; 2: details for debugging */
};

/* What the command line asks for: to run a command, or to print something and exit. */
enum options_action { ACTION_RUN, ACTION_HELP, ACTION_VERSION, ACTION_GENERATE, ACTION_NAMES, ACTION_DEVICES };

struct options_request {
  enum options_action action;
  const char *generate; /* what --generate writes: "man", "bash", "zsh", "fish" or, for ACTION_NAMES, "models" */
};

/* Sets every option to its default. */
void options_init(struct options *options);
/* Sets every option to its default and parses argv. Returns 0, or -1 with err (STATUS_USAGE), whose message names the
 * offending argument and, if it is misspelt, the nearest option. */
int options_parse(struct options *options, struct options_request *request, int argc, char **argv, struct error *err);

/* The text of reverie.conf. Each line has an option of live, as on the command line but without --, such as "budget=33"
 * or "fullscreen". # begins a comment at a line's beginning or after a space. Spaces around = and at the ends of a line
 * are ignored, unless a value is in double quotes. */
struct options_config {
  char *text; /* text of reverie.conf; the parser changes it, and the options' values point into it, so it must outlive
               * the options */
  /* called for each wrong line with the line's number, from 1, and the reason; the other lines are applied */
  void (*complain)(void *opaque, int line, const char *why);
  void *opaque;
  bool always; /* true: the text of reverie.conf is used even if argv gives --no-config */
};
/* Sets every option to its default, parses argv as options_parse does, and takes from config the options that argv
 * does not give. config is not used if it is NULL, if the command is not live, or if argv gives --no-config. */
int options_parse_with(struct options *options, struct options_request *request, int argc, char **argv,
                       const struct options_config *config, struct error *err);

/* Returns how many instances of a text parameter are given, counted from the first one up to the first gap. */
int options_given(const struct parameters *values, enum parameter id);
/* Copies options to *wish, but with `values`, and with the numbers of prompts, LoRAs, styles and controls from
 * `values`. Values that the next model recommends become their defaults (parameters_leave_to_model). */
void options_with(struct options *wish, const struct options *options, const struct parameters *values);

/* Prints the help of a command, or that of the program for COMMAND_NONE. */
void options_help(FILE *out, enum command command);

/* Writes the man page or a completion script. kind: "man", "bash", "zsh" or "fish". */
int options_generate(FILE *out, const char *kind, struct error *err);

/* The commands. Each function returns 0 or -1, and err->status becomes the exit status. */
int command_live(const struct options *options, struct error *err);
int command_render(const struct options *options, struct error *err);
int command_join(const struct options *options, struct error *err);
int command_bench(const struct options *options, struct error *err);
int command_info(const struct options *options, struct error *err);
int command_fetch(const struct options *options, struct error *err);
/* Prints the version to standard output; with -v also what it was built with, and the versions of FFmpeg and SDL. */
void command_version(const struct options *options);
/* Prints to standard output the devices that can be given as SOURCE. */
void command_devices(const struct options *options);

#endif
