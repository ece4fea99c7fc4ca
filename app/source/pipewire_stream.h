/* A stream to or from PipeWire (the server through which desktop programs share video), with the thread that serves it.
 * source_pipewire.c reads frames from such a stream; app/sink/sink_pipewire.c offers pictures through one. PipeWire
 * calls event functions on the loop's thread, which holds the loop's lock. Other threads hold the lock
 * (pw_thread_loop_lock) while they use the stream. */
#ifndef APP_SOURCE_PIPEWIRE_STREAM_H
#define APP_SOURCE_PIPEWIRE_STREAM_H

#include <pipewire/pipewire.h>
#include <spa/param/video/format-utils.h>

#include "unet/base/error.h"

/* A zeroed struct is a stream that is not open. The struct must not be moved while the stream is open. */
struct pipewire_stream {
  struct pw_thread_loop *loop;
  struct pw_stream *stream;
  struct spa_hook listener;
  char failure[160]; /* why the stream has failed; "": it has not; protected by the lock */
};

/* Starts the loop's thread and makes a stream, which the caller connects with pipewire_stream_connect. name: the
 * stream's name for people. properties: belong to the stream from now on, also after a failure; NULL: none. data:
 * argument of the events' functions; it and the events must outlive the stream. After a failure the struct is zeroed.
 * Returns 0, or -1 with err, whose status is `status`. */
int pipewire_stream_open(struct pipewire_stream *stream, const char *name, struct pw_properties *properties,
                         const struct pw_stream_events *events, void *data, enum status status, struct error *err);
/* Connects the stream, which offers or accepts the format `format`. Returns 0, or -1 with err, whose status is
 * `status`. */
int pipewire_stream_connect(struct pipewire_stream *stream, enum spa_direction direction, enum pw_stream_flags flags,
                            const struct spa_pod *format, enum status status, struct error *err);
/* For the event state_changed: stores why the stream has failed. */
void pipewire_stream_note(struct pipewire_stream *stream, enum pw_stream_state state, const char *message);
/* Waits with the lock held until the loop's thread has signalled, at most `ms` milliseconds. */
void pipewire_stream_wait(struct pipewire_stream *stream, int ms);
/* Ends the thread and frees the stream; does nothing if it is not open. */
void pipewire_stream_close(struct pipewire_stream *stream);

#endif
