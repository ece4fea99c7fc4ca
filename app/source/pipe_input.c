#include "app/source/pipe_input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libavutil/error.h>
#include <libavutil/mem.h>

#include "app/source/ffmpeg_util.h"
#include "app/source/protocols.h"

enum { BUFFER_BYTES = 65536, LOOK_UP_MS = 100 };

struct pipe_input {
  AVIOContext *io;
  AVIOInterruptCB interrupt;
  int fd;
  bool owned; /* fd was opened here */
};

int pipe_input_descriptor(const char *spec) {
  char *end;
  if (!strcmp(spec, "-") || !strcmp(spec, "pipe:"))
    return STDIN_FILENO;
  if (strncmp(spec, "pipe:", 5))
    return -1;
  long fd = strtol(spec + 5, &end, 10);
  return *end || fd < 0 || fd > INT_MAX ? -1 : (int)fd;
}

bool pipe_input_is(const char *spec) {
  struct stat file;
  return pipe_input_descriptor(spec) >= 0 || (!stat(file_path(spec), &file) && S_ISFIFO(file.st_mode));
}

static int read_packet(void *opaque, uint8_t *bytes, int size) {
  struct pipe_input *pipe = opaque;
  for (;;) {
    struct pollfd readable = {.fd = pipe->fd, .events = POLLIN};
    if (pipe->interrupt.callback && pipe->interrupt.callback(pipe->interrupt.opaque))
      return AVERROR_EXIT;
    if (poll(&readable, 1, LOOK_UP_MS) <= 0)
      continue;
    ssize_t got = read(pipe->fd, bytes, (size_t)size);
    if (got > 0)
      return (int)got;
    if (got == 0)
      return AVERROR_EOF;
    if (errno != EAGAIN && errno != EINTR)
      return AVERROR(errno);
  }
}

int pipe_input_open(struct pipe_input **out, const char *spec, const AVIOInterruptCB *interrupt, struct error *err) {
  struct pipe_input *pipe = calloc(1, sizeof *pipe);
  uint8_t *buffer = av_malloc(BUFFER_BYTES);
  *out = NULL;
  if (!pipe || !buffer) {
    error_set(err, STATUS_FAILED, "no memory to read %s", spec);
    goto fail;
  }
  pipe->fd = -1;
  pipe->interrupt = *interrupt;
  pipe->owned = pipe_input_descriptor(spec) < 0;
  /* Without O_NONBLOCK opening alone waits for a writer. */
  pipe->fd = pipe->owned ? open(file_path(spec), O_RDONLY | O_NONBLOCK | O_CLOEXEC) : pipe_input_descriptor(spec);
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
    close(pipe->fd);
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
  av_freep(&pipe->io->buffer); /* FFmpeg may have replaced the one it was given */
  avio_context_free(&pipe->io);
  if (pipe->owned)
    close(pipe->fd);
  free(pipe);
  *pointer = NULL;
}
