/* Specs that name a node of PipeWire as a source or an output: pipewire:NAME, or pipewire: for the node that PipeWire
 * chooses. */
#ifndef APP_SOURCE_PIPEWIRE_SPEC_H
#define APP_SOURCE_PIPEWIRE_SPEC_H

#include <stdbool.h>

/* True if `spec` names a node of PipeWire. */
bool pipewire_is(const char *spec);
/* Returns the name of a node from `spec`, for which pipewire_is must be true. The result points into `spec`; "": `spec`
 * names no node. */
const char *pipewire_name(const char *spec);

#endif
