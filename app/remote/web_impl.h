/* Declarations that the files of the web page's server share. web.c has the thread and the connections, web_answer.c
 * answers requests, and web_socket.c exchanges messages over web sockets. libmicrohttpd reads requests, and wslay reads
 * web socket frames; both run only when the page's thread calls them. Only that thread uses these declarations, except
 * the fields `stop`, `observed` and `rung`. */
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
  WEB_FREE,    /* there is no connection: this element of the server's list is unused */
  WEB_AWAITS,  /* the server expects a request, or has received a part of one */
  WEB_ANSWERS, /* the server is sending an answer */
  WEB_SOCKET,  /* the connection is a web socket */
  WEB_CUT,     /* the socket was shut down, and libmicrohttpd will free the connection */
};

struct client;

/* A connection to the server. */
struct visitor {
  enum web_stage stage;
  int descriptor;
  int64_t since_ns;                         /* time at which the connection's present stage began, on the clock of
                                             * platform_now_ns */
  struct MHD_UpgradeResponseHandle *handle; /* libmicrohttpd's handle of a web socket, needed to close it */
  /* the state of a web socket, made when the request for the web socket is answered; owned; NULL: the connection is no
   * web socket */
  struct client *client;
};

struct web {
  /* The fields down to `alarm` are set by web_open, and only read afterwards. */
  struct hub *hub;
  struct web_limits limits;
  struct web_address address;
  char machine[64], token[WEB_TOKEN_LENGTH + 1], cookie[32], url[WEB_URL_MAX];
  int alarm[2]; /* a pipe that wakes the server's thread when it has to stop or when observed values may have changed */

  /* The following fields are used only by the server's thread. */
  struct MHD_Daemon *daemon;
  int daemon_events; /* descriptor that is readable when MHD_run has something to do */
  struct visitor visitors[WEB_CONNECTIONS_MAX];
  int visitor_count, socket_count;
  /* true: a connection has ended, and MHD_run must be called again before the server accepts another connection */
  bool freed;
  struct message_view view;
  struct preview *preview;
  struct cover_pixels cover_pixels;
  const uint8_t *jpeg; /* the JPEG that was encoded last, in memory that `preview` owns; NULL: there is none */
  size_t jpeg_size;
  int64_t jpeg_ns, now_ns;

  /* Other threads also use the following fields. The hub calls `wake` on the window's thread, which uses `observed`
   * (true: a client observes a property), `rung` (true: a byte in the pipe `alarm` will wake the server's thread) and
   * `alarm`. web_close sets `stop` and wakes the server's thread. */
  struct hub_watch watch;
  pthread_t thread;
  atomic_bool stop, observed, rung;
};

/* Sets the stage of a connection, and the time at which the stage began. */
static inline void web_visitor_enter(const struct web *web, struct visitor *visitor, enum web_stage stage) {
  visitor->stage = stage;
  visitor->since_ns = web->now_ns;
}

/* All functions below that return enum MHD_Result return MHD_NO if memory is short; libmicrohttpd then closes the
 * connection. */

/* Returns true if the request's headers Host and Origin show that it comes from this page. */
bool web_comes_from_here(const struct web *web, const struct web_request *request);
/* Returns true if the request contains the page's token, or if no token is needed. *in_address becomes true if the
 * token is in the request's URL. */
bool web_has_token(const struct web *web, struct MHD_Connection *connection, bool *in_address);
/* Answers a request with an HTTP status and a plain text. `words` is not copied and must be a string constant. */
enum MHD_Result web_refuse(struct MHD_Connection *connection, unsigned status, const char *words);
/* Answers a request for the page, one of its files or the picture. */
enum MHD_Result web_answer(struct web *web, struct MHD_Connection *connection, const struct web_request *request);

/* Answers a request for a web socket. If the request is accepted, visitor->client becomes the state of the web
 * socket. */
enum MHD_Result web_socket_enter(struct web *web, struct visitor *visitor, struct MHD_Connection *connection,
                                 const struct web_request *request);
/* Frees visitor->client, the state of a web socket, if there is one. Called when libmicrohttpd has ended the
 * connection. */
void web_socket_leave(struct web *web, struct visitor *visitor);
/* Closes the connection of a web socket, which must be done by libmicrohttpd's handle. */
void web_socket_end(struct web *web, struct visitor *visitor);

/* web_socket_wants_to_read returns true if the server's thread must wait for the web socket to become readable;
 * web_socket_wants_to_write returns true if it must wait for it to become writable. */
bool web_socket_wants_to_read(const struct visitor *visitor);
bool web_socket_wants_to_write(const struct visitor *visitor);
/* Returns true if the server's thread has something to do without waiting for the web socket: to handle bytes that were
 * received already, or to close the connection. */
bool web_socket_is_unread(const struct visitor *visitor);
/* Reads and answers requests of the web socket, and sends waiting answers, as far as possible without blocking. Closes
 * the web socket if a time limit has passed. readable: the socket has bytes to read. */
void web_socket_serve(struct web *web, struct visitor *visitor, bool readable);
/* True if the client observes at least one property. */
bool web_socket_observes(const struct visitor *visitor);
/* Appends the changes of observed properties, from web->view, to the lines that wait to be sent to the client. */
void web_socket_tell(struct web *web, struct visitor *visitor);

#endif
