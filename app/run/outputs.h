/* Where pictures go beside the window: recordings, streams, a virtual camera. Each output has a thread and a bounded
 * queue of its own, so that none slows the window or another one.
 *
 * A recording has exactly the pictures shown, each with the time it was shown at; what comes faster than it is written
 * is dropped and counted. When it fails it ends, and what was written is kept. A stream (a URL, a pipe, a virtual
 * camera) has a constant rate: the newest picture of each moment, the last one again where none came. When its
 * receiver is gone it is tried again, with growing pauses. The size of the first picture is the size of all: readers
 * of files and streams know one.
 *
 * All functions are the window's thread's. */
#ifndef APP_RUN_OUTPUTS_H
#define APP_RUN_OUTPUTS_H

#include <stdio.h>

#include "app/control/cover_pixels.h"
#include "app/sink/sink.h"

enum {
  OUTPUTS_MAX = 8,
  OUTPUT_QUEUE = 6,
  /* RGBA pictures that an output holds at most, which its sink copies: those in the queue, and the one written last. */
  OUTPUT_RECORDING_HOLDS = OUTPUT_QUEUE + 1,
  OUTPUT_STREAM_HOLDS = 2,
};

enum { OUTPUT_WHY_MAX = 160 };

enum output_kind { OUTPUT_RECORDING, OUTPUT_STREAM };

struct outputs_params {
  double fps;            /* of streams; 0: 30 */
  struct sound_tap *tap; /* what recordings have for sound; NULL: none */
  bool tap_by_clock;     /* it is a microphone's, whose positions are those of platform_now_ns */
  const char *codec;     /* as sink_options'; NULL: chosen. Not for cameras, which take raw pictures */
  double quality;        /* likewise; negative: the usual one */
  int retry_ms;          /* the first pause before a stream is tried again, which doubles 32-fold; 0: 250 */
  const struct log *log; /* called by all threads, and lasts; NULL: none */
};

struct outputs_figures {
  int recordings, streams;     /* under way */
  int failing;                 /* streams whose receiver is gone */
  double seconds;              /* of the recording begun last */
  char broken[OUTPUT_WHY_MAX]; /* why a recording ended that is not complete, until another one begins; "": none */
  long dropped;                /* pictures that recordings lack, those that have ended too */
};

struct outputs;

/* A recording for a file, a stream for what is read while it is written. format: as sink_options' container. */
enum output_kind output_kind_of(const char *spec, const char *format);
/* OUTPUT_RECORDING_HOLDS or OUTPUT_STREAM_HOLDS. */
int outputs_holds(const char *spec);

int outputs_open(struct outputs **outputs, const struct outputs_params *params, struct error *err);
/* Begins another one with the next picture. spec is copied. Whether it may be written to was asked before
 * (sink_check). -1: there are OUTPUTS_MAX already, or there can be no thread. *number (may be NULL): for outputs_end.
 */
int outputs_add(struct outputs *outputs, const char *spec, int *number, struct error *err);
/* What is shown at that moment; never waits. A picture that is held is counted once for all outputs. */
void outputs_show(struct outputs *outputs, const struct covered *shown, int64_t shown_ns);
/* Lets one end, and does not wait for it. */
void outputs_end(struct outputs *outputs, int number);
/* Whether it is still under way. */
bool outputs_has(const struct outputs *outputs, int number);
/* Ends what has failed or is through, to be called now and then. true: line says what became of one, or that a
 * receiver is gone or back; the log has it, too, at this level. */
bool outputs_follow(struct outputs *outputs, char *line, size_t size, enum log_level *level);
void outputs_get_figures(struct outputs *outputs, struct outputs_figures *figures);
/* Ends all and waits until they are complete; a line each goes to `out` (NULL: none). -1: a recording, of whichever
 * moment, is not complete. Stores NULL; takes NULL. */
int outputs_close(struct outputs **outputs, FILE *out, struct error *err);

#endif
