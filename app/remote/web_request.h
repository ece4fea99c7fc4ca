/* The parts of a request that the page needs, as libmicrohttpd has read them. */
#ifndef APP_REMOTE_WEB_REQUEST_H
#define APP_REMOTE_WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct MHD_Connection;

enum { WEB_HEAD_MAX = 16384 };

/* The texts live as long as the request. Headers that were not sent are NULL. */
struct web_request {
  const char *method, *path;
  const char *host, *origin, *connection, *upgrade;
  const char *socket_key, *socket_version, *socket_protocols;
  bool http_1_1;
  bool has_body; /* the request has a body, announces one, or asks if it may send one */
  int wrong;     /* HTTP status with which the request is refused; 0: it is not */
};

/* Fills in *request; request->wrong tells if it is to be refused. */
void web_request_read(struct web_request *request, struct MHD_Connection *connection, const char *method,
                      const char *path, const char *version);

/* True if the words of a list that is divided by commas include this one, in any case. The list may be NULL. */
bool web_list_has(const char *list, const char *word);
/* True if the client asks for a web socket. Every other protocol that a client would like to change to is ignored. */
bool web_request_is_socket(const struct web_request *request);

#endif
