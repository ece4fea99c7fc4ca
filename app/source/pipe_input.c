#include "app/source/pipe_input.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/error.h>
#include <libavutil/mem.h>

#include "app/platform/app_platform.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/protocols.h"

/* CHECK_MS: milliseconds between two checks of the pipe for data. CHECKS_UNTIL_TOLD: after this many checks without
 * data, a log line says that the program waits for a writer. */
enum { BUFFER_BYTES = 65536, CHECK_MS = 100, CHECKS_UNTIL_TOLD = 10 };

struct pipe_input {
  AVIOContext *io;
  AVIOInterruptCB interrupt;
  const char *spec;
  const struct log *log; /* log for the message that the program waits for a writer; NULL: nothing is logged */
  int empty_checks;      /* number of checks before the first data that found no data */
  int fd;
  bool owned; /* true: pipe_input_open opened `fd`, and pipe_input_close closes it */
};

int pipe_input_descriptor(const char *spec) {
  char *end;
  if (!strcmp(spec, "-") || !strcmp(spec, "pipe:"))
    return STANDARD_INPUT;
  if (strncmp(spec, "pipe:", 5))
    return -1;
  long fd = strtol(spec + 5, &end, 10);
  return *end || fd < 0 || fd > INT_MAX ? -1 : (int)fd;
}

bool pipe_input_is(const char *spec) {
  struct platform_entry file;
  return pipe_input_descriptor(spec) >= 0 || (!platform_look(&file, file_path(spec)) && file.kind == ENTRY_PIPE);
}

static int read_packet(void *opaque, uint8_t *bytes, int size) {
  struct pipe_input *pipe = opaque;
  for (;;) {
    if (pipe->interrupt.callback && pipe->interrupt.callback(pipe->interrupt.opaque))
      return AVERROR_EXIT;
    int64_t got = platform_read_pipe(pipe->fd, bytes, (size_t)size, CHECK_MS);
    if (got > 0) {
      pipe->log = NULL;
      return (int)got;
    }
    if (got == 0)
      return AVERROR_EOF;
    if (errno != EAGAIN)
      return AVERROR(errno);
    if (++pipe->empty_checks == CHECKS_UNTIL_TOLD)
      log_line(pipe->log, LOG_WARNING, "%s: waiting for it to be written", pipe->spec);
  }
}

int pipe_input_open(struct pipe_input **out, const char *spec, const AVIOInterruptCB *interrupt, const struct log *log,
                    struct error *err) {
  struct pipe_input *pipe = calloc(1, sizeof *pipe);
  uint8_t *buffer = av_malloc(BUFFER_BYTES);
  *out = NULL;
  if (!pipe || !buffer) {
    error_set(err, STATUS_FAILED, "no memory to read %s", spec);
    goto fail;
  }
  pipe->fd = -1;
  pipe->spec = spec;
  pipe->log = log;
  pipe->interrupt = *interrupt;
  pipe->owned = pipe_input_descriptor(spec) < 0;
  pipe->fd = pipe->owned ? platform_open_pipe(file_path(spec)) : pipe_input_descriptor(spec);
  if (pipe->fd < 0) {
    error_set(err, STATUS_INPUT, "%s: cannot be opened: %s", spec, strerror(errno));
    goto fail;
  }
  pipe->io = avio_alloc_context(buffer, BUFFER_BYTES, 0, pipe, read_packet, NULL, NULL);
  if (!pipe->io) {
    error_set(err, STATUS_FAILED, "no memory to read %s", spec);
    goto fail;
  }
  *out = pipe;
  return 0;
fail:
  av_free(buffer);
  if (pipe && pipe->owned && pipe->fd >= 0)
    platform_close_descriptor(pipe->fd);
  free(pipe);
  return -1;
}

AVIOContext *pipe_input_io(struct pipe_input *pipe) {
  return pipe->io;
}

void pipe_input_close(struct pipe_input **pointer) {
  struct pipe_input *pipe = *pointer;
  if (!pipe)
    return;
  av_freep(&pipe->io->buffer); /* the buffer is taken from `io`, because FFmpeg may have replaced the one that was given
                                * to avio_alloc_context */
  avio_context_free(&pipe->io);
  if (pipe->owned)
    platform_close_descriptor(pipe->fd);
  free(pipe);
  *pointer = NULL;
}
