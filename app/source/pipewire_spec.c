#include "app/source/pipewire_spec.h"

#include <string.h>

static const char scheme[] = "pipewire:";

bool pipewire_is(const char *spec) {
  return !strncmp(spec, scheme, sizeof scheme - 1);
}

const char *pipewire_name(const char *spec) {
  return spec + sizeof scheme - 1;
}
