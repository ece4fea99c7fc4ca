/* Functions for listening for TCP connections and ending them (app_platform_network_posix.c). Connections are accepted,
 * received from and sent to with the functions of app_platform_local.h. Functions that fail set errno. */
#ifndef APP_PLATFORM_APP_PLATFORM_NETWORK_H
#define APP_PLATFORM_APP_PLATFORM_NETWORK_H

#include "app/platform/app_platform_local.h"

/* Listens at a TCP port. host is an address of this machine, the name of a network interface (it is replaced by the
 * interface's address), or "" for all addresses; size is the room in host. If *port is 0, a free port is chosen and
 * stored. Returns a descriptor or -1. errno: EADDRINUSE if another program listens there, ENODEV if host is neither
 * address nor interface. */
int platform_listen_to_network(char *host, size_t size, int *port);
/* Tells the other end of the connection that no more data follows; the other end's data can still be received. */
void platform_end_sending(int descriptor);
/* True if the other end has closed its side, and all data that it sent was received. */
bool platform_is_at_end(int descriptor);
/* Ends the connection in both directions; the descriptor stays open. */
void platform_end_connection(int descriptor);
/* Makes small pieces of data be sent at once instead of being collected for some time first (TCP_NODELAY). */
void platform_send_at_once(int descriptor);

/* Fills bytes with random data that cannot be predicted. Returns 0 or -1. */
int platform_random(void *bytes, size_t size);

#endif
