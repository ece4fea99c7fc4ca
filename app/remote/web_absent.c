/* Replaces web.c in a build without libmicrohttpd or wslay: web_open returns an error. */
#include "app/remote/web.h"

int web_open(struct web **web, const char *where, const struct web_key *key, const struct web_limits *limits,
             struct hub *hub, struct error *err) {
  (void)where, (void)key, (void)limits, (void)hub;
  *web = NULL;
  return error_set(err, STATUS_USAGE,
                   "--web: this program was built without libmicrohttpd or wslay: build it where their development "
                   "files are (libmicrohttpd-dev, libwslay-dev)");
}

bool web_close(struct web **web, int wait_ms) {
  (void)wait_ms;
  *web = NULL;
  return true;
}

const char *web_url(const struct web *web) {
  (void)web;
  return "";
}

void web_get_key(const struct web *web, struct web_key *key) {
  (void)web;
  *key = (struct web_key){0};
}
