/* Declares what the files of the command render share: render.c makes the pictures of one input, render_output.c
 * checks, opens and describes its output, and render_many.c renders several inputs one after the other. */
#ifndef APP_COMMANDS_RENDER_IMPL_H
#define APP_COMMANDS_RENDER_IMPL_H

#include "app/options/options.h"
#include "app/run/cut.h"
#include "app/run/engines.h"
#include "app/run/existing.h"
#include "app/run/output_size.h"
#include "app/run/pipeline.h"
#include "app/run/progress.h"
#include "app/run/resuming.h"
#include "app/run/shared_choices.h"
#include "app/sink/alpha.h"
#include "app/sink/beside.h"
#include "app/sink/cadence.h"

/* The state that all inputs of one command line share. */
struct render_shared {
  struct log log;
  struct engines engines;
  struct progress_place place; /* number of the current input, and number of inputs */
};

struct render {
  const struct options *options;
  const struct log *log;
  struct source_options source_options;
  struct cut cut; /* which frames of the input are rendered */
  /* list of times, which a script needs: those of the frames of the whole render that come before the frames of this
   * process; NULL: not needed */
  struct cut_walk *walk;
  double tick; /* unit of frame.pts in seconds */
  /* time of the last frame for which the script was played, in seconds since the first frame of the whole render; -1:
   * none yet */
  double played;
  char output[CUT_NAME_MAX];
  const char *container;
  struct resuming resuming;
  struct source *source;
  /* feed that passes on sound and other tracks of an input that can be read only once; NULL: the input can be read
   * again */
  struct side_feed *feed;
  struct masking *masking;
  struct playing *playing; /* the script (--script) that changes values over time; NULL: there is none */
  struct control_source *control;
  struct engines *engines;
  struct shared_choices shared; /* the kernels and the number of frames in a run that all shards of the render use */
  bool begun;                   /* true: the engines have made a frame of this input */
  struct controls controls;
  struct progress progress;
  struct progress_place *place;
  long total;               /* number of frames that are rendered or skipped; 0: unknown */
  double frames_in_out;     /* number of the output's frames for each frame of the input; 1: each frame of the input
                             * gives one */
  struct existing existing; /* search for pictures of the output's sequence that exist already, for --skip-existing */
  bool is_there;            /* true: the output is a file that exists already, and is left as it is (--skip-existing) */
  /* text that each picture of a sequence carries, which tells with which settings it was made (job/mark.h) */
  char *mark;
  enum pixel_format pixels; /* pixel format of the pictures that the sink gets from the engine */
  bool replace;             /* true: an existing output may be replaced, because of -y or because the user agreed */
  struct output_size size;
  /* store of input frames for --beside, which puts the input's frame beside each picture; NULL: not requested */
  struct beside *beside;
  /* state of --fps, which repeats pictures or leaves them out so that the output has a constant frame rate */
  struct cadence cadence;
  struct alpha *alpha; /* store of the input's alpha, which is kept until the pictures are encoded; NULL: the output
                        * gets no alpha */
};

/* --- render_output.c: checks, opens and describes the output --- */

/* Returns the largest number of frames to read from the source: --frames, minus the pictures that an unfinished file of
 * an earlier attempt contains; 0: no limit. */
long render_frames(const struct render *render);
/* Returns how many frames OUT gets for each frame of IN, on average. The number differs from 1 with --fps, and for a
 * GIF if IN has more than 50 frames a second. fps: IN's frames a second; 0: unknown. */
double render_frames_in_out(const struct render *render, double fps);
/* Returns true if OUT gets the input's alpha channel. */
bool render_keeps_alpha(const struct options *options);
/* Sets the output's name, and checks that it can be written to, before any expensive work. With --skip-existing it also
 * finds out whether the output exists. Returns 0, or -1 with err. */
int render_check_output(struct render *render, struct error *err);
/* Functions that pipeline.h calls as `skips` and `open_sink`; `opaque` points to the struct render. */
int render_skips(void *opaque, struct frame *frame, struct error *err);
int render_open_sink(void *opaque, struct sink **sink, struct error *err);
/* Called if a shard has no pictures because they are missing or damaged in the input. Writes the shard's file and
 * manifest without pictures, so that the command join recognises an empty shard. Prefixes err, the input's error, with
 * the shard's name; replaces err if the file cannot be written. */
void render_leave_empty(struct render *render, struct error *err);
/* Called if an output of one file could not be completed. If another process has made the same output meanwhile (the
 * same shard, or an output with as many pictures of the same size), and --skip-existing is given, removes this
 * process's unfinished file `part`, logs that, and returns true. Otherwise returns false. */
bool render_gives_way(const struct render *render, const char *part);
/* Prints the last line of a render: number of OUT's frames and, if it differs, of the pictures that were made; speed;
 * and the stage that limited the speed. */
void render_close_line(const struct render *render, const struct pipeline_result *result);

/* --- render.c: rendering one input --- */

/* Checks options, input and output as far as possible before anything is rendered, without log lines. *replaces becomes
 * true if the output may be overwritten, for example because the user agreed on the terminal. Returns 0, or -1 with
 * err. */
int render_check(const struct options *options, bool *replaces, struct error *err);
/* Renders one input, unless its output exists and is left as it is (--skip-existing). The engines stay open for the
 * next input. Returns 0, or -1 with err. */
int render_input(const struct options *options, struct render_shared *shared, struct error *err);

#endif
