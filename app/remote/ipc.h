/* The IPC socket: programs of the same user read and set parameters with lines of JSON, in the protocol of messages.h.
 * Example: echo '{"command": ["set_property", "strength", 0.7]}' | socat - SOCKET. One thread serves all clients. A
 * client that does not read its answers gets no further ones; it is disconnected if it takes no bytes for patience_ms
 * while answers wait. */
#ifndef APP_REMOTE_IPC_H
#define APP_REMOTE_IPC_H

#include "app/remote/hub.h"

enum { IPC_CLIENTS_MAX = 16, IPC_PATIENCE_MS = 10000 };

struct ipc;

/* Creates the socket at `path` and starts the thread that serves clients. `path` and `hub` are borrowed and must
 * outlive *ipc. patience_ms: a client that has received no bytes for this long, although answers wait, is disconnected;
 * usually IPC_PATIENCE_MS. Returns 0, or -1 with err set. */
int ipc_open(struct ipc **ipc, const char *path, struct hub *hub, int patience_ms, struct error *err);
/* Ends the thread, waits at most wait_ms for that, removes the socket, frees *ipc and sets it to NULL. Returns false if
 * the thread has not ended in time: it still uses the hub, nothing is freed, and the caller may try again. Does nothing
 * if *ipc is NULL. */
bool ipc_close(struct ipc **ipc, int wait_ms);

#endif
