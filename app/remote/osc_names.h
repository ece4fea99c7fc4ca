/* OSC addresses: what each stands for. A parameter's is its name with / between its parts, /reverie/lora/1/weight. */
#ifndef APP_REMOTE_OSC_NAMES_H
#define APP_REMOTE_OSC_NAMES_H

#include "app/control/parameters.h"

#define OSC_ROOT "/reverie/"
enum { OSC_ADDRESS_MAX = 80 };

enum osc_verb {
  OSC_FOREIGN, /* of other programs, or what this one sends: nothing is to be done or said */
  OSC_UNKNOWN,
  OSC_PARAMETER, /* set, or asked for where it has no argument */
  OSC_GET,
  OSC_RANGE,
  OSC_COMMAND,
  OSC_LIST,
  OSC_SUBSCRIBE,
  OSC_UNSUBSCRIBE,
};

struct osc_name {
  enum osc_verb verb;
  enum parameter id; /* of a parameter, get and range */
  int index;
  char command[PARAMETER_NAME_MAX];
};

/* Reads an address; for OSC_UNKNOWN err says why. _ is taken for -, which some programs cannot write. */
struct osc_name osc_read_name(const char *address, struct error *err);
const char *osc_address(enum parameter id, int index, char address[OSC_ADDRESS_MAX]);

#endif
