/* Parses and writes OSC addresses. The address of a parameter is /reverie/ and its name with slashes, such as
 * /reverie/lora/1/weight for lora[1].weight. */
#ifndef APP_REMOTE_OSC_NAMES_H
#define APP_REMOTE_OSC_NAMES_H

#include "app/control/parameters.h"

#define OSC_ROOT "/reverie/"
enum { OSC_ADDRESS_MAX = 80 };

/* What an OSC message requests, according to its address. */
enum osc_verb {
  OSC_FOREIGN,   /* an address of another program, or one that this program itself sends; the message is ignored */
  OSC_UNKNOWN,   /* an address that begins with /reverie/, but stands for nothing that this program has */
  OSC_PARAMETER, /* sets a parameter; a message without an argument asks for the parameter's value */
  OSC_GET,       /* asks for a parameter's value */
  OSC_RANGE,     /* asks for a parameter's range */
  OSC_COMMAND,   /* runs the command that the address names */
  OSC_LIST,      /* asks for a list of all parameters, each with its range */
  OSC_SUBSCRIBE,
  OSC_UNSUBSCRIBE,
};

struct osc_name {
  enum osc_verb verb;
  enum parameter id; /* the parameter; for OSC_PARAMETER, OSC_GET and OSC_RANGE */
  int index;
  char command[PARAMETER_NAME_MAX];
};

/* Parses an OSC address. "_" in the address is read as "-", because some programs cannot write "-". If the verb of the
 * result is OSC_UNKNOWN, err is set to the reason. */
struct osc_name osc_read_name(const char *address, struct error *err);
/* Writes to `address` the OSC address of a parameter, such as that of prompt[2]; index: which instance of the parameter
 * it is, here 2. Returns `address`. */
const char *osc_address(enum parameter id, int index, char address[OSC_ADDRESS_MAX]);

#endif
