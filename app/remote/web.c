#include "app/remote/web_impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform_network.h"
#include "unet/base/text.h"

enum {
  TICK_MS = 500, /* milliseconds between checks of the time limits of connections */
  PAUSE_NS = 10000000,
  /* bytes of memory that libmicrohttpd may use for each connection: for the head of the request, its parsed form, and
   * the answer's head */
  CONNECTION_BYTES = 2 * WEB_HEAD_MAX,
};

#define SECOND_NS INT64_C(1000000000)

static bool anyone_observes(const struct web *web) {
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++)
    if (web->visitors[i].stage == WEB_SOCKET && web_socket_observes(&web->visitors[i]))
      return true;
  return false;
}

static void wake(void *opaque) {
  struct web *web = opaque;
  if (atomic_load(&web->observed) && !atomic_exchange(&web->rung, true))
    platform_ring(web->alarm[1]);
}

static void tell_all(struct web *web) {
  web->view.hub = web->hub;
  hub_get_values(web->hub, &web->view.values);
  hub_get_figures(web->hub, &web->view.figures);
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++)
    if (web->visitors[i].stage == WEB_SOCKET)
      web_socket_tell(web, &web->visitors[i]);
}

/* --- visitors (connections): admitting them, and closing their connections --- */

/* Shuts down a connection's socket. libmicrohttpd notices that and frees the connection. */
static void cut(struct web *web, struct visitor *visitor) {
  web_visitor_enter(web, visitor, WEB_CUT);
  platform_end_connection(visitor->descriptor);
}

/* Closes the connection that has waited longest for its request or for the end of its answer, to leave room for a new
 * connection. Web sockets are not closed. Browsers connect again if they need to. */
static void make_room(struct web *web) {
  struct visitor *oldest = NULL;
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++) {
    struct visitor *visitor = &web->visitors[i];
    bool waits = visitor->stage == WEB_AWAITS || visitor->stage == WEB_ANSWERS;
    if (visitor->stage == WEB_CUT)
      return;
    if (waits && (!oldest || visitor->since_ns < oldest->since_ns))
      oldest = visitor;
  }
  if (oldest)
    cut(web, oldest);
}

static struct visitor *admit(struct web *web, struct MHD_Connection *connection) {
  struct visitor *visitor = web->visitors;
  /* finds an unused element of the array of visitors; there is one, because libmicrohttpd accepts at most
   * WEB_CONNECTIONS_MAX connections */
  while (visitor->stage != WEB_FREE)
    visitor++;
  *visitor = (struct visitor){.descriptor =
                                  MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd};
  web_visitor_enter(web, visitor, WEB_AWAITS);
  if (++web->visitor_count == WEB_CONNECTIONS_MAX)
    make_room(web);
  return visitor;
}

static void come_or_go(void *opaque, struct MHD_Connection *connection, void **place,
                       enum MHD_ConnectionNotificationCode code) {
  struct web *web = opaque;
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    *place = admit(web, connection);
    return;
  }
  struct visitor *visitor = *place;
  web_socket_leave(web, visitor);
  web_visitor_enter(web, visitor, WEB_FREE);
  web->visitor_count--;
  web->freed = true;
}

/* Answers a request. libmicrohttpd calls this first with the head of a request, and again with the whole request. A
 * wrong request, or one with a body, is answered at the first call, and libmicrohttpd closes the connection. All others
 * are answered at the second call, and the connection stays open. */
static enum MHD_Result hear(void *opaque, struct MHD_Connection *connection, const char *path, const char *method,
                            const char *version, const char *body, size_t *body_size, void **context) {
  struct web *web = opaque;
  struct visitor *visitor = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
  struct web_request request;
  bool again = *context;
  (void)body;
  *context = visitor;
  if (*body_size) {
    *body_size = 0;
    return MHD_YES;
  }
  web_request_read(&request, connection, method, path, version);
  if (!again && !request.has_body && !request.wrong)
    return MHD_YES;
  web_visitor_enter(web, visitor, WEB_ANSWERS);
  if (request.wrong)
    return web_refuse(connection, (unsigned)request.wrong, "");
  return web_request_is_socket(&request) ? web_socket_enter(web, visitor, connection, &request)
                                         : web_answer(web, connection, &request);
}

static void complete(void *opaque, struct MHD_Connection *connection, void **context,
                     enum MHD_RequestTerminationCode code) {
  struct visitor *visitor = *context;
  (void)connection, (void)code;
  if (visitor && visitor->stage == WEB_ANSWERS)
    web_visitor_enter(opaque, visitor, WEB_AWAITS);
}

/* True if a request or an answer takes longer than its time limit, even if some bytes still arrive or are sent. */
static bool is_late(const struct web *web, const struct visitor *visitor) {
  int64_t stage_ns = web->now_ns - visitor->since_ns;
  return (visitor->stage == WEB_AWAITS && stage_ns > web->limits.request * SECOND_NS) ||
         (visitor->stage == WEB_ANSWERS && stage_ns > web->limits.answer * SECOND_NS);
}

/* Closes connections whose other end has been closed. libmicrohttpd does not notice the close if it arrived together
 * with a request, and would wait for a further request. */
static void cut_ended(struct web *web) {
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++)
    if (web->visitors[i].stage == WEB_AWAITS && platform_is_at_end(web->visitors[i].descriptor))
      cut(web, &web->visitors[i]);
}

/* --- the server's thread, and opening and closing the server --- */

enum { WISH_ALARM, WISH_DAEMON, WISH_VISITORS, WISHES = WISH_VISITORS + WEB_CONNECTIONS_MAX };

static int daemon_time_left_ms(const struct web *web) {
  MHD_UNSIGNED_LONG_LONG left;
  return MHD_get_timeout(web->daemon, &left) && left < TICK_MS ? (int)left : TICK_MS;
}

/* Returns for how many milliseconds the server's thread may wait for sockets and for other threads' signals (the pipe
 * web->alarm): 0 if something can be done at once; negative: no limit. */
static int time_left_ms(const struct web *web) {
  if (web->freed)
    return 0;
  if (!web->visitor_count)
    return -1;
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++)
    if (web->visitors[i].stage == WEB_SOCKET && web_socket_is_unread(&web->visitors[i]))
      return 0;
  return daemon_time_left_ms(web);
}

static void wait_for(struct web *web, struct platform_wish wishes[WISHES]) {
  wishes[WISH_ALARM] = (struct platform_wish){.descriptor = web->alarm[0], .read = true};
  wishes[WISH_DAEMON] = (struct platform_wish){.descriptor = web->daemon_events, .read = true};
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++) {
    const struct visitor *visitor = &web->visitors[i];
    wishes[WISH_VISITORS + i] = (struct platform_wish){.descriptor = -1};
    if (visitor->stage == WEB_SOCKET)
      wishes[WISH_VISITORS + i] = (struct platform_wish){visitor->descriptor, web_socket_wants_to_read(visitor),
                                                         web_socket_wants_to_write(visitor)};
  }
  platform_wait_for(wishes, WISHES, time_left_ms(web));
  web->now_ns = platform_now_ns();
  if (!wishes[WISH_ALARM].read)
    return;
  platform_clear_alarm(web->alarm[0]);
  atomic_store(&web->rung, false);
}

static void run_daemon(struct web *web, bool has_events) {
  bool nobody = !web->visitor_count;
  web->freed = false;
  MHD_run(web->daemon);
  /* a connection waits to be accepted, but this process has no free file descriptor for it; without a pause the loop
   * would try again at once, without end */
  if (nobody && has_events && !web->visitor_count && !web->freed)
    platform_sleep_ns(PAUSE_NS);
}

static void serve(struct web *web, const struct platform_wish wishes[WISHES]) {
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++) {
    struct visitor *visitor = &web->visitors[i];
    if (visitor->stage == WEB_SOCKET)
      web_socket_serve(web, visitor, wishes[WISH_VISITORS + i].read);
    else if (is_late(web, visitor))
      cut(web, visitor);
  }
  run_daemon(web, wishes[WISH_DAEMON].read);
  /* libmicrohttpd may still have to read a request that arrived before the other end closed the connection, so no
   * connection is closed as long as it has work (time left 0 ms) */
  if (daemon_time_left_ms(web))
    cut_ended(web);
}

static void *web_main(void *opaque) {
  struct web *web = opaque;
  struct platform_wish wishes[WISHES];
  while (!atomic_load(&web->stop)) {
    wait_for(web, wishes);
    serve(web, wishes);
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
  text_hex(web->token, bytes, sizeof bytes);
  return 0;
}

/* Makes web->url, the URL of the page, with the token if one is needed. With this URL other machines reach the page, or
 * only this machine if others cannot. */
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

/* Starts libmicrohttpd's daemon. The daemon owns the listening descriptor from then on, unless it cannot start. Returns
 * 0, or -1 with err set. */
static int start_daemon(struct web *web, int listener, struct error *err) {
  web->daemon =
      MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_UPGRADE, 0, NULL, NULL, hear, web, MHD_OPTION_LISTEN_SOCKET,
                       (MHD_socket)listener, MHD_OPTION_CONNECTION_LIMIT, (unsigned)WEB_CONNECTIONS_MAX,
                       MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
                       (unsigned)web->limits.taken, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION,
                       come_or_go, web, MHD_OPTION_NOTIFY_COMPLETED, complete, web, MHD_OPTION_END);
  if (!web->daemon)
    return error_set(err, STATUS_FAILED, "--web: libmicrohttpd cannot start: %s", strerror(errno));
  web->daemon_events = MHD_get_daemon_info(web->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
  return 0;
}

static int listen_at(struct web *web, const char *where, struct error *err) {
  int listener = platform_listen_to_network(web->address.host, sizeof web->address.host, &web->address.port);
  if (listener >= 0)
    return start_daemon(web, listener, err);
  const char *why = errno == EADDRINUSE ? "another program listens there: choose another port"
                    : errno == ENODEV   ? "there is no such address and no such interface"
                                        : strerror(errno);
  return error_set(err, STATUS_USAGE, "--web=%.60s: %s:%d cannot be listened at: %s", where,
                   *web->address.host ? web->address.host : "*", web->address.port, why);
}

/* Closes all connections and stops libmicrohttpd's daemon: first the web sockets are closed, as libmicrohttpd requires;
 * the daemon closes the other connections. */
static void end_daemon(struct web *web) {
  for (int i = 0; i < WEB_CONNECTIONS_MAX; i++)
    if (web->visitors[i].stage == WEB_SOCKET)
      web_socket_end(web, &web->visitors[i]);
  if (web->daemon)
    MHD_stop_daemon(web->daemon);
}

static void end(struct web **pointer) {
  struct web *web = *pointer;
  hub_unwatch(web->hub, &web->watch);
  end_daemon(web);
  if (web->alarm[1])
    platform_end_alarm(web->alarm);
  preview_close(&web->preview);
  cover_pixels_free(&web->cover_pixels);
  free(web);
  *pointer = NULL;
}

static int make_alarm(struct web *web, struct error *err) {
  return platform_make_alarm(web->alarm) ? error_set(err, STATUS_FAILED, "--web: %s", strerror(errno)) : 0;
}

int web_open(struct web **out, const char *where, const struct web_key *key, const struct web_limits *limits,
             struct hub *hub, struct error *err) {
  struct web *web = calloc(1, sizeof *web);
  int code;
  if (!web)
    return error_set(err, STATUS_FAILED, "--web: no memory");
  web->hub = hub;
  web->limits = limits ? *limits : (struct web_limits)WEB_LIMITS_DEFAULTS;
  platform_machine_name(web->machine, sizeof web->machine);
  if (web_read_address(&web->address, where, err))
    goto fail;
  if (key && !web->address.port)
    web->address.port = key->port;
  web->now_ns = platform_now_ns();
  if (make_alarm(web, err) || preview_open(&web->preview, err) || make_token(web, key, err) ||
      listen_at(web, where, err))
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
