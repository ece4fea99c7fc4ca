/* A file that is shown while a camera or stream is lost. Its own reader gives its frames to the mixer, while the
 * camera's reader tries to open the camera again. One thread calls all of these functions; only fallback_open and
 * fallback_close wait for the file. */
#ifndef APP_SOURCE_FALLBACK_H
#define APP_SOURCE_FALLBACK_H

#include "app/source/reader.h"

struct fallback;

/* Opens the file once, to test that it can be shown, and closes it again. `file`, `mixer`, and what `options` points to
 * must outlive the fallback. Options for the command line's sources only (playlist_narrow) are left out. Returns 0, or
 * -1 with err. */
int fallback_open(struct fallback **fallback, const char *file, const struct source_options *options,
                  struct mixer *mixer, struct error *err);
/* Begins to show the file when the source has been lost for after_s seconds at time now_ns (platform_now_ns), and stops
 * showing it when the source is back. status: state of the source's reader. Called in each pass of the main loop. */
void fallback_turn(struct fallback *fallback, const struct reader_status *status, double after_s, int64_t now_ns);
/* True while the fallback's file is shown in place of a lost source: the file is being read, and has given a picture.
 * fallback may be NULL. */
bool fallback_is_shown(const struct fallback *fallback);
/* Pauses the file that is shown while the source is lost, or ends its pause. Does nothing if fallback is NULL. */
void fallback_pause(struct fallback *fallback, bool paused);
/* Copies the description (size, rate and so on) of the file that is shown while the source is lost, as it was when
 * fallback_open tested the file. */
void fallback_get_info(const struct fallback *fallback, struct source_info *info);
/* Ends reading of the file, waits until reading has ended, and frees the fallback. *fallback becomes NULL; does nothing
 * if it is NULL. */
void fallback_close(struct fallback **fallback);

#endif
