/* A build without libwebsockets. */
#include "app/control/web.h"

int web_open(struct web **web, const char *where, const struct web_key *key, struct hub *hub, struct error *err) {
  (void)where, (void)key, (void)hub;
  *web = NULL;
  return error_set(err, STATUS_USAGE,
                   "--web: this program was built without libwebsockets: build it where its development files are "
                   "(libwebsockets-dev)");
}

void web_close(struct web **web) {
  *web = NULL;
}

const char *web_url(const struct web *web) {
  (void)web;
  return "";
}

void web_get_key(const struct web *web, struct web_key *key) {
  (void)web;
  *key = (struct web_key){0};
}
