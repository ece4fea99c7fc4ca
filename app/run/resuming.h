/* Continues a render that was interrupted or killed (--resume), from the unfinished file that it left
 * (app/sink/part.h). */
#ifndef APP_RUN_RESUMING_H
#define APP_RUN_RESUMING_H

#include "app/job/manifest.h"
#include "app/options/options.h"
#include "app/run/cut.h"
#include "app/sink/part.h"
#include "app/sink/sink.h"

/* A render that continues an unfinished file, if there is one. Zero-initialise to start. */
struct resuming {
  /* set by the caller: path or address of the output; and its container, the name of an FFmpeg muxer or a file
   * extension, NULL: it follows from the output's name */
  const char *output, *container;
  /* true: an unfinished file of an earlier render with pictures that can be kept was found, and this render continues
   * it; false: it begins from the start */
  bool goes_on;
  /* true: the unfinished file contains all pictures of the render, so that only the file must be completed */
  bool nothing_left;
  struct part_left left;
  struct part_claim claim;
  struct job_record record;
  struct sink_kept kept;
  int64_t pictures; /* number of pictures of the unfinished file that this render keeps */
  struct source_options sound_options;
};

/* If options->resume is set, looks for the unfinished file of an earlier render that no process writes or continues,
 * and locks it until resuming_free. Changes `cut` and `source`, which cut_choose has set, so that the frames in the
 * file's complete segments (pictures that can be decoded without the others) are left out. An unfinished file without a
 * complete segment is deleted. Returns 0; or -1 with err, also if the file comes from a render with other options,
 * input or program; then no file was changed. */
int resuming_find(struct resuming *resuming, struct cut *cut, const struct options *options,
                  struct source_options *source, struct error *err);
/* Logs that the render continues the unfinished file. Called when nothing can prevent that any more: after the sink has
 * found that its encoder and device are those of the earlier render. Does nothing if the field goes_on is false. */
void resuming_tell(const struct resuming *resuming, const struct log *log);
/* Sets the sink's options by which the sink takes over the pictures of the unfinished file. source: the options with
 * which the frames' source is opened. Does nothing if goes_on is false. */
void resuming_tell_sink(struct resuming *resuming, struct sink_options *sink, const struct cut *cut,
                        const struct source_options *source);
/* Makes the output from the unfinished file's pictures and the input's sound, without the engine. May be called only if
 * nothing_left is true. cut: as resuming_find has left it. source: the options with which the frames' source would be
 * opened. replace: true: an existing output may be replaced. *pictures becomes the number of pictures in the output; 0:
 * there is no output. Returns 0, or -1 with err, also if there is an output without one of its side tracks. */
int resuming_complete(struct resuming *resuming, const struct options *options, bool replace, const struct cut *cut,
                      const struct source_options *source, long *pictures, struct error *err);
/* Returns the end of the message about an interruption: that --resume continues the render. It is "" if the render
 * cannot be continued. */
const char *resuming_advice(const struct resuming *resuming, const struct options *options,
                            const struct source_options *source);
void resuming_free(struct resuming *resuming);

#endif
