#include "app/control/web.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <libwebsockets.h>

#include "app/control/messages.h"
#include "app/control/preview.h"
#include "app/control/web_gate.h"
#include "app/platform/app_platform_local.h"

/* The page's files, embedded (embed.sh). */
extern const char embed_web_index[], embed_web_index_end[], embed_web_style[], embed_web_style_end[];
extern const char embed_web_script[], embed_web_script_end[], embed_web_icon[], embed_web_icon_end[];

enum {
  /* A client with so much to read yet is not told of changes, and not asked for more. */
  BACKLOG_ENOUGH = 65536,
  FRESH_NS = 100000000, /* pictures are encoded no more often */
  HEAD_MAX = 2048,
  CONNECTIONS_MAX = 64,
  /* That web sockets and this program leave room for. */
  WAITING_MAX = CONNECTIONS_MAX - WEB_CLIENTS_MAX - 8,
  PATIENCE_S = 20, /* for the rest of a request, and the next one */
  PING_S = 10,
  HANG_UP_S = 30,
};

static const struct file {
  const char *path, *type, *begin, *end;
} files[] = {
    {"/", "text/html; charset=utf-8", embed_web_index, embed_web_index_end},
    {"/page.css", "text/css; charset=utf-8", embed_web_style, embed_web_style_end},
    {"/page.js", "text/javascript; charset=utf-8", embed_web_script, embed_web_script_end},
    {"/icon.svg", "image/svg+xml", embed_web_icon, embed_web_icon_end},
};

/* What libwebsockets keeps for each connection. */
struct session {
  struct client *client; /* of a web socket; owned, and in web->clients; NULL: it is none */
};

struct client {
  struct lws *wsi;
  struct messages *messages;
  struct message_lines lines; /* to be sent */
  char line[MESSAGE_LINE_MAX + 1];
  size_t used;    /* of line */
  bool held_back; /* nothing is read from it */
  bool behind;    /* it has not been told of all changes */
};

/* The thread's alone but for stop, observed and rung. */
struct web {
  struct hub *hub;
  struct web_address address;
  char machine[64], token[WEB_TOKEN_LENGTH + 1], cookie[32], url[WEB_URL_MAX];
  struct lws_context *context;
  struct client *clients[WEB_CLIENTS_MAX];
  struct lws *waiting[WAITING_MAX]; /* connections of which a request is awaited; who asked last is at the end */
  int waiting_count;
  struct message_view view;
  struct preview *preview;
  const uint8_t *jpeg; /* the preview's last; NULL: none */
  size_t jpeg_size;
  int64_t jpeg_ns;
  struct hub_watch watch;
  pthread_t thread;
  atomic_bool stop, observed, rung;
};

/* --- connections --- */

static void forget(struct web *web, const struct lws *wsi) {
  for (int i = 0; i < web->waiting_count; i++)
    if (web->waiting[i] == wsi) {
      memmove(&web->waiting[i], &web->waiting[i + 1], (size_t)(--web->waiting_count - i) * sizeof *web->waiting);
      return;
    }
}

/* Where there are too many, the one that has been silent longest goes: browsers ask at once, and ask again. */
static void await_request(struct web *web, struct lws *wsi) {
  forget(web, wsi);
  if (web->waiting_count == WAITING_MAX) {
    struct lws *silent = web->waiting[0];
    forget(web, silent);
    lws_set_timeout(silent, PENDING_TIMEOUT_AWAITING_CLIENT_HS_SEND, LWS_TO_KILL_ASYNC);
  }
  web->waiting[web->waiting_count++] = wsi;
}

/* --- who may come in --- */

/* NULL: it was not sent, or is too long. */
static const char *header(struct lws *wsi, enum lws_token_indexes token, char *text, int size) {
  return lws_hdr_copy(wsi, text, size, token) > 0 ? text : NULL;
}

static bool comes_from_here(const struct web *web, struct lws *wsi) {
  char host[256], origin[300];
  bool foreign = lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) >= (int)sizeof origin;
  const char *name = header(wsi, WSI_TOKEN_HOST, host, sizeof host);
  return !foreign && web_host_is_ours(&web->address, name, web->machine) &&
         web_origin_is_ours(header(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin), name);
}

static bool has_token(const struct web *web, struct lws *wsi, bool *in_address) {
  char argument[128], cookie[WEB_TOKEN_LENGTH + 1];
  size_t size = sizeof cookie;
  const char *given = lws_get_urlarg_by_name(wsi, "token=", argument, sizeof argument);
  *in_address = given && web_token_is(web->token, given);
  return web->address.loopback || *in_address ||
         (!lws_http_cookie_get(wsi, web->cookie, cookie, &size) && web_token_is(web->token, cookie));
}

/* --- HTTP --- */

struct head {
  unsigned char bytes[LWS_PRE + HEAD_MAX], *at;
  bool overflowed;
};

static void add(struct lws *wsi, struct head *head, const char *name, const char *value) {
  head->overflowed |= lws_add_http_header_by_name(wsi, (const unsigned char *)name, (const unsigned char *)value,
                                                  (int)strlen(value), &head->at, head->bytes + sizeof head->bytes);
}

/* Scripts and connections are this page's own; no other page can show it, or read from it. */
static void begin_head(struct lws *wsi, struct head *head, int status, const char *type, size_t size) {
  head->at = head->bytes + LWS_PRE;
  head->overflowed =
      lws_add_http_common_headers(wsi, (unsigned)status, type, size, &head->at, head->bytes + sizeof head->bytes);
  add(wsi, head, "content-security-policy:",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
      "form-action 'none'; frame-ancestors 'none'");
  add(wsi, head, "x-content-type-options:", "nosniff");
  add(wsi, head, "referrer-policy:", "no-referrer");
  add(wsi, head, "cross-origin-resource-policy:", "same-origin");
  add(wsi, head, "cache-control:", "no-store");
}

static int end_head(struct lws *wsi, struct head *head) {
  return head->overflowed ||
                 lws_finalize_write_http_header(wsi, head->bytes + LWS_PRE, &head->at, head->bytes + sizeof head->bytes)
             ? -1
             : 0;
}

/* What the network does not take at once libwebsockets keeps. Non-zero ends the connection. */
static int send_body(struct lws *wsi, int status, const char *type, const void *body, size_t size) {
  struct head head;
  begin_head(wsi, &head, status, type, size);
  if (end_head(wsi, &head))
    return -1;
  unsigned char *copy = size ? malloc(LWS_PRE + size) : NULL;
  if (size && !copy)
    return -1;
  if (copy)
    memcpy(copy + LWS_PRE, body, size);
  int sent = copy ? lws_write(wsi, copy + LWS_PRE, size, LWS_WRITE_HTTP_FINAL) : 0;
  free(copy);
  return sent < 0 || lws_http_transaction_completed(wsi) ? -1 : 0;
}

static int refuse(struct lws *wsi, unsigned status, const char *words) {
  return lws_return_http_status(wsi, status, words) || lws_http_transaction_completed(wsi) ? -1 : 0;
}

/* From then on the browser has the token, and the address shows it no more. */
static int leave_cookie(struct web *web, struct lws *wsi) {
  struct head head;
  char cookie[160];
  snprintf(cookie, sizeof cookie, "%s=%s; Path=/; HttpOnly; SameSite=Strict", web->cookie, web->token);
  begin_head(wsi, &head, HTTP_STATUS_SEE_OTHER, "text/plain", 0);
  add(wsi, &head, "location:", "/");
  add(wsi, &head, "set-cookie:", cookie);
  return end_head(wsi, &head) || lws_http_transaction_completed(wsi) ? -1 : 0;
}

static void encode(struct web *web) {
  struct frame picture;
  struct error err;
  if (!hub_get_picture(web->hub, &picture))
    return;
  web->jpeg = NULL;
  if (frame_wait(&picture, MEMORY_HOST, &err) < 0 ||
      preview_encode(web->preview, &picture, &web->jpeg, &web->jpeg_size, &err))
    web->jpeg = NULL;
  hub_put_back(web->hub, &picture);
}

static int send_picture(struct web *web, struct lws *wsi) {
  int64_t now_ns = platform_now_ns();
  if (!web->jpeg || now_ns - web->jpeg_ns > FRESH_NS) {
    encode(web);
    web->jpeg_ns = now_ns;
  }
  if (!web->jpeg)
    return send_body(wsi, HTTP_STATUS_NO_CONTENT, "image/jpeg", "", 0);
  return send_body(wsi, HTTP_STATUS_OK, "image/jpeg", web->jpeg, web->jpeg_size);
}

static int answer(struct web *web, struct lws *wsi, const char *path) {
  bool in_address;
  if (!comes_from_here(web, wsi))
    return refuse(wsi, HTTP_STATUS_FORBIDDEN, "This address is not the page's own.");
  if (!has_token(web, wsi, &in_address))
    return refuse(wsi, HTTP_STATUS_FORBIDDEN, "The address that the program printed has a token in it.");
  if (!lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI))
    return refuse(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED, "GET is understood.");
  if (in_address && !web->address.loopback)
    return leave_cookie(web, wsi);
  if (!strcmp(path, "/picture.jpg"))
    return send_picture(web, wsi);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (!strcmp(files[i].path, path))
      return send_body(wsi, HTTP_STATUS_OK, files[i].type, files[i].begin, (size_t)(files[i].end - files[i].begin));
  return refuse(wsi, HTTP_STATUS_NOT_FOUND, "There is no such file.");
}

/* --- web sockets --- */

/* Non-zero refuses. */
static int admit(struct web *web, struct lws *wsi) {
  bool in_address;
  char path[32];
  const char *given = header(wsi, WSI_TOKEN_GET_URI, path, sizeof path);
  return !given || strcmp(given, "/socket") || !comes_from_here(web, wsi) || !has_token(web, wsi, &in_address);
}

static struct client **find_place(struct web *web, const struct client *client) {
  for (int i = 0; i < WEB_CLIENTS_MAX; i++)
    if (web->clients[i] == client)
      return &web->clients[i];
  return NULL;
}

static int enter(struct web *web, struct lws *wsi, struct session *session) {
  struct error err;
  struct client **place = find_place(web, NULL), *client = place ? calloc(1, sizeof *client) : NULL;
  if (!client || messages_open(&client->messages, web->hub, &err)) {
    free(client);
    return -1;
  }
  client->wsi = wsi;
  session->client = *place = client;
  return 0;
}

static void leave(struct web *web, struct session *session) {
  struct client *client = session->client;
  if (!client)
    return;
  *find_place(web, client) = NULL;
  messages_close(&client->messages);
  message_lines_free(&client->lines);
  free(client);
  session->client = NULL;
}

static bool anyone_observes(const struct web *web) {
  for (int i = 0; i < WEB_CLIENTS_MAX; i++)
    if (web->clients[i] && messages_observes(web->clients[i]->messages))
      return true;
  return false;
}

static void wake(void *opaque) {
  struct web *web = opaque;
  if (atomic_load(&web->observed) && !atomic_exchange(&web->rung, true))
    lws_cancel_service(web->context);
}

/* Tells what has changed. */
static void look(struct web *web) {
  atomic_store(&web->rung, false);
  atomic_store(&web->observed, anyone_observes(web));
  if (!atomic_load(&web->observed))
    return;
  hub_get_values(web->hub, &web->view.values);
  hub_get_figures(web->hub, &web->view.figures);
  for (int i = 0; i < WEB_CLIENTS_MAX; i++) {
    struct client *client = web->clients[i];
    if (client)
      client->behind = client->lines.used >= BACKLOG_ENOUGH;
    if (!client || client->behind)
      continue;
    messages_tell(client->messages, &web->view, &client->lines);
    if (client->lines.used)
      lws_callback_on_writable(client->wsi);
  }
}

static void hold_back(struct client *client, bool held_back) {
  if (client->held_back != held_back)
    lws_rx_flow_control(client->wsi, !held_back);
  client->held_back = held_back;
}

/* One message is one line. Non-zero ends the connection. */
static int receive(struct web *web, struct client *client, const void *bytes, size_t size) {
  if (lws_frame_is_binary(client->wsi) || client->used + size > sizeof client->line) {
    lws_close_reason(client->wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, NULL, 0);
    return -1;
  }
  memcpy(client->line + client->used, bytes, size);
  client->used += size;
  if (lws_remaining_packet_payload(client->wsi) || !lws_is_final_fragment(client->wsi))
    return 0;
  messages_answer(client->messages, client->line, client->used, &client->lines);
  client->used = 0;
  look(web);
  hold_back(client, client->lines.used >= BACKLOG_ENOUGH);
  lws_callback_on_writable(client->wsi);
  return client->lines.lost ? -1 : 0;
}

/* A line at a time. Non-zero ends the connection. */
static int send_line(struct web *web, struct client *client) {
  const char *end = client->lines.used ? memchr(client->lines.text, '\n', client->lines.used) : NULL;
  if (!end)
    return 0;
  size_t size = (size_t)(end - client->lines.text);
  unsigned char *copy = malloc(LWS_PRE + size);
  if (!copy)
    return -1;
  memcpy(copy + LWS_PRE, client->lines.text, size);
  int sent = lws_write(client->wsi, copy + LWS_PRE, size, LWS_WRITE_TEXT);
  free(copy);
  message_lines_sent(&client->lines, size + 1);
  hold_back(client, client->lines.used >= BACKLOG_ENOUGH);
  if (client->behind && !client->held_back)
    look(web);
  if (client->lines.used)
    lws_callback_on_writable(client->wsi);
  return sent < 0 ? -1 : 0;
}

/* --- the server --- */

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t size) {
  struct session *session = user;
  struct lws_context *context = lws_get_context(wsi);
  struct web *web = context ? lws_context_user(context) : NULL;
  switch (reason) {
  case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
    await_request(web, wsi);
    return 0;
  case LWS_CALLBACK_WSI_DESTROY:
    if (web)
      forget(web, wsi);
    return 0;
  case LWS_CALLBACK_HTTP:
    await_request(web, wsi);
    return answer(web, wsi, in);
  case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
    return admit(web, wsi);
  case LWS_CALLBACK_ESTABLISHED:
    forget(web, wsi);
    return enter(web, wsi, session);
  case LWS_CALLBACK_RECEIVE:
    return session->client ? receive(web, session->client, in, size) : -1;
  case LWS_CALLBACK_SERVER_WRITEABLE:
    return session->client ? send_line(web, session->client) : -1;
  case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
    if (web)
      look(web);
    return 0;
  case LWS_CALLBACK_CLOSED:
    leave(web, session);
    return 0;
  default:
    return 0;
  }
}

static void *web_main(void *opaque) {
  struct web *web = opaque;
  while (!atomic_load(&web->stop) && lws_service(web->context, 0) >= 0)
    ;
  return NULL;
}

static int make_token(struct web *web, const struct web_key *key, struct error *err) {
  unsigned char bytes[WEB_TOKEN_LENGTH / 2];
  if (key) {
    snprintf(web->token, sizeof web->token, "%s", key->token);
    return 0;
  }
  if (lws_get_random(web->context, bytes, sizeof bytes) != sizeof bytes)
    return error_set(err, STATUS_FAILED, "--web: no random token can be made");
  for (size_t i = 0; i < sizeof bytes; i++)
    snprintf(web->token + 2 * i, 3, "%02x", bytes[i]);
  return 0;
}

/* As others reach it. */
static void make_url(struct web *web) {
  char host[64] = "";
  snprintf(host, sizeof host, "%s", web->address.host);
  if (!*host && !platform_own_address(host, sizeof host))
    snprintf(host, sizeof host, "%s", web->machine);
  bool v6 = strchr(host, ':');
  snprintf(web->url, sizeof web->url, "http://%s%s%s:%d/%s%s", v6 ? "[" : "", host, v6 ? "]" : "", web->address.port,
           web->address.loopback ? "" : "?token=", web->address.loopback ? "" : web->token);
  snprintf(web->cookie, sizeof web->cookie, "reverie_%d", web->address.port);
}

static int listen_at(struct web *web, const char *where, struct error *err) {
  static const struct lws_protocols protocols[] = {{.name = "reverie",
                                                    .callback = on_event,
                                                    .per_session_data_size = sizeof(struct session),
                                                    .rx_buffer_size = 4096},
                                                   {0}};
  static const lws_retry_bo_t patience = {.secs_since_valid_ping = PING_S, .secs_since_valid_hangup = HANG_UP_S};
  const struct lws_context_creation_info info = {
      .port = web->address.port,
      .iface = *web->address.host ? web->address.host : NULL,
      .protocols = protocols,
      .user = web,
      .gid = (gid_t)-1,
      .uid = (uid_t)-1,
      /* With IPv6, libwebsockets takes an IPv4 address for all addresses. */
      .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
                 (web->address.ipv4 ? LWS_SERVER_OPTION_DISABLE_IPV6 : 0),
      .server_string = "reverie",
      .fd_limit_per_thread = CONNECTIONS_MAX,
      .timeout_secs = PATIENCE_S,
      .keepalive_timeout = PATIENCE_S,
      .retry_and_idle_policy = &patience,
  };
  errno = 0;
  web->context = lws_create_context(&info);
  struct lws_vhost *vhost = web->context ? lws_create_vhost(web->context, &info) : NULL;
  if (!vhost || lws_get_vhost_listen_port(vhost) <= 0)
    return error_set(err, STATUS_USAGE, "--web=%.60s: %s:%d cannot be listened at: %s", where,
                     *web->address.host ? web->address.host : "*", web->address.port,
                     errno ? strerror(errno) : "there is no such interface, or another program listens there");
  web->address.port = lws_get_vhost_listen_port(vhost);
  return 0;
}

static void end(struct web **pointer) {
  hub_unwatch((*pointer)->hub, &(*pointer)->watch);
  if ((*pointer)->context)
    lws_context_destroy((*pointer)->context);
  preview_close(&(*pointer)->preview);
  free(*pointer);
  *pointer = NULL;
}

int web_open(struct web **out, const char *where, const struct web_key *key, struct hub *hub, struct error *err) {
  struct web *web = calloc(1, sizeof *web);
  int code;
  if (!web)
    return error_set(err, STATUS_FAILED, "--web: no memory");
  web->hub = hub;
  lws_set_log_level(0, NULL);
  platform_machine_name(web->machine, sizeof web->machine);
  if (web_read_address(&web->address, where, err))
    goto fail;
  if (key && !web->address.port)
    web->address.port = key->port;
  if (preview_open(&web->preview, err) || listen_at(web, where, err) || make_token(web, key, err))
    goto fail;
  make_url(web);
  web->watch = (struct hub_watch){.wake = wake, .opaque = web};
  hub_watch(hub, &web->watch);
  code = pthread_create(&web->thread, NULL, web_main, web);
  if (code) {
    error_set(err, STATUS_FAILED, "--web: no thread can be started: %s", strerror(code));
    goto fail;
  }
  *out = web;
  return 0;
fail:
  end(&web);
  return -1;
}

void web_close(struct web **pointer) {
  struct web *web = *pointer;
  if (!web)
    return;
  atomic_store(&web->stop, true);
  lws_cancel_service(web->context);
  pthread_join(web->thread, NULL);
  end(pointer);
}

const char *web_url(const struct web *web) {
  return web->url;
}

void web_get_key(const struct web *web, struct web_key *key) {
  key->port = web->address.port;
  memcpy(key->token, web->token, sizeof key->token);
}
