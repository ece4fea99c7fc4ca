#include "app/source/origin.h"

#include <stdlib.h>
#include <string.h>

int origin_set(struct origin *origin, const atomic_bool *cut, struct source **source, const char *spec,
               const struct source_options *options, struct error *err) {
  *origin = (struct origin){.spec = strdup(spec), .options = *options, .stop = options->stop};
  if (!origin->spec)
    return error_set(err, STATUS_FAILED, "no memory to read %s", spec);
  origin->options.stop = cut;
  origin->source = *source;
  *source = NULL;
  return 0;
}

void origin_free(struct origin *origin) {
  source_close(&origin->source);
  free(origin->spec);
}
