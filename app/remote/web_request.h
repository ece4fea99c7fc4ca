/* The parts of an HTTP request that the page's server needs, as libmicrohttpd has parsed it. */
#ifndef APP_REMOTE_WEB_REQUEST_H
#define APP_REMOTE_WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct MHD_Connection;

enum { WEB_HEAD_MAX = 16384 };

/* The strings are borrowed from libmicrohttpd and valid as long as the request. NULL: the header was not sent. */
struct web_request {
  const char *method, *path;
  const char *host, *origin, *connection, *upgrade;
  const char *socket_key, *socket_version, *socket_protocols;
  bool http_1_1;
  bool has_body; /* the request has a body (Content-Length, Transfer-Encoding) or asks if it may send one (Expect) */
  int wrong;     /* HTTP status of the refusal; 0: the request is correct */
};

/* Fills *request from the connection's headers, and sets request->wrong. */
void web_request_read(struct web_request *request, struct MHD_Connection *connection, const char *method,
                      const char *path, const char *version);

/* True if `list`, a header's value with words separated by commas, contains the word in upper or lower case. list NULL:
 * false. */
bool web_list_has(const char *list, const char *word);
/* True if the request asks to change to a web socket (header Upgrade). Other protocols in that header are ignored. */
bool web_request_is_socket(const struct web_request *request);

#endif
