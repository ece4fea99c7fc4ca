/* Standard input, other open descriptors and named pipes as FFmpeg input. FFmpeg's own reading of them blocks until the
 * writer says something, whatever its interrupt callback thinks; this asks it ten times a second. */
#ifndef APP_SOURCE_PIPE_INPUT_H
#define APP_SOURCE_PIPE_INPUT_H

#include <stdbool.h>

#include <libavformat/avio.h>

#include "unet/base/error.h"
#include "unet/base/log.h"

struct pipe_input;

/* The descriptor that spec names, -1: none. */
int pipe_input_descriptor(const char *spec);
/* Whether spec is one: "-", "pipe:" or "pipe:N", whatever stands behind the descriptor, or the path of a named pipe. */
bool pipe_input_is(const char *spec);
/* interrupt is copied; spec and log must last. Does not wait for a writer. Where reading waits for the first byte a
 * line says so; log NULL: none does. */
int pipe_input_open(struct pipe_input **pipe, const char *spec, const AVIOInterruptCB *interrupt, const struct log *log,
                    struct error *err);
/* For AVFormatContext.pb; belongs to the pipe, which must outlive the format context. */
AVIOContext *pipe_input_io(struct pipe_input *pipe);
void pipe_input_close(struct pipe_input **pipe); /* stores NULL; takes NULL */

#endif
