/* What OUT names, in FFmpeg's words: a file, standard output or a URL, and the container it gets. */
#ifndef APP_SINK_TARGET_H
#define APP_SINK_TARGET_H

#include <stdbool.h>

#include <libavformat/avformat.h>

#include "unet/base/error.h"

struct target {
  const char *url;  /* for FFmpeg */
  const char *name; /* for the user */
  const AVOutputFormat *container;
  bool stream; /* read while it is written, and nothing in it can be changed afterwards */
  bool live;   /* likewise, and the receiver shows pictures as they come, and nothing slows the sender down */
};

/* Whether spec is "-", or one of FFmpeg's names for the same. */
bool target_is_standard_output(const char *spec);
/* Whether spec is a device of Video4Linux. */
bool target_is_camera(const char *spec);
/* Whether spec is the path of a named pipe. */
bool target_is_named_pipe(const char *spec);
/* spec, or what to call standard output. */
const char *target_name(const char *spec);

/* format: an FFmpeg muxer or the extension of its files; NULL: what the URL's scheme is made for, what spec's extension
 * says, or for standard output Matroska, which players and FFmpeg alike read from a pipe and which takes every codec. A
 * container without video is refused. target's strings are spec itself or constants. */
int target_choose(struct target *target, const char *spec, const char *format, struct error *err);

#endif
