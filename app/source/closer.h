/* Closes files on threads of their own. A decoder of a GPU can take longer to close than a frame lasts, or even a
 * second while another program starts on one of the machine's GPUs, and the frames of the next source do not wait for
 * that. */
#ifndef APP_SOURCE_CLOSER_H
#define APP_SOURCE_CLOSER_H

#include "app/source/origin.h"

struct closing;

/* Initialise with zeros. One thread at a time calls the functions. */
struct closer {
  struct closing *first; /* list of the files that are being closed */
};

/* Begins to close the source of *origin if it is an open file; *origin is then zeroed. Devices, streams and pipes stay
 * as they are, because they may be opened again at once: the caller closes them (origin_free), and also a file for
 * which no thread can be started, or while four others are being closed. */
void closer_take(struct closer *closer, struct origin *origin);
/* Waits until all files are closed. */
void closer_finish(struct closer *closer);

#endif
