/* Decides which requests to the web page are allowed. These functions only compare texts.
 *
 * A page of another site, open in a browser on this machine, can make the browser send requests to any address. But the
 * browser itself sets the headers Host and Origin, which tell the site of that page, even if its owner has made one of
 * the site's host names point to this machine (DNS rebinding). */
#ifndef APP_REMOTE_WEB_GATE_H
#define APP_REMOTE_WEB_GATE_H

#include <stdbool.h>

#include "unet/base/error.h"

enum { WEB_PORT = 8080, WEB_TOKEN_LENGTH = 32 };

/* The address at which the page's server listens. */
struct web_address {
  char host[64]; /* an IP address or the name of a network interface; "": all addresses of this machine */
  int port;      /* 0: any free port */
  bool ipv4;     /* host is an IPv4 address */
  bool loopback; /* only this machine can reach the address */
};

/* Parses the text of --web: "", "PORT", "HOST" or "HOST:PORT". Returns 0, or -1 with err set. */
int web_read_address(struct web_address *address, const char *text, struct error *err);

/* True if the Host header of a request is an address or a name of this machine. machine: the name of this machine. */
bool web_host_is_ours(const struct web_address *address, const char *host, const char *machine);
/* True if the Origin header is this page, whose Host header is `host`. origin NULL: True, because the client is no
 * browser. */
bool web_origin_is_ours(const char *origin, const char *host);
/* True if `given` equals the token; given may be NULL. The comparison takes the same time wherever the texts differ, so
 * that the token cannot be guessed from it. */
bool web_token_is(const char *token, const char *given);

#endif
