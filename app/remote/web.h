/* The web page: parameters, commands, figures and the picture of the live window in a browser, by the messages of
 * messages.h over a web socket. One thread serves all browsers, and meets the window's thread in the hub alone. */
#ifndef APP_REMOTE_WEB_H
#define APP_REMOTE_WEB_H

#include "app/remote/hub.h"
#include "app/remote/web_gate.h"

enum { WEB_CLIENTS_MAX = 16, WEB_URL_MAX = 256 };

struct web;

/* The port and the token by which a browser that has the page open finds it again. */
struct web_key {
  int port;
  char token[WEB_TOKEN_LENGTH + 1];
};

/* Time limits of connections, in seconds. */
struct web_limits {
  int request; /* for a request to come, and for the next one on the same connection */
  int answer;  /* for an answer to be sent, however slowly it is read */
  int taken;   /* for the browser to read at least some bytes of what is sent */
  /* after a silence of ping seconds a web socket is asked if it is alive, after hang_up seconds it is closed */
  int ping, hang_up;
};
#define WEB_LIMITS_DEFAULTS                                                                                            \
  { .request = 20, .answer = 120, .taken = 20, .ping = 10, .hang_up = 30 }

/* Starts the page. where: as for web_read_address. key: that of an earlier page which this one replaces; NULL: there
 * was none. limits NULL: WEB_LIMITS_DEFAULTS. The hub must outlive the page. */
int web_open(struct web **web, const char *where, const struct web_key *key, const struct web_limits *limits,
             struct hub *hub, struct error *err);
/* Stops the thread, waiting at most wait_ms. Returns false if it has not ended: everything stays as it is, the hub is
 * still in use, and web_close may be called again. Stores NULL; takes NULL. */
bool web_close(struct web **web, int wait_ms);

/* Returns the address to open in a browser, with the token if one is needed. It lives as long as the page. */
const char *web_url(const struct web *web);
/* Copies the port and the token, for a page that replaces this one. */
void web_get_key(const struct web *web, struct web_key *key);

#endif
