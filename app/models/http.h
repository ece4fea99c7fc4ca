/* Files over HTTP: http_curl.c, and http_absent.c in a build without libcurl. Only `reverie fetch` uses it, and nothing
 * else of the program opens the network for a model. Proxies are those of libcurl's environment. */
#ifndef APP_MODELS_HTTP_H
#define APP_MODELS_HTTP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unet/base/error.h"

enum { HTTP_URL_MAX = 8192, HTTP_FIELD_MAX = 256 };

/* A server and what it is to be told, but no other: a redirect to another host goes there without the token. */
struct http_origin {
  const char *url;   /* "https://huggingface.co" */
  const char *token; /* NULL: none */
};

struct http_answer {
  long status;
  int64_t from;  /* the first byte of the file that is sent; -1: not said */
  int64_t total; /* bytes of the whole file; -1: not said */
  /* Fields of the last answer that had them, redirects included; "" where none had. */
  char linked_etag[HTTP_FIELD_MAX], error_code[HTTP_FIELD_MAX];
};

struct http_request {
  const char *url;
  int64_t from; /* the first byte wanted */
  /* Of an answer 200 or 206: its header, before the first byte, and then the bytes in turn. What returns other than 0
   * has said why in err, and ends the request. start may be NULL. */
  int (*start)(void *opaque, const struct http_answer *answer, struct error *err);
  int (*take)(void *opaque, const void *bytes, size_t size, struct error *err);
  void *opaque;
  const atomic_bool *stop; /* ends the request once it is set */
};

enum http_result {
  HTTP_DONE,   /* answer->status says how it went */
  HTTP_CUT,    /* the way there is at fault, and another try may help */
  HTTP_FAILED, /* it would not help */
};

struct http;

/* The strings of origin stay the caller's. */
int http_open(struct http **http, const struct http_origin *origin, struct error *err);
void http_close(struct http **http); /* stores NULL; takes NULL */

/* Follows redirects, at most ten, to HTTPS or, where the origin itself is not encrypted, to HTTP. */
enum http_result http_get(struct http *http, const struct http_request *request, struct http_answer *answer,
                          struct error *err);

/* Escapes what a part of a URL's path may not hold; with slashes kept, or escaped as well. */
void http_escape(char *url, size_t size, const char *text, bool keep_slashes);

#endif
