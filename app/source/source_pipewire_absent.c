/* Takes the place of source_pipewire.c in a build without PipeWire. */
#include "app/source/pipewire_spec.h"
#include "app/source/source_impl.h"

static bool accepts(const char *spec) {
  return pipewire_is(spec);
}

static int absent_open(struct source **source, const char *spec, const struct source_options *options,
                       struct error *err) {
  (void)source, (void)options;
  return error_set(err, STATUS_INPUT, "%s: this reverie was built without PipeWire", spec);
}

const struct source_impl source_pipewire = {.name = "pipewire", .accepts = accepts, .open = absent_open};
