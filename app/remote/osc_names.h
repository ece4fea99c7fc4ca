/* Parses and writes OSC addresses. The address of a parameter is /reverie/ and its name with slashes, such as
 * /reverie/lora/1/weight for lora[1].weight. */
#ifndef APP_REMOTE_OSC_NAMES_H
#define APP_REMOTE_OSC_NAMES_H

#include "app/control/parameters.h"

#define OSC_ROOT "/reverie/"
enum { OSC_ADDRESS_MAX = 80 };

/* What a message asks for, by its address. */
enum osc_verb {
  OSC_FOREIGN,   /* an address of another program, or one that this program itself sends; the message is ignored */
  OSC_UNKNOWN,   /* an address of this program that does not exist */
  OSC_PARAMETER, /* sets a parameter; without an argument, asks for its value */
  OSC_GET,       /* asks for a parameter's value */
  OSC_RANGE,     /* asks for a parameter's range */
  OSC_COMMAND,   /* runs the command of this name */
  OSC_LIST,      /* asks for a list of all parameters */
  OSC_SUBSCRIBE,
  OSC_UNSUBSCRIBE,
};

struct osc_name {
  enum osc_verb verb;
  enum parameter id; /* for OSC_PARAMETER, OSC_GET and OSC_RANGE */
  int index;
  char command[PARAMETER_NAME_MAX];
};

/* Parses an address. In the result's names "_" is replaced by "-", because some programs cannot write "-". If the verb
 * is OSC_UNKNOWN, err is set to the reason. */
struct osc_name osc_read_name(const char *address, struct error *err);
/* Writes the address of an instance of a parameter. Returns address. */
const char *osc_address(enum parameter id, int index, char address[OSC_ADDRESS_MAX]);

#endif
