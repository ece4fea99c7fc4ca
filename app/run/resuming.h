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
  /* true: this render continues an earlier render's unfinished file, whose pictures can be kept; false: it begins from
   * the start */
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

/* If options->resume is set, looks for an earlier render's unfinished file that no process uses, and locks it until
 * resuming_free. Changes `cut` and `source` (from cut_choose), so that frames in its complete segments (pictures that
 * can be decoded without the others) are left out. A file without a complete segment is deleted. Returns 0, or -1 with
 * err. If the file comes from a render with other options, input or program, this is an error, and no file is
 * changed. */
int resuming_find(struct resuming *resuming, struct cut *cut, const struct options *options,
                  struct source_options *source, struct error *err);
/* Logs that the render continues the unfinished file. Called when this is certain: after the sink has found that its
 * encoder and device are those of the earlier render. Does nothing if goes_on is false. */
void resuming_tell(const struct resuming *resuming, const struct log *log);
/* Sets the options with which the sink copies the pictures of the unfinished file. source: the options with which the
 * frames' source is opened. Does nothing if goes_on is false. */
void resuming_tell_sink(struct resuming *resuming, struct sink_options *sink, const struct cut *cut,
                        const struct source_options *source);
/* Makes the output from the unfinished file's pictures and the input's sound, without the engine. Only allowed if
 * nothing_left is true. cut: as resuming_find has left it. source: the options for opening the frames' source. replace:
 * true: an existing output may be replaced. *pictures gets the output's number of pictures; 0: there is no output.
 * Returns 0, or -1 with err, also if the output lacks a side track. */
int resuming_complete(struct resuming *resuming, const struct options *options, bool replace, const struct cut *cut,
                      const struct source_options *source, long *pictures, struct error *err);
/* Returns the end of the message about an interruption: that --resume continues the render. It is "" if the render
 * cannot be continued. */
const char *resuming_advice(const struct resuming *resuming, const struct options *options,
                            const struct source_options *source);
void resuming_free(struct resuming *resuming);

#endif
