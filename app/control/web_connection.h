/* A connection of the web page's server: bytes that came and bytes that go, and how long either may take. What is said
 * over it is web.c's. Nothing here waits. */
#ifndef APP_CONTROL_WEB_CONNECTION_H
#define APP_CONTROL_WEB_CONNECTION_H

#include "app/control/web_http.h"

#include <stdint.h>

enum web_stage {
  WEB_AWAITS,  /* a request, of which nothing or a part has come */
  WEB_ANSWERS, /* the answer is being sent */
  WEB_SOCKET,  /* a web socket */
  WEB_CLOSING, /* the last is sent, then what still comes is let go: a reset would take the answer with it */
};

struct web_connection {
  int descriptor;
  enum web_stage stage;
  char in[WEB_HEAD_MAX]; /* what has come and is not used yet */
  size_t in_size;
  unsigned char *out; /* owned: what is to be sent */
  size_t out_size, out_room;
  bool keeps; /* another request may follow the answer */
  bool told_end;
  int64_t since_ns; /* when the stage began */
  int64_t moved_ns; /* when it last took something, or there was nothing to take */
  int64_t heard_ns, pinged_ns;
};

void web_connection_begin(struct web_connection *connection, int descriptor, int64_t now_ns);
void web_connection_end(struct web_connection *connection);

/* Puts bytes behind those that are to be sent. Returns 0, or -1 without memory. */
int web_connection_put(struct web_connection *connection, const void *bytes, size_t size);
/* Forgets the first bytes that have come. */
void web_connection_use(struct web_connection *connection, size_t size);
void web_connection_enter(struct web_connection *connection, enum web_stage stage, int64_t now_ns);

bool web_connection_can_receive(const struct web_connection *connection);
/* Return false where the other end is gone. */
bool web_connection_receive(struct web_connection *connection, int64_t now_ns);
bool web_connection_send(struct web_connection *connection, int64_t now_ns);
/* True if it has had its time: for a request, for an answer that is not taken, for a web socket that says nothing. */
bool web_connection_is_late(const struct web_connection *connection, int64_t now_ns);
/* True if a web socket has been silent for so long that it is asked whether it is still there. Asks once. */
bool web_connection_wants_ping(struct web_connection *connection, int64_t now_ns);

#endif
