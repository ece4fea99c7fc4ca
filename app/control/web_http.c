#include "app/control/web_http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <libavutil/base64.h>
#include <libavutil/mem.h>
#include <libavutil/sha.h>

enum { BAD_REQUEST = 400, VERSION_NOT_SUPPORTED = 505 };

/* Returns the byte behind the line that begins at bytes; NULL: its end has not come. */
static const char *line_end(const char *bytes, const char *end) {
  const char *newline = memchr(bytes, '\n', (size_t)(end - bytes));
  return newline ? newline + 1 : NULL;
}

static bool is_empty(const char *line, const char *end) {
  return end - line == 1 || (end - line == 2 && *line == '\r');
}

/* An empty line before the request belongs to nothing: some clients send one behind a body. */
static const char *skip_empty(const char *at, const char *end) {
  for (const char *next; (next = line_end(at, end)) && is_empty(at, next);)
    at = next;
  return at;
}

size_t web_head_size(const char *bytes, size_t size) {
  const char *end = bytes + size, *at = skip_empty(bytes, end);
  for (const char *next; (next = line_end(at, end)); at = next)
    if (is_empty(at, next))
      return (size_t)(next - bytes);
  return 0;
}

static bool is_text(const char *head, size_t size) {
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)head[i];
    bool ends_line = c == '\n' || (c == '\r' && i + 1 < size && head[i + 1] == '\n');
    if ((c < ' ' && c != '\t' && !ends_line) || c == 127)
      return false;
  }
  return true;
}

/* Cuts the next line off and ends it with a zero byte. */
static char *take_line(char **at) {
  char *line = *at, *newline = strchr(line, '\n');
  *at = newline + 1;
  *newline = 0;
  if (newline > line && newline[-1] == '\r')
    newline[-1] = 0;
  return line;
}

static const char *take_word(char **at) {
  char *word = *at, *space = word ? strchr(word, ' ') : NULL;
  *at = space ? space + 1 : NULL;
  if (space)
    *space = 0;
  return word && *word ? word : NULL;
}

/* METHOD /PATH?QUERY HTTP/1.x */
static int read_first_line(struct web_request *request, char *line) {
  char *at = line;
  request->method = take_word(&at);
  char *path = (char *)take_word(&at);
  const char *version = take_word(&at);
  if (!request->method || !path || !version || at)
    return BAD_REQUEST;
  if (strncmp(version, "HTTP/", 5))
    return BAD_REQUEST;
  if (strcmp(version, "HTTP/1.1") && strcmp(version, "HTTP/1.0"))
    return VERSION_NOT_SUPPORTED;
  request->http_1_1 = version[7] == '1';
  char *query = strchr(path, '?');
  if (query)
    *query++ = 0;
  request->path = path;
  request->query = query;
  return *path == '/' ? 0 : BAD_REQUEST;
}

static bool is_name(const char *name) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~";
  return *name && !name[strspn(name, letters)];
}

static char *trim(char *value) {
  value += strspn(value, " \t");
  for (size_t length = strlen(value); length && strchr(" \t", value[length - 1]);)
    value[--length] = 0;
  return value;
}

/* Who asks, and from which page, is said once: of two, each reader would believe another one. */
static int set_once(const char **field, const char *value) {
  if (*field)
    return BAD_REQUEST;
  *field = value;
  return 0;
}

static int read_header(struct web_request *request, char *line) {
  const struct {
    const char *name, **field;
  } fields[] = {{"host", &request->host},
                {"origin", &request->origin},
                {"cookie", &request->cookie},
                {"connection", &request->connection},
                {"upgrade", &request->upgrade},
                {"sec-websocket-key", &request->socket_key},
                {"sec-websocket-version", &request->socket_version},
                {"sec-websocket-protocol", &request->socket_protocols}};
  char *colon = strchr(line, ':');
  if (!colon)
    return BAD_REQUEST;
  *colon = 0;
  char *value = trim(colon + 1);
  if (!is_name(line))
    return BAD_REQUEST;
  if (!strcasecmp(line, "transfer-encoding") || (!strcasecmp(line, "content-length") && strcmp(value, "0")))
    request->has_body = true;
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    if (!strcasecmp(line, fields[i].name))
      return set_once(fields[i].field, value);
  return 0;
}

int web_request_read(struct web_request *request, char *head, size_t size) {
  *request = (struct web_request){0};
  if (!is_text(head, size))
    return BAD_REQUEST;
  char *at = head + (skip_empty(head, head + size) - head), *line;
  int status = read_first_line(request, take_line(&at));
  while (!status && at < head + size && *(line = take_line(&at)))
    status = read_header(request, line);
  return status;
}

/* Finds the next part of a list, without the spaces around it. Returns NULL behind the last one. */
static const char *next_part(const char **at, char divider, size_t *length) {
  const char *part = *at;
  if (!part)
    return NULL;
  part += strspn(part, " \t");
  const char *end = strchr(part, divider);
  *at = end ? end + 1 : NULL;
  *length = end ? (size_t)(end - part) : strlen(part);
  while (*length && strchr(" \t", part[*length - 1]))
    --*length;
  return part;
}

bool web_list_has(const char *list, const char *word) {
  size_t length, wanted = strlen(word);
  for (const char *part; (part = next_part(&list, ',', &length));)
    if (length == wanted && !strncasecmp(part, word, wanted))
      return true;
  return false;
}

bool web_pair(char *value, size_t size, const char *list, char divider, const char *name) {
  size_t length, begins = strlen(name);
  for (const char *part; (part = next_part(&list, divider, &length));)
    if (length > begins && !strncmp(part, name, begins) && part[begins] == '=' && length - begins <= size) {
      memcpy(value, part + begins + 1, length - begins - 1);
      value[length - begins - 1] = 0;
      return true;
    }
  return false;
}

bool web_request_keeps(const struct web_request *request) {
  if (request->has_body || web_list_has(request->connection, "close"))
    return false;
  return request->http_1_1 || web_list_has(request->connection, "keep-alive");
}

bool web_request_is_socket(const struct web_request *request) {
  return request->http_1_1 && !request->has_body && !strcmp(request->method, "GET") &&
         web_list_has(request->connection, "upgrade") && web_list_has(request->upgrade, "websocket") &&
         request->socket_version && !strcmp(request->socket_version, "13") && request->socket_key &&
         strlen(request->socket_key) == 24;
}

int web_accept_key(char accept[WEB_ACCEPT_SIZE], const char *key) {
  enum { SHA1_BYTES = 20 };
  char text[64];
  uint8_t sum[SHA1_BYTES];
  struct AVSHA *sha = av_sha_alloc();
  if (!sha)
    return -1;
  int length = snprintf(text, sizeof text, "%.24s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
  av_sha_init(sha, 8 * SHA1_BYTES);
  av_sha_update(sha, (const uint8_t *)text, (unsigned)length);
  av_sha_final(sha, sum);
  av_free(sha);
  return av_base64_encode(accept, WEB_ACCEPT_SIZE, sum, sizeof sum) ? 0 : -1;
}
