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
  WEB_FREE,    /* the place is free */
  WEB_AWAITS,  /* waits for a request, or for the rest of one */
  WEB_ANSWERS, /* the answer is being sent */
  WEB_SOCKET,  /* has become a web socket */
  WEB_CUT,     /* was cut, and libmicrohttpd is about to close it */
};

struct client;

/* One connection. */
struct visitor {
  enum web_stage stage;
  int descriptor;
  int64_t since_ns;                         /* time at which the stage began */
  struct MHD_UpgradeResponseHandle *handle; /* libmicrohttpd's handle of a web socket */
  /* the client of a web socket, which is made with the answer to its request; owned; NULL: there is none */
  struct client *client;
};

struct web {
  /* Set when the page is opened, and only read afterwards. */
  struct hub *hub;
  struct web_limits limits;
  struct web_address address;
  char machine[64], token[WEB_TOKEN_LENGTH + 1], cookie[32], url[WEB_URL_MAX];
  int alarm[2]; /* a pipe that wakes the thread: to stop, or because observed values may have changed */

  /* Used by the thread alone. */
  struct MHD_Daemon *daemon;
  int daemon_events; /* a descriptor that is readable when the daemon has something to do */
  struct visitor visitors[WEB_CONNECTIONS_MAX];
  int visitor_count, socket_count;
  bool freed; /* a place has become free; the daemon must run once more to see that */
  struct message_view view;
  struct preview *preview;
  struct cover_pixels cover_pixels;
  const uint8_t *jpeg; /* the last JPEG, inside preview; NULL: none */
  size_t jpeg_size;
  int64_t jpeg_ns, now_ns;

  /* The watch, which the hub calls on any thread, uses observed, rung and alarm; web_close sets stop and uses alarm. */
  struct hub_watch watch;
  pthread_t thread;
  atomic_bool stop, observed, rung;
};

/* Begins the visitor's next stage. */
static inline void web_visitor_enter(const struct web *web, struct visitor *visitor, enum web_stage stage) {
  visitor->stage = stage;
  visitor->since_ns = web->now_ns;
}

/* Functions with the result enum MHD_Result return MHD_NO if there is no memory, which ends the connection. */

/* True if the Host and Origin are the page's own. */
bool web_comes_from_here(const struct web *web, const struct web_request *request);
/* True if the request has the token, or needs none. *in_address: the token is in the address that was asked for. */
bool web_has_token(const struct web *web, struct MHD_Connection *connection, bool *in_address);
/* Answers with a status and a plain text. words must be static. */
enum MHD_Result web_refuse(struct MHD_Connection *connection, unsigned status, const char *words);
/* Answers a request that is not for a web socket. */
enum MHD_Result web_answer(struct web *web, struct MHD_Connection *connection, const struct web_request *request);

/* Answers a request for a web socket. */
enum MHD_Result web_socket_enter(struct web *web, struct visitor *visitor, struct MHD_Connection *connection,
                                 const struct web_request *request);
/* Frees the client, if there is one. */
void web_socket_leave(struct web *web, struct visitor *visitor);
/* Closes the connection of a web socket. */
void web_socket_end(struct web *web, struct visitor *visitor);

/* Return true if the web socket's descriptor is to be watched for reading, and for writing. */
bool web_socket_wants_to_read(const struct visitor *visitor);
bool web_socket_wants_to_write(const struct visitor *visitor);
/* Returns true if there is something to do even if the descriptor is not ready. */
bool web_socket_is_unread(const struct visitor *visitor);
/* Reads, answers and sends what is possible without waiting, and closes the web socket if a time limit has passed. */
void web_socket_serve(struct web *web, struct visitor *visitor, bool readable);
/* Returns true if the client observes a property. */
bool web_socket_observes(const struct visitor *visitor);
/* Adds the changes in web->view to what is sent to the client. */
void web_socket_tell(struct web *web, struct visitor *visitor);

#endif
