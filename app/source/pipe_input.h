/* Opens standard input, other descriptors and named pipes for FFmpeg. FFmpeg's own pipe reader blocks without calls of
 * its interrupt callback until the writer sends something; this one calls it ten times a second. */
#ifndef APP_SOURCE_PIPE_INPUT_H
#define APP_SOURCE_PIPE_INPUT_H

#include <stdbool.h>

#include <libavformat/avio.h>

#include "unet/base/error.h"
#include "unet/base/log.h"

struct pipe_input;

/* Returns the file descriptor that `spec` names ("-", "pipe:" or "pipe:N"); -1: `spec` names no descriptor. */
int pipe_input_descriptor(const char *spec);
/* True if `spec` is the path of a named pipe, or "-", "pipe:" or "pipe:N", whatever kind of file the descriptor is. */
bool pipe_input_is(const char *spec);
/* Opens a pipe without waiting for a writer. `interrupt` is copied; `spec` and `log` must outlive the pipe. If the
 * first byte is late, a line in `log` says that the program waits for a writer; `log` NULL: nothing is logged. Returns
 * 0, or -1 with err. */
int pipe_input_open(struct pipe_input **pipe, const char *spec, const AVIOInterruptCB *interrupt, const struct log *log,
                    struct error *err);
/* Returns the context for AVFormatContext.pb. The pipe owns it, and must outlive the format context. */
AVIOContext *pipe_input_io(struct pipe_input *pipe);
void pipe_input_close(struct pipe_input **pipe); /* closes the pipe; *pipe becomes NULL; does nothing if it is NULL */

#endif
