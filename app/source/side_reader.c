#include "app/source/side_reader.h"

#include "app/source/reader.h"

int side_reader_start(struct side_reader *side, struct source **source, const char *spec,
                      const struct source_options *options, struct mixer *mixer, enum mixer_input input,
                      struct error *err) {
  return reader_start_mixed(&side->reader, source, spec, options, true, mixer, input, err);
}

bool side_reader_is_free(struct side_reader *side) {
  if (errand_is_done(&side->ending))
    errand_join(&side->ending);
  return !side->reader && !side->ending.busy;
}

static void stop(void *opaque) {
  struct side_reader *side = opaque;
  reader_stop(&side->former, NULL);
}

void side_reader_end(struct side_reader *side) {
  struct error ignored;
  if (!side->reader)
    return;
  errand_join(&side->ending);
  side->former = side->reader;
  side->reader = NULL;
  reader_end(side->former);
  if (errand_start(&side->ending, stop, side, "ends sources", &ignored))
    stop(side); /* no thread could be started, so this thread waits for the reader's end */
}

void side_reader_close(struct side_reader *side) {
  reader_end(side->reader);
  errand_join(&side->ending);
  reader_stop(&side->reader, NULL);
}
