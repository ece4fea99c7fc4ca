/* The IPC socket: programs of the same user read and set parameters by lines of JSON (messages.h), as with `echo
 * '{"command": ["set_property", "strength", 0.7]}' | socat - SOCKET`. One thread serves all clients.
 *
 * If a client does not read its answers, its requests are not read either. A client that takes no bytes for
 * IPC_PATIENCE_MS while some wait for it is disconnected. */
#ifndef APP_REMOTE_IPC_H
#define APP_REMOTE_IPC_H

#include "app/remote/hub.h"

enum { IPC_CLIENTS_MAX = 16, IPC_PATIENCE_MS = 10000 };

struct ipc;

/* Creates the socket and starts the thread. path and hub must outlive it. */
int ipc_open(struct ipc **ipc, const char *path, struct hub *hub, int patience_ms, struct error *err);
/* Stops the thread, waiting at most wait_ms, and removes the socket. Returns false if the thread has not ended:
 * everything stays as it is, the hub is still in use, and ipc_close may be called again. Stores NULL; takes NULL. */
bool ipc_close(struct ipc **ipc, int wait_ms);

#endif
