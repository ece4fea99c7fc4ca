#include "app/remote/ipc.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform_local.h"
#include "app/remote/messages.h"

enum {
  /* As long as at least this many bytes wait to be sent to a client, no further requests of that client are answered,
   * and no changes of observed properties are sent to it. */
  BACKLOG_ENOUGH = 65536,
  PAUSE_NS = 10000000,
};

struct client {
  int descriptor;
  struct messages *messages;
  struct message_lines lines; /* lines of JSON that wait to be sent: answers, and changes of observed properties */
  char line[MESSAGE_LINE_MAX + 1];
  size_t used; /* number of bytes of requests in `line` that were not answered yet */
  /* ended: the client has closed its side of the connection; done: all its requests are answered, and the connection
   * closes once the answers are sent */
  bool ended, done;
  int64_t moved_ns; /* the last time (platform_now_ns) when the client received bytes or nothing waited to be sent */
};

struct ipc {
  /* The fields down to `alarm` are set by ipc_open, and only read afterwards. */
  const char *path;
  struct hub *hub;
  int64_t patience_ns;
  /* listener: the listening socket. alarm: a pipe that wakes the server's thread, when it has to stop or when values
   * have changed */
  int listener, alarm[2];

  /* Other threads also use the following fields. The hub calls `wake` on the window's thread, which uses `observed`
   * (true: a client observes a property), `rung` (true: a byte in the pipe `alarm` will wake the server's thread) and
   * `alarm`. ipc_close sets `stop` and wakes the server's thread. */
  struct hub_watch watch;
  atomic_bool observed, rung;
  struct platform_entry made;
  pthread_t thread;
  atomic_bool stop;

  /* The following fields are used only by the server's thread. */
  struct client *clients[IPC_CLIENTS_MAX]; /* the connected clients; NULL: the entry is unused */
  struct message_view view;
};

/* --- clients (connections): admitting them, receiving requests and sending answers --- */

static void drop(struct client **pointer) {
  struct client *client = *pointer;
  platform_close_descriptor(client->descriptor);
  messages_close(&client->messages);
  message_lines_free(&client->lines);
  free(client);
  *pointer = NULL;
}

static void refuse(int descriptor, const char *why) {
  struct message_lines lines = {0};
  struct error err;
  error_set(&err, STATUS_FAILED, "%s", why);
  messages_refuse(&err, &lines);
  platform_send(descriptor, lines.text, lines.used);
  message_lines_free(&lines);
  platform_close_descriptor(descriptor);
}

static struct client *make_client(struct ipc *ipc, int descriptor) {
  struct error err;
  struct client *client = calloc(1, sizeof *client);
  if (client && messages_open(&client->messages, ipc->hub, &err)) {
    free(client);
    client = NULL;
  }
  if (client) {
    client->descriptor = descriptor;
    client->moved_ns = platform_now_ns();
  }
  return client;
}

static void admit(struct ipc *ipc) {
  int descriptor = platform_accept(ipc->listener), place = 0;
  if (descriptor < 0) { /* the process has no free file descriptor, or the client has already disconnected */
    platform_sleep_ns(PAUSE_NS);
    return;
  }
  while (place < IPC_CLIENTS_MAX && ipc->clients[place])
    place++;
  if (place < IPC_CLIENTS_MAX)
    ipc->clients[place] = make_client(ipc, descriptor);
  if (place == IPC_CLIENTS_MAX || !ipc->clients[place])
    refuse(descriptor, "too many clients are connected");
}

static bool has_line(const struct client *client) {
  return memchr(client->line, '\n', client->used) != NULL;
}

static bool has_room(const struct client *client) {
  return client->lines.used < BACKLOG_ENOUGH;
}

/* Answers the complete lines in client->line, until lines.used (bytes that wait to be sent) reaches BACKLOG_ENOUGH.
 * Unanswered bytes stay in client->line. */
static void answer_lines(struct client *client) {
  char *at = client->line, *end = client->line + client->used, *newline;
  while (has_room(client) && (newline = memchr(at, '\n', (size_t)(end - at)))) {
    messages_answer(client->messages, at, (size_t)(newline - at), &client->lines);
    at = newline + 1;
  }
  client->used = (size_t)(end - at);
  memmove(client->line, at, client->used);
}

/* Answers bytes in client->line that have no newline. They are the last request of a client that has closed its side,
 * or the beginning of a line that is too long, which is refused; the connection then ends, because the next line's
 * beginning is unknown. */
static void answer_rest(struct client *client) {
  bool full = client->used == sizeof client->line;
  if (has_line(client) || !has_room(client) || !(full || client->ended))
    return;
  if (client->used)
    messages_answer(client->messages, client->line, client->used, &client->lines);
  client->used = 0;
  client->ended = client->done = true;
}

static bool can_receive(const struct client *client) {
  return !client->ended && has_room(client) && client->used < sizeof client->line;
}

/* Reads the bytes that have arrived into client->line. Returns false if the connection is broken. */
static bool receive(struct client *client) {
  int64_t got = platform_receive(client->descriptor, client->line + client->used, sizeof client->line - client->used);
  if (got < 0)
    return errno == EAGAIN || errno == EINTR;
  client->used += (size_t)got;
  client->ended = got == 0;
  return true;
}

static bool send_lines(struct client *client, int64_t now_ns) {
  int64_t sent = platform_send(client->descriptor, client->lines.text, client->lines.used);
  if (sent < 0)
    return errno == EAGAIN || errno == EINTR;
  message_lines_sent(&client->lines, (size_t)sent);
  client->moved_ns = now_ns;
  return true;
}

/* --- the server's thread --- */

static bool anyone_observes(const struct ipc *ipc) {
  for (int i = 0; i < IPC_CLIENTS_MAX; i++)
    if (ipc->clients[i] && messages_observes(ipc->clients[i]->messages))
      return true;
  return false;
}

/* Returns how many milliseconds the server's thread may wait for sockets and its wake-up pipe (`alarm`): 0 if a request
 * can be answered at once, half of patience_ns if bytes wait to be sent, or -1 for no limit. */
static int time_left_ms(const struct ipc *ipc) {
  bool waiting = false;
  for (int i = 0; i < IPC_CLIENTS_MAX; i++) {
    const struct client *client = ipc->clients[i];
    if (client && has_line(client) && has_room(client))
      return 0;
    waiting |= client && client->lines.used > 0;
  }
  return waiting ? (int)(ipc->patience_ns / 2000000) : -1;
}

enum { WISH_ALARM, WISH_LISTENER, WISH_CLIENTS, WISHES = WISH_CLIENTS + IPC_CLIENTS_MAX };

static void wake(void *opaque) {
  struct ipc *ipc = opaque;
  if (atomic_load(&ipc->observed) && !atomic_exchange(&ipc->rung, true))
    platform_ring(ipc->alarm[1]);
}

static void wait_for(struct ipc *ipc, struct platform_wish wishes[WISHES]) {
  wishes[WISH_ALARM] = (struct platform_wish){.descriptor = ipc->alarm[0], .read = true};
  wishes[WISH_LISTENER] = (struct platform_wish){.descriptor = ipc->listener, .read = true};
  for (int i = 0; i < IPC_CLIENTS_MAX; i++) {
    const struct client *client = ipc->clients[i];
    wishes[WISH_CLIENTS + i] =
        client ? (struct platform_wish){client->descriptor, can_receive(client), client->lines.used > 0}
               : (struct platform_wish){.descriptor = -1};
  }
  platform_wait_for(wishes, WISHES, time_left_ms(ipc));
  if (!wishes[WISH_ALARM].read)
    return;
  platform_clear_alarm(ipc->alarm[0]);
  atomic_store(&ipc->rung, false);
}

static void tell_changes(struct ipc *ipc) {
  ipc->view.hub = ipc->hub;
  hub_get_values(ipc->hub, &ipc->view.values);
  hub_get_figures(ipc->hub, &ipc->view.figures);
  for (int i = 0; i < IPC_CLIENTS_MAX; i++)
    if (ipc->clients[i] && has_room(ipc->clients[i]))
      messages_tell(ipc->clients[i]->messages, &ipc->view, &ipc->clients[i]->lines);
}

static void serve(struct ipc *ipc, int place, bool readable) {
  struct client *client = ipc->clients[place];
  int64_t now_ns = platform_now_ns();
  bool there = !readable || !can_receive(client) || receive(client);
  answer_lines(client);
  answer_rest(client);
  if (there && client->lines.used)
    there = send_lines(client, now_ns);
  if (!client->lines.used)
    client->moved_ns = now_ns;
  bool stuck = now_ns - client->moved_ns > ipc->patience_ns;
  if (!there || stuck || client->lines.lost || (client->done && !client->lines.used))
    drop(&ipc->clients[place]);
}

static void *ipc_main(void *opaque) {
  struct ipc *ipc = opaque;
  struct platform_wish wishes[WISHES];
  while (!atomic_load(&ipc->stop)) {
    wait_for(ipc, wishes);
    for (int i = 0; i < IPC_CLIENTS_MAX; i++)
      if (ipc->clients[i])
        serve(ipc, i, wishes[WISH_CLIENTS + i].read);
    if (wishes[WISH_LISTENER].read)
      admit(ipc);
    atomic_store(&ipc->observed, anyone_observes(ipc));
    if (atomic_load(&ipc->observed))
      tell_changes(ipc);
  }
  return NULL;
}

/* --- opening and closing the server --- */

static int refuse_path(const char *path, struct error *err) {
  switch (errno) {
  case EADDRINUSE:
    return error_set(err, STATUS_USAGE, "--ipc %.300s: another program listens there", path);
  case EEXIST:
    return error_set(err, STATUS_USAGE, "--ipc %.300s: there is something else than a socket", path);
  case ENAMETOOLONG:
    return error_set(err, STATUS_USAGE, "--ipc %.300s: a socket's name is at most 107 bytes long", path);
  default:
    return error_set(err, STATUS_USAGE, "--ipc %.300s: %s", path, strerror(errno));
  }
}

int ipc_open(struct ipc **out, const char *path, struct hub *hub, int patience_ms, struct error *err) {
  struct ipc *ipc = calloc(1, sizeof *ipc);
  if (!ipc)
    return error_set(err, STATUS_FAILED, "--ipc: no memory");
  ipc->path = path;
  ipc->hub = hub;
  ipc->patience_ns = (int64_t)patience_ms * 1000000;
  if (platform_make_alarm(ipc->alarm)) {
    error_set(err, STATUS_FAILED, "--ipc: %s", strerror(errno));
    goto fail;
  }
  ipc->listener = platform_listen(path, &ipc->made);
  if (ipc->listener < 0) {
    refuse_path(path, err);
    goto fail_alarm;
  }
  ipc->watch = (struct hub_watch){.wake = wake, .opaque = ipc};
  hub_watch(hub, &ipc->watch);
  int code = pthread_create(&ipc->thread, NULL, ipc_main, ipc);
  if (code) {
    error_set(err, STATUS_FAILED, "--ipc: no thread can be started: %s", strerror(code));
    goto fail_listener;
  }
  *out = ipc;
  return 0;
fail_listener:
  hub_unwatch(hub, &ipc->watch);
  platform_stop_listening(ipc->listener, path, &ipc->made);
fail_alarm:
  platform_end_alarm(ipc->alarm);
fail:
  free(ipc);
  return -1;
}

bool ipc_close(struct ipc **pointer, int wait_ms) {
  struct ipc *ipc = *pointer;
  if (!ipc)
    return true;
  hub_unwatch(ipc->hub, &ipc->watch);
  atomic_store(&ipc->stop, true);
  platform_ring(ipc->alarm[1]);
  if (!platform_join(ipc->thread, wait_ms))
    return false;
  for (int i = 0; i < IPC_CLIENTS_MAX; i++)
    if (ipc->clients[i])
      drop(&ipc->clients[i]);
  platform_stop_listening(ipc->listener, ipc->path, &ipc->made);
  platform_end_alarm(ipc->alarm);
  free(ipc);
  *pointer = NULL;
  return true;
}
