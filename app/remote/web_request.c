#include "app/remote/web_request.h"

#include <microhttpd.h>
#include <string.h>
#include <strings.h>

/* Stores the value of an HTTP header. If a header occurs twice, the request is marked as wrong, because programs differ
 * in which of two Host or Origin headers they use. */
static void set_once(struct web_request *request, const char **field, const char *value) {
  if (*field)
    request->wrong = MHD_HTTP_BAD_REQUEST;
  *field = value;
}

static enum MHD_Result read_header(void *opaque, enum MHD_ValueKind kind, const char *name, const char *value) {
  struct web_request *request = opaque;
  const struct {
    const char *name, **field;
  } fields[] = {{"host", &request->host},
                {"origin", &request->origin},
                {"connection", &request->connection},
                {"upgrade", &request->upgrade},
                {"sec-websocket-key", &request->socket_key},
                {"sec-websocket-version", &request->socket_version},
                {"sec-websocket-protocol", &request->socket_protocols}};
  (void)kind;
  value = value ? value : "";
  /* the header "Accept" may occur several times, because it does not decide whether a request is allowed */
  if (!strcasecmp(name, "accept"))
    request->accept = value;
  if (!strcasecmp(name, "transfer-encoding") || !strcasecmp(name, "expect") ||
      (!strcasecmp(name, "content-length") && strcmp(value, "0")))
    request->has_body = true;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (!strcasecmp(name, fields[i].name))
      set_once(request, fields[i].field, value);
  return MHD_YES;
}

void web_request_read(struct web_request *request, struct MHD_Connection *connection, const char *method,
                      const char *path, const char *version) {
  const union MHD_ConnectionInfo *head = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  *request = (struct web_request){.method = method, .path = path, .http_1_1 = !strcmp(version, "HTTP/1.1")};
  MHD_get_connection_values(connection, MHD_HEADER_KIND, read_header, request);
  if (*path != '/')
    request->wrong = MHD_HTTP_BAD_REQUEST;
  if (!head || head->header_size > WEB_HEAD_MAX)
    request->wrong = MHD_HTTP_REQUEST_HEADER_FIELDS_TOO_LARGE;
}

bool web_list_has(const char *list, const char *word) {
  size_t wanted = strlen(word);
  for (const char *part = list; part && *part;) {
    part += strspn(part, " \t,");
    size_t length = strcspn(part, " \t,");
    if (length == wanted && !strncasecmp(part, word, wanted))
      return true;
    part += length;
  }
  return false;
}

bool web_request_is_socket(const struct web_request *request) {
  return request->http_1_1 && !request->has_body && !strcmp(request->method, "GET") &&
         web_list_has(request->connection, "upgrade") && web_list_has(request->upgrade, "websocket") &&
         request->socket_version && !strcmp(request->socket_version, "13") && request->socket_key &&
         strlen(request->socket_key) == 24;
}
