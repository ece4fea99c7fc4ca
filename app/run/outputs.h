/* The outputs of the live window: recordings, streams, a virtual camera. Each has a thread and a bounded queue, so that
 * a slow one delays neither the window nor another output.
 *
 * A recording contains the pictures shown, each with the time when it was shown. Pictures that come faster than they
 * can be written are dropped and counted. If writing fails, the recording ends, and what was written is kept. A stream
 * (a URL, a pipe, a virtual camera) has a constant rate: at each tick the newest picture is written, even if it was
 * written before. If its receiver is gone, the stream is opened again, with growing pauses. All pictures of an output
 * are scaled to the size of its first one, because readers of files and streams expect one size.
 *
 * Only the window's thread calls these functions. */
#ifndef APP_RUN_OUTPUTS_H
#define APP_RUN_OUTPUTS_H

#include <stdio.h>

#include "app/control/cover_pixels.h"
#include "app/sink/sink.h"

enum {
  OUTPUTS_MAX = 8,
  OUTPUT_QUEUE = 6,
  /* Number of RGBA pictures that an output holds at most: those in its queue, and the one written last. The sink copies
   * pictures and holds none. */
  OUTPUT_RECORDING_HOLDS = OUTPUT_QUEUE + 1,
  OUTPUT_STREAM_HOLDS = 2,
};

enum { OUTPUT_WHY_MAX = 160 };

enum output_kind { OUTPUT_RECORDING, OUTPUT_STREAM };

struct outputs_params {
  double fps;            /* frames per second of streams; 0: 30 */
  struct sound_tap *tap; /* sound of recordings; NULL: none */
  /* true: the sound is a microphone's, with timestamps of platform_now_ns; false: it is the source's */
  bool tap_by_clock;
  /* codec name, passed to the sink; NULL: chosen for the container. Virtual cameras ignore it: they take raw
   * pictures */
  const char *codec;
  double quality; /* passed to the sink (sink_options.quality); negative: the encoder's default */
  /* ms before a failed stream is opened again; doubled with each failure up to 32 times; 0: 250 */
  int retry_ms;
  const struct log *log; /* called on all threads; must outlive the outputs; NULL: none */
};

struct outputs_figures {
  int recordings, streams;     /* numbers of recordings and streams that are running */
  int failing;                 /* number of streams whose receiver is gone */
  double seconds;              /* length so far of the newest recording */
  char broken[OUTPUT_WHY_MAX]; /* why the last recording is incomplete, until another one begins; "": none is */
  long dropped;                /* number of pictures dropped from all recordings so far */
};

struct outputs;

/* Returns OUTPUT_STREAM if the output is read while it is written (URL, pipe, virtual camera), otherwise
 * OUTPUT_RECORDING. format: name of the container, as for sink_options.container; NULL: by the file's name. */
enum output_kind output_kind_of(const char *spec, const char *format);
/* Returns how many pictures an output with this name holds at most: OUTPUT_RECORDING_HOLDS or OUTPUT_STREAM_HOLDS. */
int outputs_holds(const char *spec);

/* Allocates *outputs, with no output in it; the caller closes it with outputs_close. The strings and the log of params
 * must outlive it. Returns 0, or -1 with err. */
int outputs_open(struct outputs **outputs, const struct outputs_params *params, struct error *err);
/* Adds an output that begins with the next picture. spec (a path or URL) is copied; the caller has checked with
 * sink_check that it may be written. *number identifies the output for outputs_end; number may be NULL. Returns 0, or
 * -1 with err: there are OUTPUTS_MAX already, or no thread can be started. */
int outputs_add(struct outputs *outputs, const char *spec, int *number, struct error *err);
/* Gives all outputs the picture that is shown at shown_ns; never waits. Each holds the picture's frame; the frame is
 * shared, not copied. */
void outputs_show(struct outputs *outputs, const struct covered *shown, int64_t shown_ns);
/* Tells an output to end, a recording after the pictures in its queue, and does not wait for that. */
void outputs_end(struct outputs *outputs, int number);
/* Returns true until the output has ended and outputs_follow has removed it. */
bool outputs_has(const struct outputs *outputs, int number);
/* Removes outputs that have ended. The window's thread calls it in each turn. Returns true if line contains a message
 * for the user about an output, for example that a receiver is gone or back, with its log level; the message was
 * logged, too. */
bool outputs_follow(struct outputs *outputs, char *line, size_t size, enum log_level *level);
/* Fills the figures of all outputs together, including those that have ended. */
void outputs_get_figures(struct outputs *outputs, struct outputs_figures *figures);
/* Ends all outputs, waits until their files are complete, and prints a line for each to `out` (NULL: no lines). Returns
 * 0, or -1 with err if any recording since outputs_open is incomplete. Stores NULL; accepts a pointer to NULL. */
int outputs_close(struct outputs **outputs, FILE *out, struct error *err);

#endif
