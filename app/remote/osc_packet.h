/* Reads OSC messages from packets and writes them into packets. A packet may be a bundle of messages. */
#ifndef APP_REMOTE_OSC_PACKET_H
#define APP_REMOTE_OSC_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An argument. All types of numbers, and true (T, 1) and false (F, 0), are numbers; strings and symbols are texts. Of
 * other types only the type is known. */
struct osc_argument {
  char type;        /* as in OSC's type tags */
  double number;    /* NaN: it is not a number */
  const char *text; /* NULL: it is not a text */
};

enum { OSC_ARGUMENTS_MAX = 8 };

struct osc_message {
  const char *address;
  struct osc_argument argument[OSC_ARGUMENTS_MAX];
  int count; /* number of arguments; those beyond OSC_ARGUMENTS_MAX are left out */
};

/* Calls take for each message of a packet, in order. The time of a bundle is ignored. Returns the number of messages;
 * damaged parts have none. */
int osc_read(const void *bytes, size_t size, void (*take)(void *opaque, const struct osc_message *message),
             void *opaque);

/* Messages to one receiver. Several are sent as a bundle, up to a size that networks carry in one piece. */
enum { OSC_PACKET_MAX = 1400, OSC_MESSAGE_MAX = 4096 };
struct osc_packet {
  uint8_t bytes[16 + OSC_MESSAGE_MAX + 4];
  size_t size; /* 0: empty */
  int count;
};

/* Appends a message. Returns false and leaves the packet as it is if the message does not fit behind the others, or if
 * it is too large for an empty packet. */
bool osc_add(struct osc_packet *packet, const struct osc_message *message);
/* Returns the bytes to send, which are inside the packet. */
const uint8_t *osc_bytes(const struct osc_packet *packet, size_t *size);

#endif
