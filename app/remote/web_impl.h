/* Shared by the parts of the web page's server: web.c has the thread and the connections, web_answer.c answers
 * requests, web_socket.c talks over web sockets. libmicrohttpd reads requests, and wslay the frames of web sockets;
 * both run only when the page's thread calls them. That thread alone uses all of this, except stop, observed and
 * rung. */
#ifndef APP_REMOTE_WEB_IMPL_H
#define APP_REMOTE_WEB_IMPL_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "app/remote/preview.h"
#include "app/remote/web.h"
#include "app/remote/web_request.h"
#include "app/remote/properties.h"

enum { WEB_CONNECTIONS_MAX = 64 };

enum web_stage {
  WEB_FREE,    /* no connection uses this entry */
  WEB_AWAITS,  /* a request is expected, or has arrived in part */
  WEB_ANSWERS, /* an answer is being sent */
  WEB_SOCKET,  /* the connection is a web socket */
  WEB_CUT,     /* the socket was shut down, and libmicrohttpd will free the connection */
};

struct client;

/* One connection. */
struct visitor {
  enum web_stage stage;
  int descriptor;
  int64_t since_ns;                         /* time at which the stage began, on the clock of platform_now_ns */
  struct MHD_UpgradeResponseHandle *handle; /* libmicrohttpd's handle of a web socket, needed to close it */
  /* the state of a web socket, made when its request is answered; owned; NULL: the connection is no web socket */
  struct client *client;
};

struct web {
  /* Set by web_open, and only read afterwards. */
  struct hub *hub;
  struct web_limits limits;
  struct web_address address;
  char machine[64], token[WEB_TOKEN_LENGTH + 1], cookie[32], url[WEB_URL_MAX];
  int alarm[2]; /* a pipe that wakes the thread: to stop, or because observed values may have changed */

  /* Used only by the thread. */
  struct MHD_Daemon *daemon;
  int daemon_events; /* descriptor that is readable when MHD_run has something to do */
  struct visitor visitors[WEB_CONNECTIONS_MAX];
  int visitor_count, socket_count;
  bool freed; /* a connection has ended; MHD_run must be called again before it accepts another one */
  struct message_view view;
  struct preview *preview;
  struct cover_pixels cover_pixels;
  const uint8_t *jpeg; /* the last JPEG, which lies in preview; NULL: none */
  size_t jpeg_size;
  int64_t jpeg_ns, now_ns;

  /* wake, which the hub calls on any thread, uses observed (a client observes a property), rung (the alarm was rung and
   * not cleared yet) and alarm. web_close sets stop and rings the alarm. */
  struct hub_watch watch;
  pthread_t thread;
  atomic_bool stop, observed, rung;
};

/* Sets the stage of a connection, and the time at which it began. */
static inline void web_visitor_enter(const struct web *web, struct visitor *visitor, enum web_stage stage) {
  visitor->stage = stage;
  visitor->since_ns = web->now_ns;
}

/* Functions that return enum MHD_Result return MHD_NO if memory is short; libmicrohttpd then closes the connection. */

/* True if the request's Host and Origin headers are those of this page. */
bool web_comes_from_here(const struct web *web, const struct web_request *request);
/* True if the request contains the token, or none is needed. *in_address: the token is in the request's URL. */
bool web_has_token(const struct web *web, struct MHD_Connection *connection, bool *in_address);
/* Answers with an HTTP status and a plain text. words is not copied and must be a string constant. */
enum MHD_Result web_refuse(struct MHD_Connection *connection, unsigned status, const char *words);
/* Answers a request for the page, one of its files or the picture. */
enum MHD_Result web_answer(struct web *web, struct MHD_Connection *connection, const struct web_request *request);

/* Answers a request for a web socket, and makes the visitor's client if it is accepted. */
enum MHD_Result web_socket_enter(struct web *web, struct visitor *visitor, struct MHD_Connection *connection,
                                 const struct web_request *request);
/* Frees the visitor's client, if it has one. Called when libmicrohttpd has ended the connection. */
void web_socket_leave(struct web *web, struct visitor *visitor);
/* Closes a web socket's connection by libmicrohttpd's handle. */
void web_socket_end(struct web *web, struct visitor *visitor);

/* True if the thread has to wait for the web socket to become readable, or writable. */
bool web_socket_wants_to_read(const struct visitor *visitor);
bool web_socket_wants_to_write(const struct visitor *visitor);
/* True if received bytes can be handled at once, without waiting for the socket. */
bool web_socket_is_unread(const struct visitor *visitor);
/* Reads and answers requests and sends what waits, as far as possible without blocking. Closes the web socket if a time
 * limit has passed. readable: the socket has bytes to read. */
void web_socket_serve(struct web *web, struct visitor *visitor, bool readable);
/* True if the client observes at least one property. */
bool web_socket_observes(const struct visitor *visitor);
/* Appends the changes of observed properties, from web->view, to the lines that wait to be sent to the client. */
void web_socket_tell(struct web *web, struct visitor *visitor);

#endif
