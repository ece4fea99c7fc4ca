/* UDP datagrams, for control by other programs and machines. Each system has its own implementation:
 * app_platform_datagram.c. */
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

/* Parses "PORT" (on this machine), "HOST:PORT" or "[V6]:PORT". `what` is the option's name for messages. Errors are
 * STATUS_USAGE. */
int datagram_find(struct datagram_address *address, const char *text, const char *what, struct error *err);
/* Writes "HOST:PORT" or "[V6]:PORT" to name, and returns name. */
const char *datagram_name(const struct datagram_address *address, char name[DATAGRAM_NAME_MAX]);
int datagram_port(const struct datagram_address *address);
/* Returns the same host with another port. */
struct datagram_address datagram_with_port(const struct datagram_address *address, int port);
bool datagram_same_host(const struct datagram_address *a, const struct datagram_address *b);
/* True if a datagram sent to address arrives at a socket that receives at own, which may be all addresses of this
 * machine. */
bool datagram_reaches(const struct datagram_address *address, const struct datagram_address *own);
/* True if host and port are equal. */
bool datagram_equal(const struct datagram_address *a, const struct datagram_address *b);

/* Opens a socket that receives at address, which is updated if its port was 0 (any free port), or, if listen is false,
 * one that only sends to there. Returns the socket, or -1 with errno. */
int datagram_open(struct datagram_address *address, bool listen);
void datagram_close(int socket); /* accepts -1 */
/* Waits up to wait_ms for a datagram of at most `size` bytes. Returns its size; -1: none came. */
int64_t datagram_receive(int socket, void *bytes, size_t size, struct datagram_address *from, int wait_ms);
/* Sends without waiting. A datagram for which there is no room is lost, as it may be on the network. */
void datagram_send(int socket, const struct datagram_address *to, const void *bytes, size_t size);

#endif
