/* The parts of an HTTP request that the server of the web page (--web) needs, as libmicrohttpd has parsed them. */
#ifndef APP_REMOTE_WEB_REQUEST_H
#define APP_REMOTE_WEB_REQUEST_H

#include <stdbool.h>
#include <stddef.h>

struct MHD_Connection;

enum { WEB_HEAD_MAX = 16384 };

/* The parts of a request. The strings are borrowed from libmicrohttpd and valid as long as the request; NULL: the
 * request has no such header. */
struct web_request {
  const char *method, *path;
  const char *host, *origin, *connection, *upgrade, *accept;
  const char *socket_key, *socket_version, *socket_protocols;
  bool http_1_1;
  /* true: the request has a body (Content-Length, Transfer-Encoding) or asks if it may send one (Expect) */
  bool has_body;
  int wrong; /* HTTP status with which the request is refused; 0: the request is correct */
};

/* Fills *request from the method, path, version and headers of an HTTP request, and sets request->wrong. */
void web_request_read(struct web_request *request, struct MHD_Connection *connection, const char *method,
                      const char *path, const char *version);

/* Returns true if `list`, a header's value with words separated by commas, contains the word; upper and lower case
 * count as equal. `list` NULL: false. */
bool web_list_has(const char *list, const char *word);
/* True if the request asks to change to a web socket: a GET of HTTP/1.1 without a body, with version 13, a key, and
 * "websocket" among the protocols in the header Upgrade. */
bool web_request_is_socket(const struct web_request *request);

#endif
