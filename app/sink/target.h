/* Translates the output that a user names (a file, standard output or a URL) into FFmpeg's words, and chooses its
 * container. */
#ifndef APP_SINK_TARGET_H
#define APP_SINK_TARGET_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/error.h"

struct target {
  const char *url;  /* the output's name in the form that FFmpeg understands */
  const char *name; /* the output's name in messages */
  const AVOutputFormat *container;
  /* true: the output is read while it is written (a pipe, a network), so that written data cannot be changed
   * afterwards */
  bool stream;
  /* true: the output is a stream whose receiver shows pictures as they come, and does not slow the sender down */
  bool live;
};

/* True if spec is "-" or one of FFmpeg's names of standard output. */
bool target_is_standard_output(const char *spec);
/* True if spec is a virtual camera, which takes uncompressed pictures: the path of a Video4Linux device, or a node of
 * PipeWire. */
bool target_is_camera(const char *spec);
/* True if spec is the path of a named pipe. */
bool target_is_named_pipe(const char *spec);
/* Returns the output's name in messages: "standard output" if spec means that, else spec. */
const char *target_name(const char *spec);

/* Fills target. format: an FFmpeg muxer or a file extension; NULL: the container is chosen by the URL's scheme or
 * spec's extension. Standard output, and a named pipe whose extension names no container, get Matroska, which players
 * and FFmpeg can read from a pipe and which takes every codec. Returns 0, or -1 with err, also for a container that
 * holds no video. target's strings are spec itself or constants. */
int target_choose(struct target *target, const char *spec, const char *format, struct error *err);
/* True if the output is a sequence of picture files, whose names have their numbers. */
bool target_is_sequence(const struct target *target);

#endif
