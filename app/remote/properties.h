/* Properties are all that clients can read and observe by a name (messages.h): parameters, figures, and the lists of
 * parameters and commands. Values are returned as JSON. */
#ifndef APP_REMOTE_PROPERTIES_H
#define APP_REMOTE_PROPERTIES_H

#include <cjson/cJSON.h>

#include "app/remote/hub.h"

/* Values and figures of one moment. */
struct message_view {
  struct parameters values;
  struct hub_figures figures;
};

enum property_kind { PROPERTY_PARAMETER, PROPERTY_FIGURE, PROPERTY_FIGURES, PROPERTY_PARAMETERS, PROPERTY_COMMANDS };

struct property {
  enum property_kind kind;
  enum parameter id; /* the parameter and its index */
  int index;
  const struct figure *figure;
};

/* Finds the property of a name. Returns -1 with err set if there is none. */
int property_find(const char *name, struct property *property, struct error *err);
/* Returns the value, which the caller deletes. NULL: no memory. */
cJSON *property_value(const struct property *property, const struct message_view *view);

/* Returns true if all of the bytes are UTF-8. */
bool text_is_utf8(const char *text, size_t length);

#endif
