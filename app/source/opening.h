/* Opens a source on a thread of its own, which can be interrupted. The owner's thread calls all functions. */
#ifndef APP_SOURCE_OPENING_H
#define APP_SOURCE_OPENING_H

#include <stdatomic.h>

#include "app/flow/errand.h"
#include "app/source/source.h"

/* A source that is to be read, and the time from which on it is read. */
struct source_request {
  int index;    /* index of the source in the list; -1: none */
  double at_s;  /* time in the source, in seconds, from which on it is read (source_options.resume) */
  bool seeks;   /* true: the source is the current one, opened again to go to another time in it */
  bool repeats; /* true: the current source is opened again only because it has ended and is to be repeated; `seeks` is
                 * true, too */
};

/* A source that is being opened, or is open and waits to be read. While `errand` is busy, its thread uses the struct,
 * except for `request` and `cancelled`. Initialise with zeros and request.index -1. */
struct opening {
  struct errand errand;
  struct source_request request; /* the source that is being opened, and the position in it; index -1: none */
  const char *name;              /* name of the source; belongs to the caller of opening_start */
  struct source_options options; /* options for reading the source; `cancel` is NULL when the errand has ended */
  /* source: the opened source; NULL after an error. former: a source that was opened earlier and is not needed.
   * taken_back: an unneeded source that the reader has returned (reader_withdraw). The thread that opens sources closes
   * these two. */
  struct source *source, *former, *taken_back;
  int code; /* what source_open returned; also -1 if the first frame could not be read */
  struct error err;
  /* Flag that interrupts the opening (source_options.cancel). Each opening has one of its own, because the opened
   * source looks at it as long as it exists. NULL: nothing is being opened. */
  atomic_bool *cancel;
  bool cancelled; /* true: opening_cancel was called for the present opening */
};

/* Starts the thread that opens a source; only allowed if none is being opened. A source that was opened earlier and is
 * still in `opening` is closed by that thread, because closing may take longer than a frame. options->cancel is
 * ignored. Returns 0, or -1 with err; request.index is then -1. */
int opening_start(struct opening *opening, const struct source_request *request, const char *name,
                  const struct source_options *options, struct error *err);
/* Interrupts the opening, which ends soon and has no result. Does nothing if no source is being opened. */
void opening_cancel(struct opening *opening);
/* True once, when the opening has ended: opening->source is open, or opening->code and opening->err tell why not. An
 * opening that was cancelled is only cleared away: request.index becomes -1, and the function returns false. */
bool opening_has_ended(struct opening *opening);
/* Waits until no source is being opened, and closes all sources in `opening`; request.index becomes -1. */
void opening_drop(struct opening *opening);

#endif
