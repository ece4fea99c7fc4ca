/* Sends and receives UDP datagrams, by which other programs and machines control this one. app_platform_datagram.c
 * implements these functions for POSIX systems. */
#ifndef APP_PLATFORM_DATAGRAM_H
#define APP_PLATFORM_DATAGRAM_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"

enum { DATAGRAM_MAX = 65536, DATAGRAM_NAME_MAX = 64 };

/* Host and port of a UDP socket. A plain value, which may be copied. */
struct datagram_address {
  alignas(8) unsigned char bytes[32];
  unsigned size;
};

/* Parses "PORT" (on this machine), "HOST:PORT" or "[V6]:PORT". `what`: the option's name for messages. Returns 0, or -1
 * with err of STATUS_USAGE. */
int datagram_find(struct datagram_address *address, const char *text, const char *what, struct error *err);
/* Writes the address as "HOST:PORT" or "[V6]:PORT" to name, and returns name. */
const char *datagram_name(const struct datagram_address *address, char name[DATAGRAM_NAME_MAX]);
int datagram_port(const struct datagram_address *address);
/* Returns an address with the same host and another port. */
struct datagram_address datagram_with_port(const struct datagram_address *address, int port);
bool datagram_same_host(const struct datagram_address *a, const struct datagram_address *b);
/* True if a datagram that is sent to `address` arrives at a socket that receives at `own`. The host of `own` may stand
 * for all addresses of this machine. */
bool datagram_reaches(const struct datagram_address *address, const struct datagram_address *own);
/* Returns true if both addresses have the same host and port. */
bool datagram_equal(const struct datagram_address *a, const struct datagram_address *b);

/* Opens a UDP socket. listen true: the socket receives at `address`, which is updated if its port was 0 (any free
 * port); false: the socket only sends to that address. Returns the socket, or -1 with errno. */
int datagram_open(struct datagram_address *address, bool listen);
void datagram_close(int socket); /* closes the socket; does nothing if it is -1 */
/* Waits up to wait_ms for a datagram of at most `size` bytes. Returns its size; -1: none came. */
int64_t datagram_receive(int socket, void *bytes, size_t size, struct datagram_address *from, int wait_ms);
/* Sends a datagram without waiting. If the socket has no room for it, the datagram is lost, as any datagram may be lost
 * on the network. */
void datagram_send(int socket, const struct datagram_address *to, const void *bytes, size_t size);

#endif
