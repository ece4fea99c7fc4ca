/* What the parts of the web page's server share: web.c has the thread and the connections, web_answer.c answers
 * requests, web_socket.c speaks over web sockets. libmicrohttpd reads requests, and wslay the frames of web sockets;
 * both only run when the page's thread calls them. All of it is the thread's alone but for stop, observed and rung. */
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
  WEB_FREE,    /* nobody is there */
  WEB_AWAITS,  /* a request, of which nothing or a part has come */
  WEB_ANSWERS, /* the answer is being sent */
  WEB_SOCKET,  /* a web socket */
  WEB_CUT,     /* libmicrohttpd is about to close it */
};

struct client;

/* A connection. */
struct visitor {
  enum web_stage stage;
  int descriptor;
  int64_t since_ns;                         /* when the stage began */
  struct MHD_UpgradeResponseHandle *handle; /* of a web socket */
  struct client *client; /* of a web socket, or of one that is being answered; owned; NULL: it is none */
};

struct web {
  struct hub *hub;
  struct web_limits limits;
  struct web_address address;
  char machine[64], token[WEB_TOKEN_LENGTH + 1], cookie[32], url[WEB_URL_MAX];
  int alarm[2]; /* rung where it is to stop, and where what is observed may be another */
  struct MHD_Daemon *daemon;
  int daemon_events; /* readable where the daemon has something to do */
  struct visitor visitors[WEB_CONNECTIONS_MAX];
  int visitor_count, socket_count;
  bool freed; /* a place has become free, which the daemon sees when it runs once more */
  struct message_view view;
  struct preview *preview;
  struct cover_pixels cover_pixels;
  const uint8_t *jpeg; /* the preview's last; NULL: none */
  size_t jpeg_size;
  int64_t jpeg_ns, now_ns;
  struct hub_watch watch;
  pthread_t thread;
  atomic_bool stop, observed, rung;
};

/* The visitor's next stage begins now. */
static inline void web_visitor_enter(const struct web *web, struct visitor *visitor, enum web_stage stage) {
  visitor->stage = stage;
  visitor->since_ns = web->now_ns;
}

/* Functions that answer return MHD_NO without memory, which ends the connection. */

bool web_comes_from_here(const struct web *web, const struct web_request *request);
/* *in_address: the address that was asked for has the token in it. */
bool web_has_token(const struct web *web, struct MHD_Connection *connection, bool *in_address);
enum MHD_Result web_refuse(struct MHD_Connection *connection, unsigned status, const char *words);
enum MHD_Result web_answer(struct web *web, struct MHD_Connection *connection, const struct web_request *request);

/* Answers a request for a web socket. */
enum MHD_Result web_socket_enter(struct web *web, struct visitor *visitor, struct MHD_Connection *connection,
                                 const struct web_request *request);
/* Forgets the client, if there is one. */
void web_socket_leave(struct web *web, struct visitor *visitor);
/* Closes the connection of a web socket. */
void web_socket_end(struct web *web, struct visitor *visitor);

/* What a web socket waits for. */
bool web_socket_wants_to_read(const struct visitor *visitor);
bool web_socket_wants_to_write(const struct visitor *visitor);
/* True if something is to be done without waiting. */
bool web_socket_is_unread(const struct visitor *visitor);
/* Goes on with what has come and what is to be sent, and ends it where it has had its time. */
void web_socket_serve(struct web *web, struct visitor *visitor, bool readable);
bool web_socket_observes(const struct visitor *visitor);
/* Tells of changes in web->view. */
void web_socket_tell(struct web *web, struct visitor *visitor);

#endif
