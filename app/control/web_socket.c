#include "app/control/web_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool may_enter(const struct web *web, const struct web_request *request) {
  bool in_address;
  return !strcmp(request->path, "/socket") && web_comes_from_here(web, request) &&
         web_has_token(web, request, &in_address);
}

static int make_client(struct web *web, struct visitor *visitor) {
  struct error err;
  struct client *client = calloc(1, sizeof *client);
  if (!client || messages_open(&client->messages, web->hub, &err)) {
    free(client);
    return -1;
  }
  visitor->client = client;
  web->socket_count++;
  return 0;
}

void web_socket_leave(struct web *web, struct visitor *visitor) {
  struct client *client = visitor->client;
  if (!client)
    return;
  messages_close(&client->messages);
  message_lines_free(&client->lines);
  free(client);
  visitor->client = NULL;
  web->socket_count--;
}

int web_socket_enter(struct web *web, struct visitor *visitor, const struct web_request *request) {
  struct web_connection *c = &visitor->connection;
  char head[300], accept[WEB_ACCEPT_SIZE];
  c->keeps = false;
  if (!may_enter(web, request))
    return web_refuse(web, c, 403, "");
  if (web->socket_count == WEB_CLIENTS_MAX)
    return web_refuse(web, c, 503, "");
  if (web_accept_key(accept, request->socket_key) || make_client(web, visitor))
    return -1;
  bool named = web_list_has(request->socket_protocols, "reverie");
  int length = snprintf(head, sizeof head,
                        "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
                        "sec-websocket-accept: %s\r\n%s\r\n",
                        accept, named ? "sec-websocket-protocol: reverie\r\n" : "");
  web_connection_enter(c, WEB_SOCKET, web->now_ns);
  return web_connection_put(c, head, (size_t)length);
}

bool web_socket_has_room(const struct visitor *visitor) {
  return visitor->client->lines.used + visitor->connection.out_size < WEB_BACKLOG_ENOUGH;
}

void web_socket_tell(struct web *web, struct visitor *visitor) {
  struct client *client = visitor->client;
  client->behind = !web_socket_has_room(visitor);
  if (!client->behind)
    messages_tell(client->messages, &web->view, &client->lines);
}

static int send_frame(struct web_connection *c, enum web_frame kind, const void *bytes, size_t size) {
  unsigned char head[WEB_FRAME_HEAD_MAX];
  return web_connection_put(c, head, web_frame_head(head, kind, size)) || web_connection_put(c, bytes, size) ? -1 : 0;
}

static int close_socket(struct web *web, struct web_connection *c, int code) {
  const unsigned char why[] = {(unsigned char)(code >> 8), (unsigned char)code};
  web_connection_enter(c, WEB_CLOSING, web->now_ns);
  return send_frame(c, WEB_FRAME_CLOSE, why, sizeof why);
}

/* One message is one line. Returns 0, or -1, which ends the connection. */
static int hear_frame(struct web *web, struct visitor *visitor, enum web_frames_event event) {
  struct client *client = visitor->client;
  struct web_connection *c = &visitor->connection;
  switch (event) {
  case WEB_FRAMES_MESSAGE:
    messages_answer(client->messages, client->frames.text, client->frames.text_size, &client->lines);
    return client->lines.lost ? -1 : 0;
  case WEB_FRAMES_PING:
    return send_frame(c, WEB_FRAME_PONG, client->frames.control, client->frames.control_size);
  case WEB_FRAMES_CLOSE:
    return close_socket(web, c, WEB_CLOSE_NORMAL);
  case WEB_FRAMES_WRONG:
    return close_socket(web, c, client->frames.code);
  default:
    return 0;
  }
}

/* Puts the lines that wait into frames, as many as there is room for. */
static int put_lines(struct visitor *visitor) {
  struct message_lines *lines = &visitor->client->lines;
  struct web_connection *c = &visitor->connection;
  size_t sent = 0;
  int status = 0;
  while (!status && sent < lines->used && c->out_size < WEB_BACKLOG_ENOUGH) {
    const char *line = lines->text + sent, *end = memchr(line, '\n', lines->used - sent);
    size_t size = end ? (size_t)(end - line) : lines->used - sent;
    status = send_frame(c, WEB_FRAME_TEXT, line, size);
    sent += size + (end != NULL);
  }
  if (sent)
    message_lines_sent(lines, sent);
  return status;
}

int web_socket_read(struct web *web, struct visitor *visitor) {
  struct web_connection *c = &visitor->connection;
  int status = 0;
  size_t used = 0, taken = 1;
  while (!status && taken && c->stage == WEB_SOCKET && web_socket_has_room(visitor)) {
    enum web_frames_event event =
        web_frames_take(&visitor->client->frames, (const unsigned char *)c->in + used, c->in_size - used, &taken);
    used += taken;
    status = hear_frame(web, visitor, event);
  }
  web_connection_use(c, used);
  return status;
}

int web_socket_write(struct web *web, struct visitor *visitor) {
  struct web_connection *c = &visitor->connection;
  if (visitor->client->behind && web_socket_has_room(visitor))
    web_socket_tell(web, visitor);
  if (web_connection_wants_ping(c, web->now_ns) && send_frame(c, WEB_FRAME_PING, "", 0))
    return -1;
  return put_lines(visitor);
}
