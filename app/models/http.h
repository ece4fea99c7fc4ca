/* Fetches files over HTTP: http_curl.c, or http_absent.c in a build without libcurl. Only `reverie fetch` uses it;
 * nothing else in the program opens the network for a model. Proxies are set by libcurl's environment variables. One
 * thread at a time uses a struct http. */
#ifndef APP_MODELS_HTTP_H
#define APP_MODELS_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"

enum { HTTP_URL_MAX = 8192, HTTP_FIELD_MAX = 256 };

/* A server and the access token for it. The token is sent to no other server, not even after a redirect. */
struct http_origin {
  const char *url;   /* the server's URL, for example "https://huggingface.co" */
  const char *token; /* access token for the server; NULL: none */
};

struct http_answer {
  long status;
  int64_t from;  /* position in the file of the first byte in the answer, from 0; -1: unknown */
  int64_t total; /* size of the whole file in bytes; -1: unknown */
  /* values of the header fields X-Linked-ETag and X-Error-Code, of the last answer that had them (redirects count,
   * too); "": no answer had them */
  char linked_etag[HTTP_FIELD_MAX], error_code[HTTP_FIELD_MAX];
};

struct http_request {
  const char *url;
  int64_t from; /* position in the file of the first byte that the request asks for, from 0 */
  /* Callbacks for an answer of status 200 or 206. `start` is called after the answer's header, and `take` for its bytes
   * in order. If one of them returns other than 0, that callback has filled err, and the request ends. start may be
   * NULL. */
  int (*start)(void *opaque, const struct http_answer *answer, struct error *err);
  int (*take)(void *opaque, const void *bytes, size_t size, struct error *err);
  void *opaque;
  const atomic_bool *stop; /* setting this to true aborts the request */
};

enum http_result {
  HTTP_DONE,   /* the request is complete; answer->status has its HTTP status */
  HTTP_CUT,    /* the connection failed; trying again may help */
  HTTP_FAILED, /* the request failed, and trying again would not help */
};

struct http;

/* Opens a connection to origin, which must outlive it. Returns 0, or -1 with err. */
int http_open(struct http **http, const struct http_origin *origin, struct error *err);
void http_close(struct http **http); /* closes the connection; *http becomes NULL; does nothing if it is NULL */

/* Fetches a file. At most ten redirects are followed, only to HTTPS, or also to HTTP if the origin itself uses HTTP.
 * *answer is filled as far as an answer came. err is set unless the result is HTTP_DONE. */
enum http_result http_get(struct http *http, const struct http_request *request, struct http_answer *answer,
                          struct error *err);

/* Writes text to url; characters that a path in a URL must not contain are escaped. keep_slashes: slashes are not
 * escaped. */
void http_escape(char *url, size_t size, const char *text, bool keep_slashes);

#endif
