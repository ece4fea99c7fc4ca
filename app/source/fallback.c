#include "app/source/fallback.h"

#include <stdlib.h>

#include "app/source/playlist.h"
#include "app/source/extra_reader.h"

struct fallback {
  const char *file;
  struct source_options options;
  struct source_info info;
  struct mixer *mixer;
  struct extra_reader extra; /* reader of the file that is shown in place of a lost source */
  int64_t lost_ns;           /* when the source was first seen to be lost; 0: it is not lost */
  bool failed;               /* true: no reader could be started since the source was lost, and a log line said so */
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
  fallback->options.tap = NULL; /* the sound of this file is not kept: recordings and modulations use only the sound of
                                 * the sources in the list */
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
  if (extra_reader_start(&fallback->extra, &none, fallback->file, &fallback->options, fallback->mixer, MIXER_STAND_IN,
                         &err)) {
    log_line(fallback->options.log, LOG_WARNING, "--fallback: %s", err.message);
    fallback->failed = true;
    return;
  }
}

void fallback_turn(struct fallback *fallback, const struct reader_status *status, double after_s, int64_t now_ns) {
  if (!status->lost) {
    fallback->lost_ns = 0;
    fallback->failed = false;
  } else if (!fallback->lost_ns) {
    fallback->lost_ns = now_ns;
  }
  bool wanted = status->lost && (double)(now_ns - fallback->lost_ns) >= after_s * 1e9;
  if (wanted && !fallback->failed && extra_reader_is_free(&fallback->extra))
    begin(fallback);
  /* mixer_stand_in must be called in every turn, because its effect ends when a frame of the source comes */
  if (wanted && fallback->extra.reader)
    mixer_stand_in(fallback->mixer);
  else if (!status->lost)
    extra_reader_end(&fallback->extra);
}

bool fallback_is_shown(const struct fallback *fallback) {
  struct reader_status status = {.frames = 0};
  if (fallback && fallback->extra.reader)
    reader_get_status(fallback->extra.reader, &status);
  return status.frames > 0;
}

void fallback_pause(struct fallback *fallback, bool paused) {
  if (fallback && fallback->extra.reader)
    reader_pause(fallback->extra.reader, paused);
}

void fallback_get_info(const struct fallback *fallback, struct source_info *info) {
  *info = fallback->info;
}

void fallback_close(struct fallback **pointer) {
  struct fallback *fallback = *pointer;
  if (!fallback)
    return;
  extra_reader_close(&fallback->extra);
  free(fallback);
  *pointer = NULL;
}
