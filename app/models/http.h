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

/* A server and its token. The token is sent to no other server, also after a redirect. */
struct http_origin {
  const char *url;   /* for example "https://huggingface.co" */
  const char *token; /* NULL: none */
};

struct http_answer {
  long status;
  int64_t from;  /* number of the first byte that is sent; -1: unknown */
  int64_t total; /* bytes of the whole file; -1: unknown */
  /* header fields of the last answer that had them, redirects included; "": no answer had them */
  char linked_etag[HTTP_FIELD_MAX], error_code[HTTP_FIELD_MAX];
};

struct http_request {
  const char *url;
  int64_t from; /* number of the first byte that is wanted, from 0 */
  /* Callbacks for an answer of status 200 or 206: start after its header, and take for its bytes in order. If one
   * returns other than 0, it has filled err, and the request ends. start may be NULL. */
  int (*start)(void *opaque, const struct http_answer *answer, struct error *err);
  int (*take)(void *opaque, const void *bytes, size_t size, struct error *err);
  void *opaque;
  const atomic_bool *stop; /* if set, the request ends */
};

enum http_result {
  HTTP_DONE,   /* the request is complete; answer->status has its result */
  HTTP_CUT,    /* the connection failed; another try may succeed */
  HTTP_FAILED, /* another try would fail, too */
};

struct http;

/* Opens a connection to origin, which must outlive it. Returns 0, or -1 with err. */
int http_open(struct http **http, const struct http_origin *origin, struct error *err);
void http_close(struct http **http); /* stores NULL; accepts NULL */

/* Fetches a file. Follows at most ten redirects, to HTTPS only, or also to HTTP if the origin itself uses HTTP. answer
 * is filled as far as an answer came; err unless the result is HTTP_DONE. */
enum http_result http_get(struct http *http, const struct http_request *request, struct http_answer *answer,
                          struct error *err);

/* Writes text to url with the characters escaped that a path in a URL must not hold. keep_slashes: slashes are not
 * escaped. */
void http_escape(char *url, size_t size, const char *text, bool keep_slashes);

#endif
