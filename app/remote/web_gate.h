/* Decides who may use the web page. These functions work on texts alone.
 *
 * A page of another site that is open in a browser on this machine can send requests to any address. But it cannot
 * choose the Host and Origin that the browser sends, and these tell which site the page came from, even if a name of
 * that site was made to point to this machine. */
#ifndef APP_REMOTE_WEB_GATE_H
#define APP_REMOTE_WEB_GATE_H

#include <stdbool.h>

#include "unet/base/error.h"

enum { WEB_PORT = 8080, WEB_TOKEN_LENGTH = 32 };

/* The address at which the page is served. */
struct web_address {
  char host[64]; /* an address or an interface's name; "": all addresses of this machine */
  int port;      /* 0: any free port */
  bool ipv4;     /* host is an IPv4 address */
  bool loopback; /* only this machine can reach the address */
};

/* Reads the text of --web: "", PORT, HOST or HOST:PORT. Returns -1 with err set if it is wrong. */
int web_read_address(struct web_address *address, const char *text, struct error *err);

/* True if the Host of a request is an address or a name of this machine. machine: this machine's name. */
bool web_host_is_ours(const struct web_address *address, const char *host, const char *machine);
/* True if the Origin of a request is the page itself. origin NULL: the client is not a browser, and is let in. */
bool web_origin_is_ours(const char *origin, const char *host);
/* True if given is the token. The time this takes tells nothing of the token. given may be NULL. */
bool web_token_is(const char *token, const char *given);

#endif
