/* Parses OSC packets into messages, and writes messages into packets. A packet is one message or a bundle of
 * several. */
#ifndef APP_REMOTE_OSC_PACKET_H
#define APP_REMOTE_OSC_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An argument of an OSC message. `number` is set for numbers of all types and for true and infinitum (T and I, as 1)
 * and false (F, as 0); `text` is set for strings and symbols. For all other types only `type` is set. */
struct osc_argument {
  char type;        /* the character of OSC's type tag, such as 'f' or 's' */
  double number;    /* the argument's value; NaN: the argument is not a number */
  const char *text; /* the argument's text; NULL: the argument is not a text */
};

enum { OSC_ARGUMENTS_MAX = 8 };

struct osc_message {
  const char *address;
  struct osc_argument argument[OSC_ARGUMENTS_MAX];
  int count; /* number of arguments in `argument`; arguments beyond OSC_ARGUMENTS_MAX are dropped */
};

/* Parses a packet and calls `take` for each message in it, from the first to the last. The time tag of a bundle is
 * ignored. Returns the number of messages; damaged messages, and bundles nested deeper than 4 levels, are skipped. */
int osc_read(const void *bytes, size_t size, void (*take)(void *opaque, const struct osc_message *message),
             void *opaque);

/* A packet to be sent to one receiver. Two or more messages are sent as a bundle. OSC_PACKET_MAX bytes fit into one
 * Ethernet frame; only a packet with a single message may be larger, up to OSC_MESSAGE_MAX. */
enum { OSC_PACKET_MAX = 1400, OSC_MESSAGE_MAX = 4096 };
struct osc_packet {
  uint8_t bytes[16 + OSC_MESSAGE_MAX + 4];
  size_t size; /* number of bytes used; 0: the packet is empty */
  int count;
};

/* Appends a message to the packet. Returns false and leaves the packet unchanged if the packet would be larger than
 * OSC_PACKET_MAX, if a single message is larger than OSC_MESSAGE_MAX, if an argument's type is none of i, h, f, d and
 * s, or if memory is short. */
bool osc_add(struct osc_packet *packet, const struct osc_message *message);
/* Returns the bytes to send, which lie in the packet and are valid until it changes. *size gets their number. */
const uint8_t *osc_bytes(const struct osc_packet *packet, size_t *size);

#endif
