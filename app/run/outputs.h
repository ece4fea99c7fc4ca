/* The outputs of the live window: recordings, streams, a virtual camera. Each has a thread and a bounded queue, so that
 * a slow output delays neither the window nor other outputs. All pictures of an output are scaled to the size of its
 * first one. Only the window's thread calls these functions.
 *
 * A recording contains the pictures that the window shows, with the times at which they were shown. Pictures that come
 * too fast to be written are dropped and counted. If writing fails, the recording ends, and what was written stays.
 *
 * A stream (URL, pipe or virtual camera) has a constant rate: it repeats the newest picture if there is no new one. If
 * its receiver is gone, it is opened again, with growing pauses. */
#ifndef APP_RUN_OUTPUTS_H
#define APP_RUN_OUTPUTS_H

#include <stdio.h>

#include "app/control/cover_pixels.h"
#include "app/sink/sink.h"

enum {
  OUTPUTS_MAX = 8,
  OUTPUT_QUEUE = 6,
  /* Largest number of RGBA pictures that a recording refers to: those in its queue, and the one written last. The sink
   * (encoder) copies pictures, so it adds none. */
  OUTPUT_RECORDING_HOLDS = OUTPUT_QUEUE + 1,
  OUTPUT_STREAM_HOLDS = 2,
};

enum { OUTPUT_WHY_MAX = 160 };

enum output_kind { OUTPUT_RECORDING, OUTPUT_STREAM };

struct outputs_params {
  double fps;            /* frames per second of streams; 0: 30 */
  struct sound_tap *tap; /* where recordings get their sound from; NULL: they have none */
  /* true: the sound is a microphone's, with time stamps on the clock of platform_now_ns; false: it is the source's
   * sound, with time stamps of the source */
  bool tap_by_clock;
  /* name of the codec for the sink; NULL: the container's usual one. Virtual cameras ignore the codec, because they
   * take raw pictures */
  const char *codec;
  double quality; /* quality for the sink (sink_options.quality); negative: the encoder's default */
  /* pixel format and options of the encoder, as in sink_options; NULL: the defaults. Virtual cameras ignore them */
  const char *pixel_format, *encoder_options;
  /* ms after a stream's failure until it is opened again; doubled with each further failure, up to 32 times as long; 0:
   * 250 */
  int retry_ms;
  /* log for messages about outputs, which several threads write; must outlive the outputs; NULL: none */
  const struct log *log;
};

struct outputs_figures {
  int recordings, streams; /* numbers of recordings and of streams that have not ended */
  /* number of streams that have failed, for example because the receiver is gone, and are not open again yet */
  int failing;
  double seconds;              /* length so far of the newest recording, in seconds */
  char broken[OUTPUT_WHY_MAX]; /* why the last recording is incomplete, until another one begins; "": it is complete */
  long dropped;                /* number of pictures dropped from all recordings so far */
};

struct outputs;

/* Returns OUTPUT_STREAM if the output is read while it is written (URL, pipe, virtual camera), otherwise
 * OUTPUT_RECORDING. format: name of an FFmpeg muxer or a file extension; NULL: it follows from the file's name. */
enum output_kind output_kind_of(const char *spec, const char *format);
/* Returns how many pictures an output to this file or URL holds at most: OUTPUT_RECORDING_HOLDS or
 * OUTPUT_STREAM_HOLDS. */
int outputs_holds(const char *spec);

/* Allocates *outputs, with no output in it; the caller closes it with outputs_close. The strings and the log of params
 * must outlive it. Returns 0, or -1 with err. */
int outputs_open(struct outputs **outputs, const struct outputs_params *params, struct error *err);
/* Adds an output that begins with the next picture. spec (a path or URL) is copied; the caller has checked with
 * sink_check that it may be written. *number identifies the output for outputs_end; number may be NULL. Returns 0, or
 * -1 with err: there are OUTPUTS_MAX already, spec is too long, or no thread can be started. */
int outputs_add(struct outputs *outputs, const char *spec, int *number, struct error *err);
/* Gives all outputs the picture that is shown at shown_ns; never waits. Each output keeps a reference to the picture's
 * frame, which is not copied. */
void outputs_show(struct outputs *outputs, const struct covered *shown, int64_t shown_ns);
/* Tells an output to end, and does not wait for it. A recording ends after the pictures in its queue are written. */
void outputs_end(struct outputs *outputs, int number);
/* Returns true if outputs_follow has not removed the output with this number yet. */
bool outputs_has(const struct outputs *outputs, int number);
/* Removes outputs that have ended, and looks for messages to the user, such as that a receiver is gone or back. The
 * window's thread calls this in each pass of its loop. Returns true if an output has a message, with the text in `line`
 * and its log level in *level; it was logged already. Messages of other outputs follow in later calls. */
bool outputs_follow(struct outputs *outputs, char *line, size_t size, enum log_level *level);
/* Fills *figures with the numbers of all outputs together; `dropped` and `broken` include outputs that have ended. */
void outputs_get_figures(struct outputs *outputs, struct outputs_figures *figures);
/* Ends all outputs, waits until their files are complete, and prints a line for each output to `out` (NULL: no
 * lines). Returns 0, or -1 with err if any recording since outputs_open is incomplete. *outputs becomes NULL; does
 * nothing if it is NULL. */
int outputs_close(struct outputs **outputs, FILE *out, struct error *err);

#endif
