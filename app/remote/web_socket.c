#include "app/remote/web_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/base64.h>
#include <libavutil/mem.h>
#include <libavutil/sha.h>
#include <wslay/wslay.h>

#include "app/platform/app_platform_network.h"
#include "app/remote/messages.h"

enum {
  /* As long as at least this many bytes wait to be sent to a client, no further requests of that client are answered,
   * and no changes of observed properties are sent to it. */
  BACKLOG_ENOUGH = 65536,
  FRAME_COST = 64, /* estimated number of bytes of memory that a web socket frame takes besides its text while it waits
                    * to be sent */
  /* number of bytes given to wslay at a time. wslay reads until it gets none; with small amounts it can be stopped soon
   * when too many answers wait to be sent */
  PIECE_BYTES = 64,
  TURN_BYTES = 65536, /* number of bytes that are read from one client before the next client is served */
  CLOSING_S = 2,
  ACCEPT_SIZE = 29,
};

struct client {
  const struct web_limits *limits; /* time limits in seconds; the page's struct web owns them */
  int descriptor;
  wslay_event_context_ptr frames;
  struct messages *messages;
  /* lines of JSON that wait to be put into frames: answers, and changes of observed properties */
  struct message_lines lines;
  /* bytes that arrived together with the HTTP request: the first frames of the web socket; owned; NULL: none */
  unsigned char *early;
  size_t early_size, early_used;
  size_t turn; /* number of bytes read from this client since the server's thread last began to serve it */
  /* true: changes of observed properties in web->view were not appended to `lines` yet, because too many bytes wait to
   * be sent */
  bool behind;
  bool held_back; /* true: reading from this client was stopped although more bytes may have arrived */
  bool gone;      /* true: the connection has to be closed: the other end has closed it, or memory is short */
  int64_t now_ns, heard_ns, pinged_ns;
  int64_t moved_ns;   /* the last time (platform_now_ns) when the client received bytes or nothing waited to be sent */
  int64_t closing_ns; /* time when the web socket's close frame was sent; 0: it was not sent yet */
};

static int64_t seconds(int64_t count) {
  return count * 1000000000;
}

static bool has_room(const struct client *client) {
  return client->lines.used + wslay_event_get_queued_msg_length(client->frames) +
             FRAME_COST * wslay_event_get_queued_msg_count(client->frames) <
         BACKLOG_ENOUGH;
}

/* --- callbacks of wslay --- */

static size_t take_early(struct client *client, unsigned char *bytes, size_t size) {
  size_t left = client->early_size - client->early_used, taken = size < left ? size : left;
  if (taken)
    memcpy(bytes, client->early + client->early_used, taken);
  client->early_used += taken;
  return taken;
}

static ssize_t fail(struct client *client, bool later) {
  wslay_event_set_error(client->frames, later ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
  client->gone |= !later;
  return -1;
}

static ssize_t receive(wslay_event_context_ptr frames, uint8_t *bytes, size_t size, int flags, void *opaque) {
  struct client *client = opaque;
  (void)frames, (void)flags;
  client->held_back = !has_room(client) || client->turn > TURN_BYTES;
  if (client->held_back)
    return fail(client, true);
  size = size < PIECE_BYTES ? size : PIECE_BYTES;
  size_t early = take_early(client, bytes, size);
  if (early)
    return (ssize_t)early;
  int64_t got = platform_receive(client->descriptor, bytes, size);
  if (got <= 0)
    return fail(client, got < 0 && (errno == EAGAIN || errno == EINTR));
  client->heard_ns = client->now_ns;
  client->turn += (size_t)got;
  return (ssize_t)got;
}

static ssize_t transmit(wslay_event_context_ptr frames, const uint8_t *bytes, size_t size, int flags, void *opaque) {
  struct client *client = opaque;
  (void)frames, (void)flags;
  int64_t sent = platform_send(client->descriptor, bytes, size);
  if (sent < 0)
    return fail(client, errno == EAGAIN || errno == EINTR);
  client->moved_ns = client->now_ns;
  return (ssize_t)sent;
}

/* Handles a message of a web socket, which is one request of the protocol in messages.h. wslay calls this function for
 * each message that has arrived. A binary message closes the web socket. wslay itself answers pings and closes. */
static void hear(wslay_event_context_ptr frames, const struct wslay_event_on_msg_recv_arg *message, void *opaque) {
  struct client *client = opaque;
  if (message->opcode == WSLAY_TEXT_FRAME)
    messages_answer(client->messages, message->msg ? (const char *)message->msg : "", message->msg_length,
                    &client->lines);
  client->gone |= client->lines.lost;
  if (message->opcode == WSLAY_BINARY_FRAME && wslay_event_queue_close(frames, WSLAY_CODE_UNSUPPORTED_DATA, NULL, 0))
    client->gone = true;
  if (message->opcode == WSLAY_BINARY_FRAME || client->gone)
    wslay_event_shutdown_read(frames);
}

/* --- opening and closing a web socket --- */

static void free_client(struct client *client) {
  wslay_event_context_free(client->frames);
  messages_close(&client->messages);
  message_lines_free(&client->lines);
  free(client->early);
  free(client);
}

static struct client *make_client(struct web *web) {
  static const struct wslay_event_callbacks callbacks = {
      .recv_callback = receive, .send_callback = transmit, .on_msg_recv_callback = hear};
  struct error err;
  struct client *client = calloc(1, sizeof *client);
  if (!client)
    return NULL;
  if (wslay_event_context_server_init(&client->frames, &callbacks, client) ||
      messages_open(&client->messages, web->hub, &err)) {
    free_client(client);
    return NULL;
  }
  wslay_event_config_set_max_recv_msg_length(client->frames, MESSAGE_LINE_MAX);
  return client;
}

void web_socket_leave(struct web *web, struct visitor *visitor) {
  if (!visitor->client)
    return;
  free_client(visitor->client);
  visitor->client = NULL;
  web->socket_count--;
}

void web_socket_end(struct web *web, struct visitor *visitor) {
  web_socket_leave(web, visitor);
  web_visitor_enter(web, visitor, WEB_CUT);
  MHD_upgrade_action(visitor->handle, MHD_UPGRADE_ACTION_CLOSE);
}

/* Computes the header Sec-WebSocket-Accept from the request's Sec-WebSocket-Key. Returns 0, or -1 if memory is
 * short. */
static int accept_key(char accept[ACCEPT_SIZE], const char *key) {
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
  return av_base64_encode(accept, ACCEPT_SIZE, sum, sizeof sum) ? 0 : -1;
}

/* Begins the web socket: libmicrohttpd calls this function when the answer that accepts the web socket was sent. From
 * then on this file uses the connection's descriptor. early: bytes that arrived directly after the request. */
static void begin(void *opaque, struct MHD_Connection *connection, void *context, const char *early, size_t size,
                  MHD_socket descriptor, struct MHD_UpgradeResponseHandle *handle) {
  struct web *web = opaque;
  struct visitor *visitor = context;
  struct client *client = visitor->client;
  (void)connection;
  visitor->handle = handle;
  web_visitor_enter(web, visitor, WEB_SOCKET);
  platform_send_at_once(descriptor);
  client->limits = &web->limits;
  client->descriptor = descriptor;
  client->heard_ns = client->moved_ns = web->now_ns;
  client->early = size ? malloc(size) : NULL;
  client->gone = size && !client->early;
  client->held_back = client->early != NULL;
  if (client->early) {
    memcpy(client->early, early, size);
    client->early_size = size;
  }
}

static enum MHD_Result accept_socket(struct web *web, struct MHD_Connection *connection,
                                     const struct web_request *request) {
  char accept[ACCEPT_SIZE];
  struct MHD_Response *response = MHD_create_response_for_upgrade(begin, web);
  bool named = web_list_has(request->socket_protocols, "reverie");
  enum MHD_Result ready = response && !accept_key(accept, request->socket_key) &&
                          MHD_add_response_header(response, "Upgrade", "websocket") &&
                          MHD_add_response_header(response, "Sec-WebSocket-Accept", accept) &&
                          (!named || MHD_add_response_header(response, "Sec-WebSocket-Protocol", "reverie"));
  if (ready)
    ready = MHD_queue_response(connection, MHD_HTTP_SWITCHING_PROTOCOLS, response);
  if (response)
    MHD_destroy_response(response);
  return ready;
}

enum MHD_Result web_socket_enter(struct web *web, struct visitor *visitor, struct MHD_Connection *connection,
                                 const struct web_request *request) {
  bool in_address;
  if (strcmp(request->path, "/socket") || !web_comes_from_here(web, request) ||
      !web_has_token(web, connection, &in_address))
    return web_refuse(connection, MHD_HTTP_FORBIDDEN, "");
  if (web->socket_count == WEB_CLIENTS_MAX)
    return web_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "");
  visitor->client = make_client(web);
  if (!visitor->client)
    return MHD_NO;
  web->socket_count++;
  return accept_socket(web, connection, request);
}

/* --- serving a web socket each time that the server's thread comes to it --- */

bool web_socket_wants_to_read(const struct visitor *visitor) {
  const struct client *client = visitor->client;
  return client->closing_ns || (wslay_event_want_read(client->frames) && has_room(client));
}

bool web_socket_wants_to_write(const struct visitor *visitor) {
  return wslay_event_want_write(visitor->client->frames);
}

bool web_socket_is_unread(const struct visitor *visitor) {
  const struct client *client = visitor->client;
  return client->gone || (client->held_back && wslay_event_want_read(client->frames) && has_room(client));
}

bool web_socket_observes(const struct visitor *visitor) {
  return messages_observes(visitor->client->messages);
}

void web_socket_tell(struct web *web, struct visitor *visitor) {
  struct client *client = visitor->client;
  client->behind = !has_room(client);
  if (!client->behind)
    messages_tell(client->messages, &web->view, &client->lines);
}

static int put_frame(struct client *client, enum wslay_opcode kind, const char *text, size_t size) {
  const struct wslay_event_msg message = {(uint8_t)kind, (const uint8_t *)text, size};
  return wslay_event_queue_msg(client->frames, &message);
}

/* Moves lines that wait to be sent into frames of wslay's queue until the queue has BACKLOG_ENOUGH bytes. Returns 0 or
 * an error of wslay. Once the web socket is being closed, the lines are dropped. */
static int put_lines(struct client *client) {
  struct message_lines *lines = &client->lines;
  size_t put = 0;
  int status = 0;
  while (!status && put < lines->used && wslay_event_get_queued_msg_length(client->frames) < BACKLOG_ENOUGH) {
    const char *line = lines->text + put, *end = memchr(line, '\n', lines->used - put);
    size_t size = end ? (size_t)(end - line) : lines->used - put;
    status = put_frame(client, WSLAY_TEXT_FRAME, line, size);
    put += size + (end != NULL);
  }
  if (put)
    message_lines_sent(lines, put);
  return status == WSLAY_ERR_NO_MORE_MSG ? 0 : status;
}

/* Queues a ping if the client has sent nothing for limits->ping seconds and was sent no ping since then. Browsers
 * answer a ping; if a client does not, its connection is closed later. Returns 0, or 1 if memory is short. */
static int put_ping(struct client *client) {
  if (client->now_ns - client->heard_ns < seconds(client->limits->ping) || client->pinged_ns > client->heard_ns)
    return 0;
  client->pinged_ns = client->now_ns;
  return put_frame(client, WSLAY_PING, NULL, 0) == WSLAY_ERR_NOMEM;
}

/* Reads and drops bytes that arrive after the close frame was sent. If unread bytes were left, closing the socket would
 * reset the connection, and the close frame might be lost. */
static void drain(struct client *client) {
  char bytes[4096];
  int64_t got = platform_receive(client->descriptor, bytes, sizeof bytes);
  client->gone = !got || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static bool is_late(const struct client *client) {
  if (client->closing_ns)
    return client->now_ns - client->closing_ns > seconds(CLOSING_S);
  return client->now_ns - client->heard_ns > seconds(client->limits->hang_up) ||
         client->now_ns - client->moved_ns > seconds(client->limits->taken);
}

static void write_client(struct web *web, struct visitor *visitor) {
  struct client *client = visitor->client;
  if (client->behind && has_room(client))
    web_socket_tell(web, visitor);
  client->gone |= put_ping(client) || put_lines(client) || wslay_event_send(client->frames);
  if (!wslay_event_want_write(client->frames))
    client->moved_ns = client->now_ns;
  if (wslay_event_want_read(client->frames) || wslay_event_want_write(client->frames))
    return;
  client->closing_ns = client->now_ns;
  platform_end_sending(client->descriptor);
}

void web_socket_serve(struct web *web, struct visitor *visitor, bool readable) {
  struct client *client = visitor->client;
  client->now_ns = web->now_ns;
  client->turn = 0;
  if (client->closing_ns && readable)
    drain(client);
  else if (!client->closing_ns && (readable || web_socket_is_unread(visitor)))
    wslay_event_recv(client->frames);
  if (!client->closing_ns && !client->gone)
    write_client(web, visitor);
  if (client->gone || is_late(client))
    web_socket_end(web, visitor);
}
