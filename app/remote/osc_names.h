/* Reads and makes OSC addresses. A parameter's address is its name with / between its parts: /reverie/lora/1/weight. */
#ifndef APP_REMOTE_OSC_NAMES_H
#define APP_REMOTE_OSC_NAMES_H

#include "app/control/parameters.h"

#define OSC_ROOT "/reverie/"
enum { OSC_ADDRESS_MAX = 80 };

enum osc_verb {
  OSC_FOREIGN, /* addresses of other programs, and those that this one sends; they are ignored */
  OSC_UNKNOWN,
  OSC_PARAMETER, /* sets the parameter, or asks for its value if there is no argument */
  OSC_GET,
  OSC_RANGE,
  OSC_COMMAND,
  OSC_LIST,
  OSC_SUBSCRIBE,
  OSC_UNSUBSCRIBE,
};

struct osc_name {
  enum osc_verb verb;
  enum parameter id; /* the parameter, for OSC_PARAMETER, OSC_GET and OSC_RANGE */
  int index;
  char command[PARAMETER_NAME_MAX];
};

/* Reads an address. For OSC_UNKNOWN err has the reason. _ is read as -, because some programs cannot write -. */
struct osc_name osc_read_name(const char *address, struct error *err);
/* Prints the address of a parameter. Returns address. */
const char *osc_address(enum parameter id, int index, char address[OSC_ADDRESS_MAX]);

#endif
