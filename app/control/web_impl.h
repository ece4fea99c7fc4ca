/* What the parts of the web page's server share: web.c has the thread and the connections, web_answer.c answers
 * requests, web_socket.c speaks over web sockets. All of it is the thread's alone but for stop, observed and rung. */
#ifndef APP_CONTROL_WEB_IMPL_H
#define APP_CONTROL_WEB_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "app/control/messages.h"
#include "app/control/preview.h"
#include "app/control/web.h"
#include "app/control/web_connection.h"
#include "app/control/web_frames.h"

enum {
  WEB_CONNECTIONS_MAX = 64,
  /* A client with so much to read yet is not told of changes, and not asked for more. */
  WEB_BACKLOG_ENOUGH = 65536,
};

/* What a web socket's client has. */
struct client {
  struct messages *messages;
  struct message_lines lines; /* to be sent */
  struct web_frames frames;
  bool behind; /* it has not been told of all changes */
};

struct visitor {
  struct web_connection connection;
  struct client *client; /* of a web socket; owned; NULL: it is none */
  bool unread;           /* what has come has not been looked at */
};

struct web {
  struct hub *hub;
  struct web_address address;
  char machine[64], token[WEB_TOKEN_LENGTH + 1], cookie[32], url[WEB_URL_MAX];
  int listener, alarm[2]; /* rung where it is to stop, and where what is observed may be another */
  struct visitor *visitors[WEB_CONNECTIONS_MAX]; /* owned; NULL: free */
  int socket_count;
  struct message_view view;
  struct preview *preview;
  struct covering covering;
  const uint8_t *jpeg; /* the preview's last; NULL: none */
  size_t jpeg_size;
  int64_t jpeg_ns, now_ns;
  struct hub_watch watch;
  pthread_t thread;
  atomic_bool stop, observed, rung;
};

/* Functions that answer return 0, or -1 without memory, which ends the connection. */

bool web_comes_from_here(const struct web *web, const struct web_request *request);
/* *in_address: the address that was asked for has the token in it. */
bool web_has_token(const struct web *web, const struct web_request *request, bool *in_address);
int web_refuse(struct web *web, struct web_connection *connection, int status, const char *words);
int web_answer(struct web *web, struct web_connection *connection, const struct web_request *request);

/* Answers a request for a web socket. */
int web_socket_enter(struct web *web, struct visitor *visitor, const struct web_request *request);
void web_socket_leave(struct web *web, struct visitor *visitor); /* also where it is none */
/* True if the client has room for more lines. */
bool web_socket_has_room(const struct visitor *visitor);
/* Goes on with the bytes that have come. */
int web_socket_read(struct web *web, struct visitor *visitor);
/* Puts what is to be said to where it is sent from. */
int web_socket_write(struct web *web, struct visitor *visitor);
/* Tells of changes in web->view. */
void web_socket_tell(struct web *web, struct visitor *visitor);

#endif
