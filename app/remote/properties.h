/* What clients read and observe by its name (messages.h): parameters, figures, what there is of both and of commands;
 * and its value as JSON. */
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
  enum parameter id; /* and which of its instances */
  int index;
  const struct figure *figure;
};

int property_find(const char *name, struct property *property, struct error *err);
/* NULL: no memory. */
cJSON *property_value(const struct property *property, const struct message_view *view);

bool text_is_utf8(const char *text, size_t length);

#endif
