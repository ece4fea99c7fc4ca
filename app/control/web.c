#include "app/control/web_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform_network.h"

enum {
  TICK_MS = 500, /* how often connections are looked at for having had their time */
  PAUSE_NS = 10000000,
};

static bool anyone_observes(const struct web *web) {
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++)
    if (web->visitors[i] && web->visitors[i]->client && messages_observes(web->visitors[i]->client->messages))
      return true;
  return false;
}

static void wake(void *opaque) {
  struct web *web = opaque;
  if (atomic_load(&web->observed) && !atomic_exchange(&web->rung, true))
    platform_ring(web->alarm[1]);
}

static void tell_all(struct web *web) {
  hub_get_values(web->hub, &web->view.values);
  hub_get_figures(web->hub, &web->view.figures);
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++)
    if (web->visitors[i] && web->visitors[i]->client && web->visitors[i]->connection.stage == WEB_SOCKET)
      web_socket_tell(web, web->visitors[i]);
}

/* --- a visitor's turn --- */

/* Returns 0, or -1, which ends the connection. */
static int read_request(struct web *web, struct visitor *visitor) {
  struct web_connection *c = &visitor->connection;
  struct web_request request;
  size_t size = web_head_size(c->in, c->in_size);
  c->keeps = false;
  if (!size && c->in_size == sizeof c->in)
    return web_refuse(web, c, 431, "");
  if (!size)
    return 0;
  int wrong = web_request_read(&request, c->in, size), status;
  if (wrong)
    return web_refuse(web, c, wrong, "");
  c->keeps = web_request_keeps(&request);
  status = web_request_is_socket(&request) ? web_socket_enter(web, visitor, &request) : web_answer(web, c, &request);
  web_connection_use(c, size);
  return status;
}

/* Goes on with what has come, as far as that is possible now. Returns 0, or -1, which ends the connection. */
static int read_visitor(struct web *web, struct visitor *visitor) {
  int status = 0;
  visitor->unread = false;
  if (visitor->connection.stage == WEB_AWAITS)
    status = read_request(web, visitor);
  if (!status && visitor->connection.stage == WEB_SOCKET)
    status = web_socket_read(web, visitor);
  return status;
}

static int write_visitor(struct web *web, struct visitor *visitor) {
  struct web_connection *c = &visitor->connection;
  enum web_stage before = c->stage;
  if (c->stage == WEB_SOCKET && web_socket_write(web, visitor))
    return -1;
  size_t waiting = c->out_size;
  if (!web_connection_send(c, web->now_ns))
    return -1;
  /* A further request, or frames that were held back, may lie there. */
  visitor->unread |= c->in_size && (c->stage != before || c->out_size < waiting);
  return 0;
}

/* Returns whether it stays. */
static bool serve(struct web *web, struct visitor *visitor, bool readable) {
  struct web_connection *c = &visitor->connection;
  if (readable && web_connection_can_receive(c)) {
    if (!web_connection_receive(c, web->now_ns))
      return false;
    visitor->unread = true;
  }
  if (visitor->unread && read_visitor(web, visitor))
    return false;
  return !write_visitor(web, visitor) && !web_connection_is_late(c, web->now_ns);
}

static void drop(struct web *web, struct visitor **pointer) {
  web_socket_leave(web, *pointer);
  web_connection_end(&(*pointer)->connection);
  free(*pointer);
  *pointer = NULL;
}

/* --- the server --- */

/* Finds a place for another connection: a free one, or that of the visitor who has gone on longest without a web
 * socket: browsers ask at once, and ask again. */
static struct visitor **find_place(struct web *web) {
  struct visitor **oldest = NULL;
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++) {
    struct visitor **place = &web->visitors[i];
    if (!*place)
      return place;
    if (!(*place)->client && (!oldest || (*place)->connection.since_ns < (*oldest)->connection.since_ns))
      oldest = place;
  }
  drop(web, oldest);
  return oldest;
}

static void admit(struct web *web) {
  int descriptor = platform_accept(web->listener);
  if (descriptor < 0) { /* too many files are open, or the client is gone again */
    platform_sleep_ns(PAUSE_NS);
    return;
  }
  struct visitor *visitor = calloc(1, sizeof *visitor);
  if (!visitor) {
    platform_close_descriptor(descriptor);
    return;
  }
  platform_send_at_once(descriptor);
  web_connection_begin(&visitor->connection, descriptor, web->now_ns);
  *find_place(web) = visitor;
}

enum { WISH_ALARM, WISH_LISTENER, WISH_VISITORS, WISHES = WISH_VISITORS + WEB_CONNECTIONS_MAX };

/* How long nothing is to be done but what the sockets call for; negative: for ever. */
static int time_left_ms(const struct web *web) {
  int wait_ms = -1;
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++) {
    if (web->visitors[i] && web->visitors[i]->unread)
      return 0;
    wait_ms = web->visitors[i] ? TICK_MS : wait_ms;
  }
  return wait_ms;
}

static bool wants_to_write(const struct visitor *visitor) {
  return visitor->connection.out_size || (visitor->client && visitor->client->lines.used);
}

static void wait_for(struct web *web, struct platform_wish wishes[WISHES]) {
  wishes[WISH_ALARM] = (struct platform_wish){.descriptor = web->alarm[0], .read = true};
  wishes[WISH_LISTENER] = (struct platform_wish){.descriptor = web->listener, .read = true};
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++) {
    const struct visitor *visitor = web->visitors[i];
    wishes[WISH_VISITORS + i] = (struct platform_wish){.descriptor = -1};
    if (visitor)
      wishes[WISH_VISITORS + i] = (struct platform_wish){
          visitor->connection.descriptor, web_connection_can_receive(&visitor->connection), wants_to_write(visitor)};
  }
  platform_wait_for(wishes, WISHES, time_left_ms(web));
  web->now_ns = platform_now_ns();
  if (!wishes[WISH_ALARM].read)
    return;
  platform_hush(web->alarm[0]);
  atomic_store(&web->rung, false);
}

static void *web_main(void *opaque) {
  struct web *web = opaque;
  struct platform_wish wishes[WISHES];
  while (!atomic_load(&web->stop)) {
    wait_for(web, wishes);
    for (int i = 0; i < WEB_CONNECTIONS_MAX; i++)
      if (web->visitors[i] && !serve(web, web->visitors[i], wishes[WISH_VISITORS + i].read))
        drop(web, &web->visitors[i]);
    if (wishes[WISH_LISTENER].read)
      admit(web);
    atomic_store(&web->observed, anyone_observes(web));
    if (atomic_load(&web->observed))
      tell_all(web);
  }
  return NULL;
}

static int make_token(struct web *web, const struct web_key *key, struct error *err) {
  unsigned char bytes[WEB_TOKEN_LENGTH / 2];
  if (key) {
    snprintf(web->token, sizeof web->token, "%s", key->token);
    return 0;
  }
  if (platform_random(bytes, sizeof bytes))
    return error_set(err, STATUS_FAILED, "--web: no random token can be made: %s", strerror(errno));
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
  web->listener = platform_listen_to_network(web->address.host, sizeof web->address.host, &web->address.port);
  if (web->listener >= 0)
    return 0;
  const char *why = errno == EADDRINUSE ? "another program listens there: choose another port"
                    : errno == ENODEV   ? "there is no such address and no such interface"
                                        : strerror(errno);
  return error_set(err, STATUS_USAGE, "--web=%.60s: %s:%d cannot be listened at: %s", where,
                   *web->address.host ? web->address.host : "*", web->address.port, why);
}

static void end(struct web **pointer) {
  struct web *web = *pointer;
  hub_unwatch(web->hub, &web->watch);
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++)
    if (web->visitors[i])
      drop(web, &web->visitors[i]);
  if (web->listener >= 0)
    platform_close_descriptor(web->listener);
  if (web->alarm[1])
    platform_end_alarm(web->alarm);
  preview_close(&web->preview);
  covering_free(&web->covering);
  free(web);
  *pointer = NULL;
}

static int make_alarm(struct web *web, struct error *err) {
  return platform_make_alarm(web->alarm) ? error_set(err, STATUS_FAILED, "--web: %s", strerror(errno)) : 0;
}

int web_open(struct web **out, const char *where, const struct web_key *key, struct hub *hub, struct error *err) {
  struct web *web = calloc(1, sizeof *web);
  int code;
  if (!web)
    return error_set(err, STATUS_FAILED, "--web: no memory");
  web->hub = hub;
  web->listener = -1;
  platform_machine_name(web->machine, sizeof web->machine);
  if (web_read_address(&web->address, where, err))
    goto fail;
  if (key && !web->address.port)
    web->address.port = key->port;
  if (make_alarm(web, err) || preview_open(&web->preview, err) || listen_at(web, where, err) ||
      make_token(web, key, err))
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

bool web_close(struct web **pointer, int wait_ms) {
  struct web *web = *pointer;
  if (!web)
    return true;
  atomic_store(&web->stop, true);
  platform_ring(web->alarm[1]);
  if (!platform_join(web->thread, wait_ms))
    return false;
  end(pointer);
  return true;
}

const char *web_url(const struct web *web) {
  return web->url;
}

void web_get_key(const struct web *web, struct web_key *key) {
  key->port = web->address.port;
  memcpy(key->token, web->token, sizeof key->token);
}
