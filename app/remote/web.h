/* The web page: a browser shows and sets the parameters, runs commands, and shows figures and the picture of the live
 * window. It uses the protocol of messages.h over a web socket. One thread serves all browsers, and sets and reads
 * values only through the hub. */
#ifndef APP_REMOTE_WEB_H
#define APP_REMOTE_WEB_H

#include "app/remote/hub.h"
#include "app/remote/web_gate.h"

enum { WEB_CLIENTS_MAX = 16, WEB_URL_MAX = 256 };

struct web;

/* Port and token of a page. If a restarted program uses the same ones, browsers that have the page open connect
 * again. */
struct web_key {
  int port;
  char token[WEB_TOKEN_LENGTH + 1];
};

/* Time limits of a connection, in seconds. */
struct web_limits {
  int request; /* until a request has arrived completely, and until the next one on the same connection */
  int answer;  /* until an answer is sent completely */
  int taken;   /* until the browser has received some of the bytes that wait to be sent */
  /* a web socket that has sent nothing for `ping` seconds gets a ping, which browsers answer; one that has sent nothing
   * for `hang_up` seconds is closed */
  int ping, hang_up;
};
#define WEB_LIMITS_DEFAULTS                                                                                            \
  { .request = 20, .answer = 120, .taken = 20, .ping = 10, .hang_up = 30 }

/* Starts the page's server and its thread. where: the text of --web, which web_read_address parses. key: port and token
 * of an earlier page that this one replaces; NULL: new ones are chosen. limits NULL: WEB_LIMITS_DEFAULTS. hub is
 * borrowed and must outlive *web. Returns 0, or -1 with err set. */
int web_open(struct web **web, const char *where, const struct web_key *key, const struct web_limits *limits,
             struct hub *hub, struct error *err);
/* Ends the thread, waiting for it at most wait_ms, and frees *web. Returns false if the thread has not ended in time:
 * nothing is freed, the thread still uses the hub, and web_close may be called again. Stores NULL on success; accepts
 * NULL. */
bool web_close(struct web **web, int wait_ms);

/* Returns the URL to open in a browser, with the token if one is needed. The string is valid until web_close. */
const char *web_url(const struct web *web);
/* Copies the port and the token, to be passed to web_open of a page that replaces this one. */
void web_get_key(const struct web *web, struct web_key *key);

#endif
