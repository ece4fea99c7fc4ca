/* Opens standard input, other descriptors and named pipes for FFmpeg. FFmpeg's own reading would block until the writer
 * sends something, without calling its interrupt callback; this calls it ten times a second. */
#ifndef APP_SOURCE_PIPE_INPUT_H
#define APP_SOURCE_PIPE_INPUT_H

#include <stdbool.h>

#include <libavformat/avio.h>

#include "unet/base/error.h"
#include "unet/base/log.h"

struct pipe_input;

/* Returns the file descriptor that spec names ("-", "pipe:" or "pipe:N"); -1: it names none. */
int pipe_input_descriptor(const char *spec);
/* True if spec is "-", "pipe:" or "pipe:N", whatever the descriptor is, or the path of a named pipe. */
bool pipe_input_is(const char *spec);
/* Opens a pipe without waiting for a writer. interrupt is copied; spec and log must outlive the pipe. If reading waits
 * for the first byte, a line in log says so; log NULL: none. Returns 0, or -1 with err. */
int pipe_input_open(struct pipe_input **pipe, const char *spec, const AVIOInterruptCB *interrupt, const struct log *log,
                    struct error *err);
/* Returns the context for AVFormatContext.pb. The pipe owns it, and must outlive the format context. */
AVIOContext *pipe_input_io(struct pipe_input *pipe);
void pipe_input_close(struct pipe_input **pipe); /* stores NULL; accepts NULL */

#endif
