/* The outputs of the live window: recordings, streams, a virtual camera. Each has a thread and a bounded queue, so that
 * none delays the window or another output.
 *
 * A recording contains the pictures shown, each with the time when it was shown. Pictures that come faster than they
 * can be written are dropped and counted. A recording that fails ends, and what was written is kept. A stream (a URL, a
 * pipe, a virtual camera) has a constant rate: at each tick the newest picture is written, or the same one again. If
 * its receiver is gone, the stream is opened again, with growing pauses. All pictures of an output get the size of the
 * first one, because readers of files and streams expect one size.
 *
 * All functions are called on the window's thread. */
#ifndef APP_RUN_OUTPUTS_H
#define APP_RUN_OUTPUTS_H

#include <stdio.h>

#include "app/control/cover_pixels.h"
#include "app/sink/sink.h"

enum {
  OUTPUTS_MAX = 8,
  OUTPUT_QUEUE = 6,
  /* RGBA pictures that an output holds at most: those in the queue, and the one written last; the sink copies them. */
  OUTPUT_RECORDING_HOLDS = OUTPUT_QUEUE + 1,
  OUTPUT_STREAM_HOLDS = 2,
};

enum { OUTPUT_WHY_MAX = 160 };

enum output_kind { OUTPUT_RECORDING, OUTPUT_STREAM };

struct outputs_params {
  double fps;            /* rate of streams; 0: 30 */
  struct sound_tap *tap; /* sound of recordings; NULL: none */
  bool tap_by_clock;     /* the sound is a microphone's, whose positions are times of platform_now_ns */
  const char *codec; /* see sink_options; NULL: chosen automatically. Cameras ignore it, as they take raw pictures */
  double quality;    /* see sink_options; negative: the encoder's default */
  int retry_ms;      /* first pause before a stream is opened again; it doubles up to 32-fold; 0: 250 */
  const struct log *log; /* called on all threads; must outlive the outputs; NULL: none */
};

struct outputs_figures {
  int recordings, streams;     /* number of active ones */
  int failing;                 /* streams whose receiver is gone */
  double seconds;              /* length of the recording that began last */
  char broken[OUTPUT_WHY_MAX]; /* why a recording ended incomplete, until another one begins; "": none */
  long dropped;                /* pictures missing in recordings, including those that have ended */
};

struct outputs;

/* Returns OUTPUT_STREAM if the output is read while it is written, otherwise OUTPUT_RECORDING. format: as in
 * sink_options' container. */
enum output_kind output_kind_of(const char *spec, const char *format);
/* Returns OUTPUT_RECORDING_HOLDS or OUTPUT_STREAM_HOLDS. */
int outputs_holds(const char *spec);

/* Opens without outputs; the caller closes it with outputs_close. The strings and the log of params must outlive it. */
int outputs_open(struct outputs **outputs, const struct outputs_params *params, struct error *err);
/* Adds an output that begins with the next picture. spec is copied; the caller has checked that it may be written
 * (sink_check). *number identifies it for outputs_end; number may be NULL. -1: there are OUTPUTS_MAX already, or no
 * thread can be started. */
int outputs_add(struct outputs *outputs, const char *spec, int *number, struct error *err);
/* Passes on the picture that is shown at shown_ns; never waits. A picture held by several outputs counts once. */
void outputs_show(struct outputs *outputs, const struct covered *shown, int64_t shown_ns);
/* Makes an output end, and does not wait for it. */
void outputs_end(struct outputs *outputs, int number);
/* True until the output has ended and outputs_follow has removed it. */
bool outputs_has(const struct outputs *outputs, int number);
/* Removes outputs that have ended; to be called in each turn. Returns true if line contains a message about one of
 * them, such as a receiver that is gone or back; the message was logged, too, with this level. */
bool outputs_follow(struct outputs *outputs, char *line, size_t size, enum log_level *level);
/* Fills the figures of all outputs, including those that have ended. */
void outputs_get_figures(struct outputs *outputs, struct outputs_figures *figures);
/* Ends all outputs, waits until their files are complete, and prints a line for each to `out` (NULL: none). -1: one of
 * all recordings since outputs_open is incomplete. Stores NULL; accepts NULL. */
int outputs_close(struct outputs **outputs, FILE *out, struct error *err);

#endif
