/* Listening to a network: app_platform_network_posix.c. Who connects is accepted, heard and answered as one who uses a
 * socket of app_platform_local.h. What fails leaves errno. */
#ifndef APP_PLATFORM_APP_PLATFORM_NETWORK_H
#define APP_PLATFORM_APP_PLATFORM_NETWORK_H

#include "app/platform/app_platform_local.h"

/* Listens at a TCP port of one address of this machine, or of an interface that is called so and then becomes its
 * address; host "": at all addresses. *port 0: at any that is free, which it becomes. size: the room in host. Returns a
 * descriptor, or -1: EADDRINUSE: another program listens there; ENODEV: host is neither. */
int platform_listen_to_network(char *host, size_t size, int *port);
/* Tells the other end that nothing more follows; what it sends can still be received. */
void platform_end_sending(int descriptor);
/* True if all that the other end sent has been received, and nothing more follows. */
bool platform_is_at_end(int descriptor);
/* Ends the connection both ways; the descriptor stays open. */
void platform_end_connection(int descriptor);
/* Sends small pieces at once. */
void platform_send_at_once(int descriptor);

/* Fills bytes that nobody can guess. Returns 0 or -1. */
int platform_random(void *bytes, size_t size);

#endif
