/* Who may come in at the web page. Plain functions of texts.
 *
 * A page of another site that is open in a browser on this machine can send requests to any address. What it cannot do
 * is choose the Host and Origin that the browser sends: they tell where the page came from, also where a name of that
 * site was made to lead here. */
#ifndef APP_REMOTE_WEB_GATE_H
#define APP_REMOTE_WEB_GATE_H

#include <stdbool.h>

#include "unet/base/error.h"

enum { WEB_PORT = 8080, WEB_TOKEN_LENGTH = 32 };

/* Where the page is served. */
struct web_address {
  char host[64]; /* an address or an interface's name; "": everywhere */
  int port;      /* 0: any that is free */
  bool ipv4;     /* host is an address of that kind */
  bool loopback; /* nobody else reaches it */
};

/* "", PORT, HOST or HOST:PORT. */
int web_read_address(struct web_address *address, const char *text, struct error *err);

/* machine: this one's name. */
bool web_host_is_ours(const struct web_address *address, const char *host, const char *machine);
/* origin NULL: whoever asks is no browser. */
bool web_origin_is_ours(const char *origin, const char *host);
/* Takes as long whatever is given. */
bool web_token_is(const char *token, const char *given);

#endif
