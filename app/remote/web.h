/* The web page: the live window's parameters, commands, figures and picture in a browser, over the messages of
 * messages.h on a web socket. One thread of its own serves everybody, and meets the window at the hub alone. */
#ifndef APP_REMOTE_WEB_H
#define APP_REMOTE_WEB_H

#include "app/remote/hub.h"
#include "app/remote/web_gate.h"

enum { WEB_CLIENTS_MAX = 16, WEB_URL_MAX = 256 };

struct web;

/* What a browser that has the page knows of it. */
struct web_key {
  int port;
  char token[WEB_TOKEN_LENGTH + 1];
};

/* How long a connection may hold up the page, in seconds. */
struct web_limits {
  int request;       /* for a request to come, and for the next one */
  int answer;        /* for an answer, however slowly it is taken */
  int taken;         /* for some of what is sent to be taken */
  int ping, hang_up; /* a web socket that says nothing is asked, and is closed */
};
#define WEB_LIMITS_DEFAULTS                                                                                            \
  { .request = 20, .answer = 120, .taken = 20, .ping = 10, .hang_up = 30 }

/* where: as web_read_address takes it. key: of a page that was there before, in whose place it comes; NULL: none was.
 * limits: NULL for the usual ones. The hub outlives it. */
int web_open(struct web **web, const char *where, const struct web_key *key, const struct web_limits *limits,
             struct hub *hub, struct error *err);
/* Waits so long at most for its thread. Returns false where that does not come back, which leaves all as it is: the
 * hub is still in use, and this may be called once more. Stores NULL; takes NULL. */
bool web_close(struct web **web, int wait_ms);

/* What a browser is given, the token included. */
const char *web_url(const struct web *web);
void web_get_key(const struct web *web, struct web_key *key);

#endif
