#include "app/source/extra_reader.h"

#include "app/source/reader.h"

int extra_reader_start(struct extra_reader *extra, struct source **source, const char *spec,
                       const struct source_options *options, struct mixer *mixer, enum mixer_input input,
                       struct error *err) {
  return reader_start_mixed(&extra->reader, source, spec, options, true, mixer, input, err);
}

bool extra_reader_is_free(struct extra_reader *extra) {
  if (errand_is_done(&extra->ending))
    errand_join(&extra->ending);
  return !extra->reader && !extra->ending.busy;
}

static void stop(void *opaque) {
  struct extra_reader *extra = opaque;
  reader_stop(&extra->former, NULL);
}

void extra_reader_end(struct extra_reader *extra) {
  struct error ignored;
  if (!extra->reader)
    return;
  errand_join(&extra->ending);
  extra->former = extra->reader;
  extra->reader = NULL;
  reader_end(extra->former);
  if (errand_start(&extra->ending, stop, extra, "ends sources", &ignored))
    stop(extra); /* no thread could be started, so this thread waits for the reader's end */
}

void extra_reader_close(struct extra_reader *extra) {
  reader_end(extra->reader);
  errand_join(&extra->ending);
  reader_stop(&extra->reader, NULL);
}
