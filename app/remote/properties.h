/* Properties are all values that remote clients can read and observe by name (messages.h): parameters, figures
 * (measured values, struct hub_figures), and the lists of all parameters and commands. Their values are JSON. */
#ifndef APP_REMOTE_PROPERTIES_H
#define APP_REMOTE_PROPERTIES_H

#include <cjson/cJSON.h>

#include "app/remote/hub.h"

/* Copies of the parameters' values and of the figures (measured values) in the hub (which passes values between the
 * window and clients) at one moment. */
struct message_view {
  struct hub *hub; /* the hub, from which lists (enum hub_list: presets, MIDI bindings, ...) are read; borrowed */
  struct parameters values;
  struct hub_figures figures;
};

enum property_kind {
  PROPERTY_PARAMETER,
  PROPERTY_FIGURE,
  PROPERTY_FIGURES,
  PROPERTY_PARAMETERS,
  PROPERTY_COMMANDS,
  PROPERTY_LIST, /* one of the hub's lists (enum hub_list: presets, MIDI bindings, ...), which change seldom */
};

struct property {
  enum property_kind kind;
  /* for PROPERTY_PARAMETER: the parameter, and in `index` its instance from 1, or 0 if it has no instances */
  enum parameter id;
  int index;
  enum hub_list list;          /* for PROPERTY_LIST: which of the hub's lists (enum hub_list: presets, MIDI bindings,
                                * ...) it is */
  const struct figure *figure; /* for PROPERTY_FIGURE: describes the measured value, a field of struct hub_figures */
};

/* Finds a property by its name. Returns 0, or -1 with err set if there is no such property. */
int property_find(const char *name, struct property *property, struct error *err);
/* Returns the property's value, which the caller deletes with cJSON_Delete; NULL: out of memory. */
cJSON *property_value(const struct property *property, const struct message_view *view);

/* True if the text of `length` bytes is valid UTF-8. */
bool text_is_utf8(const char *text, size_t length);

#endif
