/* OSC messages out of packets and into them, bundles too. */
#ifndef APP_REMOTE_OSC_PACKET_H
#define APP_REMOTE_OSC_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Numbers of all types (T is 1, F 0) are numbers, strings and symbols texts; of anything else there is only its type.
 */
struct osc_argument {
  char type;        /* as in OSC's type tags */
  double number;    /* NaN: it is none */
  const char *text; /* NULL: it is none */
};

enum { OSC_ARGUMENTS_MAX = 8 };

struct osc_message {
  const char *address;
  struct osc_argument argument[OSC_ARGUMENTS_MAX];
  int count; /* what is beyond OSC_ARGUMENTS_MAX is left out */
};

/* Calls take for each message of a packet, in order; a bundle's time is not waited for. Returns how many there were;
 * what is damaged has none. */
int osc_read(const void *bytes, size_t size, void (*take)(void *opaque, const struct osc_message *message),
             void *opaque);

/* Messages under way to one receiver: several travel as a bundle as large as a network takes in one piece. */
enum { OSC_PACKET_MAX = 1400, OSC_MESSAGE_MAX = 4096 };
struct osc_packet {
  uint8_t bytes[16 + OSC_MESSAGE_MAX + 4];
  size_t size; /* 0: empty */
  int count;
};

/* false: it has no room beside what is in there (or, in an empty one, is too large), and nothing was added. */
bool osc_add(struct osc_packet *packet, const struct osc_message *message);
/* What is to be sent. */
const uint8_t *osc_bytes(const struct osc_packet *packet, size_t *size);

#endif
