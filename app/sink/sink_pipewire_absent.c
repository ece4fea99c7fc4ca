/* Takes the place of sink_pipewire.c in a build without PipeWire. */
#include "app/sink/sink.h"
#include "app/source/pipewire_spec.h"

static bool accepts(const char *spec) {
  return pipewire_is(spec);
}

static int absent_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err) {
  (void)sink, (void)options;
  return error_set(err, STATUS_OUTPUT, "%s: this reverie was built without PipeWire", spec);
}

const struct sink_impl sink_pipewire = {.name = "pipewire", .accepts = accepts, .open = absent_open};
