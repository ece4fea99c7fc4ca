/* The head of an HTTP/1.1 request, and a web socket's frames, as bytes. Nothing here knows a connection. */
#ifndef APP_CONTROL_WEB_HTTP_H
#define APP_CONTROL_WEB_HTTP_H

#include <stdbool.h>
#include <stddef.h>

enum { WEB_HEAD_MAX = 16384, WEB_ACCEPT_SIZE = 29 };

/* A request. Its texts lie in the head that it was read from. Headers that were not sent are NULL. */
struct web_request {
  const char *method, *path;
  const char *query; /* what follows the path's '?'; NULL: it has none */
  const char *host, *origin, *cookie, *connection, *upgrade;
  const char *socket_key, *socket_version, *socket_protocols;
  bool http_1_1, has_body;
};

/* Returns how many of the bytes are the head, its last empty line included; 0: more are to come. */
size_t web_head_size(const char *bytes, size_t size);

/* Reads a whole head, and divides it into texts in place. Returns 0, or the HTTP status that refuses it. */
int web_request_read(struct web_request *request, char *head, size_t size);

/* True if the words of a list that is divided by commas include this one, in any case. The list may be NULL. */
bool web_list_has(const char *list, const char *word);
/* Copies the value that a list of NAME=VALUE gives a name. Returns false where there is none or no room. The list may
 * be NULL. */
bool web_pair(char *value, size_t size, const char *list, char divider, const char *name);

/* True if the connection stays open for another request. */
bool web_request_keeps(const struct web_request *request);
/* True if the client asks for a web socket. Every other protocol that a client would like to change to is ignored. */
bool web_request_is_socket(const struct web_request *request);
/* Makes the text that accepts a web socket's key. Returns 0, or -1 without memory. */
int web_accept_key(char accept[WEB_ACCEPT_SIZE], const char *key);

#endif
