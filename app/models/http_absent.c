/* Replaces http_curl.c in a build without libcurl: http_open fails with a message that says so. */
#include "app/models/http.h"

int http_open(struct http **http, const struct http_origin *origin, struct error *err) {
  (void)origin;
  *http = NULL;
  return error_set(
      err, STATUS_FAILED,
      "this program was built without libcurl and cannot fetch: build it where libcurl's development files "
      "are, or use `hf download`, whose models are found by name as well");
}

void http_close(struct http **http) {
  *http = NULL;
}

enum http_result http_get(struct http *http, const struct http_request *request, struct http_answer *answer,
                          struct error *err) {
  (void)http, (void)request, (void)answer, (void)err;
  return HTTP_FAILED;
}
