/* Decides which requests to the web page are allowed, from their texts alone. A page of another site in a browser on
 * this machine can send requests to any address. But the browser itself sets the headers Host and Origin, which name
 * that other site, even if one of its host names points to this machine (DNS rebinding). */
#ifndef APP_REMOTE_WEB_GATE_H
#define APP_REMOTE_WEB_GATE_H

#include <stdbool.h>

#include "unet/base/error.h"

enum { WEB_PORT = 8080, WEB_TOKEN_LENGTH = 32 };

/* The address at which the page's server listens. */
struct web_address {
  char host[64]; /* an IP address or the name of a network interface; "": all addresses of this machine */
  int port;      /* port of the server; 0: any free port */
  bool ipv4;     /* true: host is an IPv4 address */
  bool loopback; /* true: only this machine can reach the address */
};

/* Parses the text of --web: "", "PORT", "HOST" or "HOST:PORT". Without HOST the address is 127.0.0.1, without PORT the
 * port is WEB_PORT. Returns 0, or -1 with err set. */
int web_read_address(struct web_address *address, const char *text, struct error *err);

/* True if `host`, the Host header of a request, cannot be the name of another site. localhost and loopback addresses
 * are accepted. If address->loopback is false, all IP addresses and the name of this machine (`machine`, with or
 * without ".local") are accepted as well. */
bool web_host_is_ours(const struct web_address *address, const char *host, const char *machine);
/* True if `origin`, the Origin header of a request, names this web page; `host` is the request's Host header. origin
 * NULL: true, because the client is no browser. */
bool web_origin_is_ours(const char *origin, const char *host);
/* True if `given`, the token that a client has sent, equals the page's token; given may be NULL. The comparison takes
 * the same time wherever the texts differ, so that nobody can guess the token from that time. */
bool web_token_is(const char *token, const char *given);

#endif
