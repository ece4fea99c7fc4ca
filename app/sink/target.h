/* Translates the output that a user names (a file, standard output or a URL) into FFmpeg's words, and chooses its
 * container. */
#ifndef APP_SINK_TARGET_H
#define APP_SINK_TARGET_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/error.h"

struct target {
  const char *url;  /* the output's name as FFmpeg takes it */
  const char *name; /* the output's name in messages */
  const AVOutputFormat *container;
  /* the output is read while it is written (a pipe, a network), so that nothing can be changed afterwards */
  bool stream;
  bool live; /* a stream whose receiver shows pictures as they come, and does not slow the sender down */
};

/* True if spec is "-" or one of FFmpeg's names for standard output. */
bool target_is_standard_output(const char *spec);
/* True if spec is the path of a Video4Linux device. */
bool target_is_camera(const char *spec);
/* True if spec is the path of a named pipe. */
bool target_is_named_pipe(const char *spec);
/* Returns spec, or "standard output" where spec means that: the output's name in messages. */
const char *target_name(const char *spec);

/* Fills target. format: an FFmpeg muxer or a file extension; NULL: the container is chosen by the URL's scheme or
 * spec's extension. Standard output gets Matroska, which players and FFmpeg can read from a pipe and which takes every
 * codec. Returns 0, or -1 with err, also for a container that holds no video. target's strings are spec itself or
 * constants. */
int target_choose(struct target *target, const char *spec, const char *format, struct error *err);

#endif
