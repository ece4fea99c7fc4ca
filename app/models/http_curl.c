#include "app/models/http.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "unet/base/address.h"

enum { REDIRECTS_MAX = 10, CONNECT_SECONDS = 30, SILENT_SECONDS = 30, BUFFER = 512 << 10 };

struct http {
  const struct http_origin *origin;
  CURL *curl;
};

/* A request with all its redirects: the data that libcurl's callbacks need. */
struct transfer {
  const struct http_request *request;
  struct http_answer *answer;
  struct error *err;
  CURL *curl;
  /* started: the caller's function `start` was called for this answer; refused: a function that libcurl calls has ended
   * the request and set err */
  bool started, refused;
};

int http_open(struct http **http, const struct http_origin *origin, struct error *err) {
  struct http *made = calloc(1, sizeof *made);
  *http = made;
  if (!made || curl_global_init(CURL_GLOBAL_DEFAULT)) {
    free(made);
    *http = NULL;
    return error_set(err, STATUS_FAILED, "libcurl cannot be started");
  }
  made->origin = origin;
  made->curl = curl_easy_init();
  if (made->curl)
    return 0;
  http_close(http);
  return error_set(err, STATUS_FAILED, "libcurl: out of memory");
}

void http_close(struct http **http) {
  if (!*http)
    return;
  curl_easy_cleanup((*http)->curl);
  curl_global_cleanup();
  free(*http);
  *http = NULL;
}

/* --- which server a URL names, for the access token --- */

static bool get_part(CURLUcode *code, CURLU *parts, CURLUPart part, char **text) {
  *code = curl_url_get(parts, part, text, part == CURLUPART_PORT ? CURLU_DEFAULT_PORT : 0);
  return !*code;
}

/* Writes the part of a URL that names the server (scheme, host, port) into `place`. Returns CURLUE_OK,
 * CURLUE_OUT_OF_MEMORY, or another code if the text is no URL of HTTP. */
static CURLUcode read_place(const char *url, char place[HTTP_FIELD_MAX]) {
  CURLU *parts = curl_url();
  char *scheme = NULL, *host = NULL, *port = NULL;
  CURLUcode code = parts ? curl_url_set(parts, CURLUPART_URL, url, 0) : CURLUE_OUT_OF_MEMORY;
  if (!code && get_part(&code, parts, CURLUPART_SCHEME, &scheme) && get_part(&code, parts, CURLUPART_HOST, &host) &&
      get_part(&code, parts, CURLUPART_PORT, &port) &&
      ((strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0) ||
       snprintf(place, HTTP_FIELD_MAX, "%s://%s:%s", scheme, host, port) >= HTTP_FIELD_MAX))
    code = CURLUE_UNSUPPORTED_SCHEME;
  curl_free(scheme);
  curl_free(host);
  curl_free(port);
  curl_url_cleanup(parts);
  return code;
}

static bool is_encrypted(const char *place) {
  return !strncmp(place, "https:", 6);
}

static int refuse_place(const char *url, struct error *err) {
  return error_set(err, STATUS_MODEL, "%s: the hub leads there, and only https:// is followed",
                   address_shown(url).text);
}

/* Returns the header fields for a request; the access token is among them only if the URL is on the origin's server.
 * NULL with err after an error. */
static struct curl_slist *make_fields(const struct http *http, const char *url, struct error *err) {
  char place[HTTP_FIELD_MAX], origin[HTTP_FIELD_MAX], field[1024];
  const char *token = http->origin->token;
  CURLUcode bad_origin = read_place(http->origin->url, origin), bad = read_place(url, place);
  if (bad_origin == CURLUE_OUT_OF_MEMORY || bad == CURLUE_OUT_OF_MEMORY) {
    error_set(err, STATUS_FAILED, "libcurl: out of memory");
    return NULL;
  }
  if (bad_origin) {
    /* the message shows the value of HF_ENDPOINT only if that is a URL with a scheme, because other text may be a
     * password */
    bool named = address_is(http->origin->url);
    error_set(err, STATUS_USAGE, "HF_ENDPOINT%s%s: an address that begins with https:// is needed", named ? " " : "",
              named ? address_shown(http->origin->url).text : "");
    return NULL;
  }
  if (bad || (!is_encrypted(place) && is_encrypted(origin))) {
    refuse_place(url, err);
    return NULL;
  }
  struct curl_slist *fields = curl_slist_append(NULL, "Accept-Encoding: identity");
  if (fields && token && !strcasecmp(place, origin)) {
    snprintf(field, sizeof field, "Authorization: Bearer %s", token);
    struct curl_slist *both = curl_slist_append(fields, field);
    if (!both)
      curl_slist_free_all(fields);
    fields = both;
  }
  if (!fields)
    error_set(err, STATUS_FAILED, "libcurl: out of memory");
  return fields;
}

/* --- reading the answer's header and bytes --- */

static void read_field(const char *line, const char *name, char value[HTTP_FIELD_MAX]) {
  size_t length = strlen(name);
  if (strncasecmp(line, name, length) != 0 || line[length] != ':')
    return;
  line += length + 1;
  line += strspn(line, " \t\"");
  snprintf(value, HTTP_FIELD_MAX, "%.*s", (int)strcspn(line, "\"\r\n"), line);
}

/* Reads the value of the header field Content-Range, such as "bytes 100-199/200". */
static void read_range(const char *text, struct http_answer *answer) {
  int64_t from, to, total;
  if (sscanf(text, "bytes %" SCNd64 "-%" SCNd64 "/%" SCNd64, &from, &to, &total) != 3 || from < 0)
    return;
  answer->from = from;
  answer->total = total;
}

static size_t take_field(char *bytes, size_t size, size_t count, void *opaque) {
  struct transfer *transfer = opaque;
  char line[1024], range[HTTP_FIELD_MAX] = "";
  snprintf(line, sizeof line, "%.*s", (int)(size * count), bytes);
  /* this is the first line of an answer's header, so values from the header of the previous answer (a redirect) no
   * longer count */
  if (!strncmp(line, "HTTP/", 5)) {
    transfer->answer->from = transfer->answer->total = -1;
  }
  read_field(line, "X-Linked-ETag", transfer->answer->linked_etag);
  read_field(line, "X-Error-Code", transfer->answer->error_code);
  read_field(line, "Content-Range", range);
  read_range(range, transfer->answer);
  return size * count;
}

static bool start(struct transfer *transfer) {
  const struct http_request *request = transfer->request;
  struct http_answer *answer = transfer->answer;
  curl_off_t length = -1;
  curl_easy_getinfo(transfer->curl, CURLINFO_RESPONSE_CODE, &answer->status);
  curl_easy_getinfo(transfer->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
  if (answer->status == 200) {
    answer->from = 0;
    answer->total = length;
  }
  transfer->started = true;
  transfer->refused = (answer->status == 200 || answer->status == 206) && request->start &&
                      request->start(request->opaque, answer, transfer->err);
  return !transfer->refused;
}

static size_t take_bytes(char *bytes, size_t size, size_t count, void *opaque) {
  struct transfer *transfer = opaque;
  const struct http_request *request = transfer->request;
  if (!transfer->started && !start(transfer))
    return 0;
  if (transfer->answer->status != 200 && transfer->answer->status != 206)
    return size * count;
  transfer->refused = request->take(request->opaque, bytes, size * count, transfer->err);
  return transfer->refused ? 0 : size * count;
}

static int watch(void *opaque, curl_off_t total, curl_off_t now, curl_off_t out_total, curl_off_t out_now) {
  const struct transfer *transfer = opaque;
  (void)total, (void)now, (void)out_total, (void)out_now;
  return atomic_load(transfer->request->stop);
}

/* --- making a request, and following redirects --- */

static void set_up(struct transfer *transfer, const char *url, struct curl_slist *fields) {
  /* name of a file with certificates of authorities; the program curl takes the name from the same environment
   * variable */
  const char *authorities = getenv("CURL_CA_BUNDLE");
  CURL *curl = transfer->curl;
  char range[32];
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "reverie/" REVERIE_VERSION);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, (long)BUFFER);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, (long)SILENT_SECONDS);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_field);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_bytes);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, watch);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  if (authorities && *authorities)
    curl_easy_setopt(curl, CURLOPT_CAINFO, authorities);
  snprintf(range, sizeof range, "%" PRId64 "-", transfer->request->from);
  if (transfer->request->from)
    curl_easy_setopt(curl, CURLOPT_RANGE, range);
}

/* Returns true for errors of the connection that may not happen again at another try. A wrong certificate, host name or
 * proxy would still be wrong. */
static bool may_pass(CURLcode code) {
  switch (code) {
  case CURLE_COULDNT_CONNECT:
  case CURLE_PARTIAL_FILE:
  case CURLE_OPERATION_TIMEDOUT:
  case CURLE_GOT_NOTHING:
  case CURLE_SEND_ERROR:
  case CURLE_RECV_ERROR:
  case CURLE_SSL_CONNECT_ERROR:
  case CURLE_HTTP2:
  case CURLE_HTTP2_STREAM:
    return true;
  default:
    return false;
  }
}

/* Returns, as text, why a request failed. libcurl's own text about an unusable proxy is replaced, because it may
 * contain the proxy's password. */
static const char *why(CURLcode code, const char *reason) {
  if (code == CURLE_COULDNT_RESOLVE_PROXY)
    return "the proxy that http_proxy, https_proxy or all_proxy names is not found";
  return *reason ? reason : curl_easy_strerror(code);
}

static enum http_result perform(struct transfer *transfer, const char *url) {
  char reason[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(transfer->curl, CURLOPT_ERRORBUFFER, reason);
  CURLcode code = curl_easy_perform(transfer->curl);
  curl_easy_setopt(transfer->curl, CURLOPT_ERRORBUFFER, NULL);
  if (transfer->refused)
    return HTTP_FAILED;
  if (atomic_load(transfer->request->stop)) {
    error_set(transfer->err, STATUS_INTERRUPTED, "interrupted");
    return HTTP_FAILED;
  }
  /* the answer had no bytes, so `start` was not called for it yet */
  if (!code && !transfer->started && !start(transfer))
    return HTTP_FAILED;
  if (!code)
    return HTTP_DONE;
  char place[HTTP_FIELD_MAX];
  error_set(transfer->err, STATUS_MODEL, "%s: %s", read_place(url, place) ? address_shown(url).text : place,
            why(code, reason));
  return may_pass(code) ? HTTP_CUT : HTTP_FAILED;
}

/* Makes one request. *next gets the URL to which the answer redirects; NULL: it does not redirect. */
static enum http_result ask(struct http *http, struct transfer *transfer, const char *url, const char **next) {
  struct curl_slist *fields = make_fields(http, url, transfer->err);
  *next = NULL;
  if (!fields)
    return HTTP_FAILED;
  transfer->started = transfer->refused = false;
  set_up(transfer, url, fields);
  enum http_result result = perform(transfer, url);
  curl_slist_free_all(fields);
  if (result == HTTP_DONE)
    curl_easy_getinfo(http->curl, CURLINFO_REDIRECT_URL, next);
  return result;
}

enum http_result http_get(struct http *http, const struct http_request *request, struct http_answer *answer,
                          struct error *err) {
  struct transfer transfer = {.request = request, .answer = answer, .err = err, .curl = http->curl};
  char url[HTTP_URL_MAX];
  *answer = (struct http_answer){.total = -1};
  snprintf(url, sizeof url, "%s", request->url);
  for (int i = 0; i <= REDIRECTS_MAX; i++) {
    const char *next;
    enum http_result result = ask(http, &transfer, url, &next);
    if (result != HTTP_DONE || !next)
      return result;
    if (strlen(next) >= sizeof url) {
      refuse_place(next, err);
      return HTTP_FAILED;
    }
    memmove(url, next, strlen(next) + 1);
  }
  error_set(err, STATUS_MODEL, "%s: leads from place to place and never to the file", address_shown(request->url).text);
  return HTTP_FAILED;
}
