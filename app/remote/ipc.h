/* The IPC socket: programs of the same user read and set parameters with lines of JSON, whose protocol is described in
 * messages.h. Example: echo '{"command": ["set_property", "strength", 0.7]}' | socat - SOCKET. One thread serves all
 * clients.
 *
 * If a client does not read its answers, its further requests wait. A client is disconnected if it receives no bytes
 * for the time patience_ms although answers wait to be sent to it. */
#ifndef APP_REMOTE_IPC_H
#define APP_REMOTE_IPC_H

#include "app/remote/hub.h"

enum { IPC_CLIENTS_MAX = 16, IPC_PATIENCE_MS = 10000 };

struct ipc;

/* Creates the socket at `path` and starts the thread that serves clients. `path` and `hub` are borrowed and must
 * outlive *ipc. patience_ms: a client that has received no bytes for so long, although answers wait, is disconnected;
 * usually IPC_PATIENCE_MS. Returns 0, or -1 with err set. */
int ipc_open(struct ipc **ipc, const char *path, struct hub *hub, int patience_ms, struct error *err);
/* Ends the thread, waits at most wait_ms for that, removes the socket, and frees *ipc, which becomes NULL. Returns
 * false if the thread has not ended in time: nothing is freed, the thread still uses the hub (which passes values
 * between the window and clients), and ipc_close may be called again. Does nothing if *ipc is NULL. */
bool ipc_close(struct ipc **ipc, int wait_ms);

#endif
