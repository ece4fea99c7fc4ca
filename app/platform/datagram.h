/* Datagrams of the network (UDP), for control from other programs and machines. One file a system:
 * app_platform_datagram.c. */
#ifndef APP_PLATFORM_DATAGRAM_H
#define APP_PLATFORM_DATAGRAM_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"

enum { DATAGRAM_MAX = 65536, DATAGRAM_NAME_MAX = 64 };

/* Host and port; a plain value. */
struct datagram_address {
  alignas(8) unsigned char bytes[32];
  unsigned size;
};

/* From "PORT" (of this machine alone), "HOST:PORT" or "[V6]:PORT"; what names the option for messages. Errors are
 * STATUS_USAGE. */
int datagram_find(struct datagram_address *address, const char *text, const char *what, struct error *err);
const char *datagram_name(const struct datagram_address *address, char name[DATAGRAM_NAME_MAX]);
int datagram_port(const struct datagram_address *address);
/* The same host with another port. */
struct datagram_address datagram_with_port(const struct datagram_address *address, int port);
bool datagram_same_host(const struct datagram_address *a, const struct datagram_address *b);
/* True if a socket that receives at own, which may be every address of this machine, hears what is sent there. */
bool datagram_reaches(const struct datagram_address *address, const struct datagram_address *own);
bool datagram_equal(const struct datagram_address *a, const struct datagram_address *b);

/* A socket that receives at that address, which becomes the one it has (port 0: any), or, listen false, one that only
 * sends to there. Returns it or -1 with errno. */
int datagram_open(struct datagram_address *address, bool listen);
void datagram_close(int socket); /* takes -1 */
/* Waits so long for one that fits. Returns its size; -1: none came. */
int64_t datagram_receive(int socket, void *bytes, size_t size, struct datagram_address *from, int wait_ms);
/* Never waits: what has no room is lost, as on the network. */
void datagram_send(int socket, const struct datagram_address *to, const void *bytes, size_t size);

#endif
