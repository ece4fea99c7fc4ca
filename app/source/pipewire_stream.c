#include "app/source/pipewire_stream.h"

#include <stdio.h>
#include <string.h>

int pipewire_stream_open(struct pipewire_stream *stream, const char *name, struct pw_properties *properties,
                         const struct pw_stream_events *events, void *data, enum status status, struct error *err) {
  *stream = (struct pipewire_stream){0};
  pw_init(NULL, NULL);
  pw_log_set_level(SPA_LOG_LEVEL_NONE); /* PipeWire prints nothing itself: the functions of this file report errors */
  stream->loop = pw_thread_loop_new("pipewire", NULL);
  stream->stream =
      stream->loop ? pw_stream_new_simple(pw_thread_loop_get_loop(stream->loop), name, properties, events, data) : NULL;
  if (!stream->loop)
    pw_properties_free(properties);
  if (stream->stream && !pw_thread_loop_start(stream->loop))
    return 0;
  pipewire_stream_close(stream);
  return error_set(err, status, "PipeWire: no stream can be made here");
}

int pipewire_stream_connect(struct pipewire_stream *stream, enum spa_direction direction, enum pw_stream_flags flags,
                            const struct spa_pod *format, enum status status, struct error *err) {
  pw_thread_loop_lock(stream->loop);
  int code = pw_stream_connect(stream->stream, direction, PW_ID_ANY, flags, &format, 1);
  pw_thread_loop_unlock(stream->loop);
  if (code >= 0)
    return 0;
  return error_set(err, status, "PipeWire cannot be reached: %s; `systemctl --user start pipewire` starts it",
                   strerror(-code));
}

void pipewire_stream_note(struct pipewire_stream *stream, enum pw_stream_state state, const char *message) {
  if (state == PW_STREAM_STATE_ERROR)
    snprintf(stream->failure, sizeof stream->failure, "%s", message ? message : "the stream has failed");
  pw_thread_loop_signal(stream->loop, false);
}

void pipewire_stream_wait(struct pipewire_stream *stream, int ms) {
  struct timespec until;
  pw_thread_loop_get_time(stream->loop, &until, (int64_t)ms * 1000000);
  pw_thread_loop_timed_wait_full(stream->loop, &until);
}

void pipewire_stream_close(struct pipewire_stream *stream) {
  if (stream->loop)
    pw_thread_loop_stop(stream->loop);
  if (stream->stream)
    pw_stream_destroy(stream->stream);
  if (stream->loop)
    pw_thread_loop_destroy(stream->loop);
  *stream = (struct pipewire_stream){0};
}
