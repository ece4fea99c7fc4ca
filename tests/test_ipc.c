/* Tests the IPC socket from the side of other programs, also of hostile ones. */
#include "tests/rigs/cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/remote/ipc.h"
#include "app/remote/messages.h"
#include "tests/rigs/scratch.h"

enum { PATIENCE_MS = 30000, SHORT_MS = 300 };

static struct live_state state;
static struct hub *hub;
static struct ipc *ipc;
static char *path;
static pthread_t window;
static atomic_bool window_stop;
static atomic_long turns;

/* Does the work of the window's thread for the hub. */
static void *window_main(void *unused) {
  struct hub_figures figures = {.fps = 1};
  (void)unused;
  while (!atomic_load(&window_stop)) {
    hub_take(hub, &state, 0);
    hub_publish(hub, &state.settings.values, &figures);
    atomic_fetch_add(&turns, 1);
    usleep(1000);
  }
  return NULL;
}

static int open_ipc(void **unused) {
  struct parameters values;
  struct error err;
  scratch_make(unused);
  path = fixture_path(scratch, "socket");
  parameters_init(&values);
  state = (struct live_state){.ready = true, .slot_before = 1};
  settings_begin(&state.settings, &values);
  assert_int_equal(hub_open(&hub, &state, &err), 0);
  atomic_store(&window_stop, false);
  assert_int_equal(pthread_create(&window, NULL, window_main, NULL), 0);
  assert_int_equal(ipc_open(&ipc, path, hub, PATIENCE_MS, &err), 0);
  return 0;
}

static int close_ipc(void **unused) {
  assert_true(ipc_close(&ipc, 60000));
  atomic_store(&window_stop, true);
  pthread_join(window, NULL);
  hub_close(&hub);
  assert_int_not_equal(access(path, F_OK), 0);
  free(path);
  return scratch_remove(unused);
}

/* Starts the server again, with a shorter time limit for clients. */
static void reopen(int patience_ms) {
  struct error err;
  assert_true(ipc_close(&ipc, 60000));
  assert_int_equal(ipc_open(&ipc, path, hub, patience_ms, &err), 0);
}

static struct sockaddr_un address(void) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
  return at;
}

static int enter(void) {
  struct sockaddr_un at = address();
  int client = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(connect(client, (const struct sockaddr *)&at, sizeof at), 0);
  return client;
}

static void say(int client, const char *text) {
  assert_int_equal(send(client, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

/* Reads a line, without its end; returns false if the connection has ended. */
static bool hear(int client, char *line, size_t size) {
  struct pollfd ready = {.fd = client, .events = POLLIN};
  size_t used = 0;
  while (poll(&ready, 1, PATIENCE_MS) == 1) {
    assert_true(used + 1 < size);
    if (read(client, line + used, 1) != 1)
      return false;
    if (line[used] == '\n') {
      line[used] = 0;
      return true;
    }
    used++;
  }
  fail_msg("nothing came");
  return false;
}

static void expect_line(int client, const char *words) {
  char line[4096];
  assert_true(hear(client, line, sizeof line));
  if (!strstr(line, words))
    fail_msg("%s, not '%s'", line, words);
}

static void expect_end(int client) {
  char line[65536];
  while (hear(client, line, sizeof line))
    ;
  close(client);
}

#define GET "{\"command\":[\"get_property\",\"strength\"],\"request_id\":5}\n"
#define SET "{\"command\":[\"set_property\",\"strength\",0.75]}\n"
#define SET_BACK "{\"command\":[\"set_property\",\"strength\",0.5]}\n"
#define OBSERVE "{\"command\":[\"observe_property\",1,\"strength\"]}\n"
#define LIST "{\"command\":[\"get_property\",\"parameter-list\"]}\n"

static void still_serves(void) {
  int client = enter();
  say(client, GET);
  expect_line(client, "\"request_id\":5,\"error\":\"success\",\"data\":");
  close(client);
}

static void one_sets_another_sees(void **unused) {
  (void)unused;
  struct stat file;
  assert_int_equal(stat(path, &file), 0);
  assert_int_equal(file.st_mode & 0777, 0600);
  int one = enter(), other = enter();
  say(other, OBSERVE);
  expect_line(other, "success");
  expect_line(other, "{\"event\":\"property-change\",\"id\":1,\"name\":\"strength\",\"data\":0.5}");
  say(one, "{\"command\":[\"set_property\",");
  say(one, "\"strength\",0.75]}\n" GET); /* one command in two pieces, followed by another one */
  expect_line(one, "success");
  expect_line(one, "\"data\":0.75");
  expect_line(other, "\"data\":0.75}");
  close(one);
  close(other);
}

/* A client like `echo ... | socat - SOCKET`, whose line may also lack a newline. */
static void ends_when_it_has_answered(void **unused) {
  (void)unused;
  int client = enter();
  say(client, SET "{\"command\":[\"get_property\",\"strength\"]}");
  shutdown(client, SHUT_WR);
  expect_line(client, "success");
  expect_line(client, "0.75");
  expect_end(client);
}

static void hostile_lines(void **unused) {
  (void)unused;
  int client = enter();
  say(client, "\n{\"command\":[\"quit\"]}\n\xff\n[[[[[[[[[[[[[[\n" GET);
  expect_line(client, "a JSON object");
  expect_line(client, "quit");
  expect_line(client, "UTF-8");
  expect_line(client, "deep");
  expect_line(client, "0.5");
  close(client);
  client = enter();
  for (int i = 0; i < 20; i++) {
    char block[1024];
    memset(block, 'x', sizeof block);
    if (send(client, block, sizeof block, MSG_NOSIGNAL) < 0)
      break;
  }
  expect_line(client, "at most 16384 bytes");
  expect_end(client);
  still_serves();
}

/* A client that sends requests and never reads the answers. */
static void asks_and_does_not_read(void **unused) {
  (void)unused;
  reopen(SHORT_MS);
  int client = enter();
  fcntl(client, F_SETFL, O_NONBLOCK);
  struct pollfd gone = {.fd = client, .events = POLLOUT};
  long sent = 0;
  do
    while (send(client, LIST, sizeof LIST - 1, MSG_NOSIGNAL) > 0)
      sent++;
  while (errno == EAGAIN && poll(&gone, 1, PATIENCE_MS) == 1);
  assert_true(errno == EPIPE || errno == ECONNRESET);
  assert_in_range(sent, 2, 100000);
  close(client);
  still_serves();
}

/* Returns how often threads other than this one and the window's have gone to sleep. */
static long count_naps(void) {
  char line[256], name[64];
  long naps = 0, all = 0;
  DIR *threads = opendir("/proc/self/task");
  assert_non_null(threads);
  for (struct dirent *entry; (entry = readdir(threads));) {
    snprintf(name, sizeof name, "/proc/self/task/%.20s/status", entry->d_name);
    FILE *file = atoi(entry->d_name) > getpid() ? fopen(name, "r") : NULL;
    while (file && fgets(line, sizeof line, file))
      if (sscanf(line, "voluntary_ctxt_switches: %ld", &naps) == 1)
        all += naps;
    if (file)
      fclose(file);
  }
  closedir(threads);
  return all;
}

/* While nothing changes, the server does not wake up to poll; changes are still reported. */
static void observes_without_polls(void **unused) {
  (void)unused;
  int client = enter();
  say(client, OBSERVE);
  expect_line(client, "success");
  expect_line(client, "property-change");
  atomic_store(&window_stop, true); /* the window's thread sleeps all the time */
  pthread_join(window, NULL);
  long before = count_naps();
  usleep(SHORT_MS * 1000);
  assert_in_range(count_naps() - before, 0, 5);
  atomic_store(&window_stop, false);
  assert_int_equal(pthread_create(&window, NULL, window_main, NULL), 0);
  say(client, "{\"command\":[\"set_property\",\"strength\",0.25]}\n");
  expect_line(client, "success");
  expect_line(client, "0.25");
  close(client);
}

/* A client that observes and does not read, while another one changes what it observes. */
static void observes_and_does_not_read(void **unused) {
  (void)unused;
  int lazy = enter(), busy = enter();
  say(lazy, OBSERVE "{\"command\":[\"observe_property\",2,\"figures\"]}\n");
  for (int i = 0; i < 200; i++) {
    say(busy, i % 2 ? SET : SET_BACK);
    expect_line(busy, "success");
  }
  char line[4096];
  double last = 0;
  while (last != 0.75) {
    assert_true(hear(lazy, line, sizeof line));
    const char *data = strstr(line, "\"strength\",\"data\":");
    last = data ? atof(data + strlen("\"strength\",\"data\":")) : last;
  }
  close(lazy);
  close(busy);
}

static void too_many_clients(void **unused) {
  (void)unused;
  int clients[IPC_CLIENTS_MAX];
  for (int i = 0; i < IPC_CLIENTS_MAX; i++) {
    clients[i] = enter();
    say(clients[i], GET);
    expect_line(clients[i], "success");
  }
  int another = enter();
  expect_line(another, "too many clients");
  expect_end(another);
  close(clients[3]);
  for (;;) { /* the place of a client that left is free once the server has noticed its end */
    char line[4096];
    clients[3] = enter();
    if (send(clients[3], GET, sizeof GET - 1, MSG_NOSIGNAL) > 0 && hear(clients[3], line, sizeof line) &&
        strstr(line, "success"))
      break;
    close(clients[3]);
  }
  for (int i = 0; i < IPC_CLIENTS_MAX; i++)
    close(clients[i]);
}

/* The window's thread is not delayed, however busy clients are. */
static void window_goes_on(void **unused) {
  (void)unused;
  int client = enter();
  fcntl(client, F_SETFL, O_NONBLOCK);
  long before = atomic_load(&turns);
  char waste[65536];
  while (atomic_load(&turns) < before + 50) {
    (void)!send(client, GET GET GET GET, 4 * (sizeof GET - 1), MSG_NOSIGNAL);
    (void)!read(client, waste, sizeof waste);
  }
  close(client);
}

static void expect_refused(const char *at, const char *words) {
  struct ipc *another;
  struct error err;
  assert_int_equal(ipc_open(&another, at, hub, PATIENCE_MS, &err), -1);
  if (!strstr(err.message, words))
    fail_msg("%s, not '%s'", err.message, words);
}

static void what_lies_at_its_name(void **unused) {
  (void)unused;
  struct sockaddr_un at = address();
  char name[200];
  expect_refused(path, "another program listens there");
  still_serves();
  assert_true(ipc_close(&ipc, 60000));
  assert_int_not_equal(access(path, F_OK), 0);
  int dead = socket(AF_UNIX, SOCK_STREAM, 0); /* a socket that a killed program has left */
  assert_int_equal(bind(dead, (const struct sockaddr *)&at, sizeof at), 0);
  close(dead);
  reopen(PATIENCE_MS);
  still_serves();
  fixture_text(scratch, "file", "precious");
  char *file = fixture_path(scratch, "file");
  expect_refused(file, "something else than a socket");
  assert_int_equal(access(file, F_OK), 0);
  free(file);
  expect_refused(scratch, "something else than a socket");
  memset(name, 'x', sizeof name - 1);
  name[sizeof name - 1] = 0;
  expect_refused(name, "107");
  expect_refused("/nowhere/socket", "No such file");
}

/* At the end the program does not remove a socket that it did not make. */
static void leaves_what_is_not_its_own(void **unused) {
  (void)unused;
  struct error err;
  unlink(path);
  fixture_text(scratch, "socket", "another's");
  assert_true(ipc_close(&ipc, 60000));
  assert_int_equal(access(path, F_OK), 0);
  unlink(path);
  assert_int_equal(ipc_open(&ipc, path, hub, PATIENCE_MS, &err), 0);
}

int main(void) {
#define CASE(function) cmocka_unit_test_setup_teardown(function, open_ipc, close_ipc)
  const struct CMUnitTest tests[] = {
      CASE(one_sets_another_sees),
      CASE(ends_when_it_has_answered),
      CASE(hostile_lines),
      CASE(asks_and_does_not_read),
      CASE(observes_and_does_not_read),
      CASE(observes_without_polls),
      CASE(too_many_clients),
      CASE(window_goes_on),
      CASE(what_lies_at_its_name),
      CASE(leaves_what_is_not_its_own),
  };
  signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
