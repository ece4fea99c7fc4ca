#include "app/source/fallback.h"

#include <stdlib.h>

#include "app/flow/errand.h"
#include "app/source/playlist.h"

struct fallback {
  const char *file;
  struct source_options options;
  struct source_info info;
  struct mixer *mixer;
  struct reader *reader; /* reads the file while it is shown; NULL: it is not */
  int64_t lost_ns;       /* when the source was first seen to be lost; 0: it is not lost */
  struct errand ending;  /* stops `former`, which may take as long as a read */
  struct reader *former; /* a reader that is being stopped; only the errand uses it while that runs */
  bool failed;           /* true: no reader could be started since the source is lost, and a line said so */
};

int fallback_open(struct fallback **out, const char *file, const struct source_options *options, struct mixer *mixer,
                  struct error *err) {
  struct fallback *fallback = calloc(1, sizeof *fallback);
  struct source *source = NULL;
  if (!fallback)
    return error_set(err, STATUS_FAILED, "no memory for --fallback");
  fallback->file = file;
  fallback->mixer = mixer;
  fallback->options = *options;
  playlist_narrow(&(struct playlist_entry){.plain = true}, &fallback->options);
  fallback->options.loop = true;
  fallback->options.tap = NULL; /* recordings and modulations have the sound of the list's sources alone */
  if (source_open(&source, file, &fallback->options, err)) {
    free(fallback);
    return -1;
  }
  source_get_info(source, &fallback->info);
  source_close(&source);
  *out = fallback;
  return 0;
}

static void begin(struct fallback *fallback) {
  struct source *none = NULL;
  struct error err;
  if (reader_start_mixed(&fallback->reader, &none, fallback->file, &fallback->options, true, fallback->mixer,
                         MIXER_STAND_IN, &err)) {
    log_line(fallback->options.log, LOG_WARNING, "--fallback: %s", err.message);
    fallback->failed = true;
    return;
  }
}

static void stop(void *opaque) {
  struct fallback *fallback = opaque;
  reader_stop(&fallback->former, NULL);
}

/* Ends the reader on a thread of its own. If none can be started, waits for the reader's end. */
static void end(struct fallback *fallback) {
  struct error ignored;
  fallback->former = fallback->reader;
  fallback->reader = NULL;
  reader_end(fallback->former);
  if (errand_start(&fallback->ending, stop, fallback, "ends the fallback", &ignored))
    stop(fallback);
}

void fallback_turn(struct fallback *fallback, const struct reader_status *status, double after_s, int64_t now_ns) {
  if (errand_is_done(&fallback->ending))
    errand_join(&fallback->ending);
  if (!status->lost) {
    fallback->lost_ns = 0;
    fallback->failed = false;
  } else if (!fallback->lost_ns) {
    fallback->lost_ns = now_ns;
  }
  bool wanted = status->lost && (double)(now_ns - fallback->lost_ns) >= after_s * 1e9;
  if (wanted && !fallback->reader && !fallback->failed && !fallback->ending.busy)
    begin(fallback);
  if (wanted && fallback->reader) /* each time, as the source may have given a frame between two calls */
    mixer_stand_in(fallback->mixer);
  else if (!status->lost && fallback->reader && !fallback->ending.busy)
    end(fallback);
}

bool fallback_is_shown(const struct fallback *fallback) {
  return fallback && fallback->reader;
}

void fallback_pause(struct fallback *fallback, bool paused) {
  if (fallback && fallback->reader)
    reader_pause(fallback->reader, paused);
}

void fallback_get_info(const struct fallback *fallback, struct source_info *info) {
  *info = fallback->info;
}

void fallback_close(struct fallback **pointer) {
  struct fallback *fallback = *pointer;
  if (!fallback)
    return;
  errand_join(&fallback->ending);
  reader_stop(&fallback->reader, NULL);
  free(fallback);
  *pointer = NULL;
}
