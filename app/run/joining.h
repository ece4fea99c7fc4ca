/* Joins the files of a render's parts (for example shards made on several machines) into one output, by copying the
 * encoded pictures. */
#ifndef APP_RUN_JOINING_H
#define APP_RUN_JOINING_H

#include "app/job/manifest.h"
#include "app/options/options.h"
#include "app/sink/part.h"
#include "app/sink/sink.h"

struct joining {
  /* output: path or address of the output; container: name of an FFmpeg muxer or a file extension, NULL: it follows
   * from the output's name */
  const char *output, *container;
  /* the files to be joined (kept_count of them, at least one), in the order of their pictures */
  const struct sink_kept *kept;
  int kept_count;
  const char *sound; /* input whose sound and metadata are copied; NULL: none */
  /* options with which the input `sound` would be opened to render the whole clip, not only a part */
  const struct source_options *source;
  bool no_sound;
  int sound_track;
  const struct job_part *part; /* the part of the whole render that the output is; NULL: the output is the whole
                                * render */
  bool is_shard;               /* sink_options.is_shard */
  bool replace;                /* true: an existing output may be replaced */
  /* sink_options.left: the unfinished file of an earlier attempt, which the sink replaces; NULL: there is none */
  const struct part_left *left;
  /* called with `opaque` and the number of pictures copied so far, each time some were copied; NULL: not called */
  void (*copied)(void *opaque, long pictures);
  void *opaque;
  const struct log *log;
};

/* Copies the pictures of all parts, and the sound of the input, to the output. Stores the number of pictures. Returns
 * 0, or -1 with err. */
int joining_run(const struct joining *joining, long *pictures, struct error *err);

#endif
