/* A second reader beside the one for the list of sources. It reads the file that is shown while a source is lost, or
 * the previous source while the next one fades in. A read may take long, so a background thread waits for the reader's
 * end. One thread at a time calls these functions. */
#ifndef APP_SOURCE_EXTRA_READER_H
#define APP_SOURCE_EXTRA_READER_H

#include "app/flow/errand.h"
#include "app/source/mixer.h"
#include "app/source/source.h"

struct reader;

/* Zero-initialise to start. The struct must not be moved while its field `ending` is busy. */
struct extra_reader {
  struct reader *reader; /* the reader that is at work; NULL: there is none */
  struct errand ending;  /* errand (work on a thread of its own) that stops the reader `former` */
  struct reader *former; /* a reader that is being stopped; only the thread of `ending` uses it, until it has stopped */
};

/* Starts a thread that reads frames from the source and gives them to input number `input` of the mixer. *source: the
 * open source; NULL: the thread opens `spec` itself. Only allowed while extra_reader_is_free returns true. Returns 0,
 * or -1 with err. */
int extra_reader_start(struct extra_reader *extra, struct source **source, const char *spec,
                       const struct source_options *options, struct mixer *mixer, enum mixer_input input,
                       struct error *err);
/* True if extra_reader_start may be called: there is no reader, and the previous reader has stopped. */
bool extra_reader_is_free(struct extra_reader *extra);
/* Begins to stop the thread that reads, and does not wait for its end; does nothing if there is no reader. */
void extra_reader_end(struct extra_reader *extra);
/* Ends the reader and waits for its end. If an earlier extra_reader_end has begun to stop a reader, waits for the end
 * of that reader as well. */
void extra_reader_close(struct extra_reader *extra);

#endif
