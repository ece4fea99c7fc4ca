/* The web page: a browser shows and sets the parameters, runs commands, and shows the measured values and the picture
 * of the live window. Page and program speak the protocol of messages.h over a web socket. One thread serves all
 * browsers, and sets and reads values only through the hub (hub.h, which passes values between the window and
 * clients). */
#ifndef APP_REMOTE_WEB_H
#define APP_REMOTE_WEB_H

#include "app/remote/hub.h"
#include "app/remote/web_gate.h"

enum { WEB_CLIENTS_MAX = 16, WEB_URL_MAX = 256 };

struct web;

/* Port and token of a web page. If the page of a restarted program has the same port and token as before, browsers that
 * have the page open connect again. */
struct web_key {
  int port;
  char token[WEB_TOKEN_LENGTH + 1];
};

/* Time limits of a connection, in seconds. */
struct web_limits {
  /* time within which a complete request must arrive, counted from the opening of the connection or from the end of the
   * previous answer */
  int request;
  int answer; /* time within which an answer must be sent completely */
  int taken;  /* time within which the browser must receive some of the bytes that wait to be sent to it */
  /* ping: time without data from a web socket after which the socket gets a ping, which browsers answer; hang_up: time
   * without data after which the socket is closed */
  int ping, hang_up;
};
#define WEB_LIMITS_DEFAULTS                                                                                            \
  { .request = 20, .answer = 120, .taken = 20, .ping = 10, .hang_up = 30 }

/* Starts the page's server and its thread. where: the text of --web, which web_read_address parses. key: port and token
 * of an earlier page that this one replaces; its port counts only if `where` has port 0. key NULL: the token is a new
 * random one. limits NULL: WEB_LIMITS_DEFAULTS. hub is borrowed and must outlive *web. Returns 0, or -1 with err
 * set. */
int web_open(struct web **web, const char *where, const struct web_key *key, const struct web_limits *limits,
             struct hub *hub, struct error *err);
/* Ends the thread, waits at most wait_ms for that, frees *web and sets it to NULL. Returns false if the thread has not
 * ended in time: it still uses the hub, nothing is freed, and the caller may try again. Does nothing if *web is
 * NULL. */
bool web_close(struct web **web, int wait_ms);

/* Returns the URL to open in a browser, with the token if one is needed. The string is valid until web_close. */
const char *web_url(const struct web *web);
/* Copies the page's port and token, which are passed to web_open of a page that replaces this one. */
void web_get_key(const struct web *web, struct web_key *key);

#endif
