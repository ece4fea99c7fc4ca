/* The IPC socket: programs of this user read and set parameters by lines of JSON (messages.h), as with
 * `echo '{"command": ["set_property", "strength", 0.7]}' | socat - SOCKET`. One thread of its own serves all clients.
 *
 * A client that asks and does not read is not read from either; one that takes nothing for IPC_PATIENCE_MS while lines
 * wait for it is cut off. */
#ifndef APP_REMOTE_IPC_H
#define APP_REMOTE_IPC_H

#include "app/remote/hub.h"

enum { IPC_CLIENTS_MAX = 16, IPC_PATIENCE_MS = 10000 };

struct ipc;

/* Path and hub outlive it. */
int ipc_open(struct ipc **ipc, const char *path, struct hub *hub, int patience_ms, struct error *err);
/* Waits so long at most for its thread. Returns false where that does not come back, which leaves all as it is: the
 * hub is still in use, and this may be called once more. Removes the socket; stores NULL; takes NULL. */
bool ipc_close(struct ipc **ipc, int wait_ms);

#endif
