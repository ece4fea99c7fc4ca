#include "tests/rigs/cmocka_all.h"

#include "tests/rigs/web_rig.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { PATIENCE_S = 30 };

static struct live_state state;
struct hub *hub;
struct web *web;
int port;
static pthread_t window;
static atomic_bool window_stop;

/* Does what the window's thread does. */
static void *window_main(void *unused) {
  struct hub_figures figures = {
      .ready = true,
      .fps = 24.5,
      .latency_ms = 31,
      .width = SIDE,
      .height = SIDE,
      .model = "mini",
      .meter = {.heard = true, .values = {[SOUND_BASS] = 0.5}, .row = {{PARAMETER_MIX, 0, 0.5, 0.75}}, .count = 1},
      .notice = "the picture is 96x96 now"};
  alerts_raise(&figures.alerts, ALERT_FREEZE, 1, "frozen", NULL);
  alerts_raise(&figures.alerts, ALERT_SOURCE, 1, "source lost", "unplugged");
  (void)unused;
  while (!atomic_load(&window_stop)) {
    hub_take(hub, &state, 0);
    hub_publish(hub, &state.settings.values, &figures);
    usleep(1000);
  }
  return NULL;
}

static int open_web(const char *where, const struct web_limits *limits) {
  struct parameters values;
  struct error err;
  parameters_init(&values);
  assert_int_equal(parameters_set_text(&values, PARAMETER_PROMPT, 1, "neon", &err), 0);
  state = (struct live_state){.ready = true, .slot_before = 1, .presets = 3};
  settings_begin(&state.settings, &values);
  assert_int_equal(hub_open(&hub, &state, &err), 0);
  atomic_store(&window_stop, false);
  assert_int_equal(pthread_create(&window, NULL, window_main, NULL), 0);
  if (web_open(&web, where, NULL, limits, hub, &err))
    fail_msg("%s", err.message);
  port = atoi(strrchr(web_url(web), ':') + 1);
  return 0;
}

int open_here(void **unused) {
  (void)unused;
  return open_web("127.0.0.1:0", NULL);
}

int open_everywhere(void **unused) {
  (void)unused;
  return open_web("0.0.0.0:0", NULL);
}

int open_hasty(void **unused) {
  (void)unused;
  return open_web("127.0.0.1:0", &(struct web_limits){.request = 1, .answer = 2, .taken = 1, .ping = 1, .hang_up = 2});
}

int close_web(void **unused) {
  (void)unused;
  assert_true(web_close(&web, 60000));
  atomic_store(&window_stop, true);
  pthread_join(window, NULL);
  hub_close(&hub);
  return 0;
}

int knock(const char *address) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, address, &at.sin_addr);
  int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (!connect(client, (const struct sockaddr *)&at, sizeof at))
    return client;
  close(client);
  return -1;
}

int enter(void) {
  struct timeval patience = {.tv_sec = PATIENCE_S};
  int client = knock("127.0.0.1");
  assert_true(client >= 0);
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return client;
}

void say(int client, const void *bytes, size_t size) {
  assert_int_equal(send(client, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
}

/* Receives data, and goes on if the wait was interrupted because this process was stopped. */
static ssize_t receive(int client, void *bytes, size_t room) {
  ssize_t got;
  do
    got = recv(client, bytes, room, 0);
  while (got < 0 && errno == EINTR);
  return got;
}

bool hear(int client, void *bytes, size_t size) {
  for (ssize_t got; size; bytes = (char *)bytes + got, size -= (size_t)got)
    if ((got = receive(client, bytes, size)) <= 0)
      return false;
  return true;
}

const char *talk(const void *bytes, size_t size, bool half_closed) {
  static char answer[65536];
  size_t used = 0;
  int client = enter();
  (void)!send(client, bytes, size, MSG_NOSIGNAL);
  if (half_closed)
    shutdown(client, SHUT_WR);
  for (ssize_t got = 1; got > 0 && used + 1 < sizeof answer; used += got > 0 ? (size_t)got : 0)
    got = receive(client, answer + used, sizeof answer - 1 - used);
  answer[used] = 0;
  close(client);
  return answer;
}

void expect(const char *words, const char *format, ...) {
  char request[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(request, sizeof request, format, args);
  va_end(args);
  const char *answer = talk(request, strlen(request), false);
  if (!strstr(answer, words))
    fail_msg("%s -> %.400s, not '%s'", request, answer, words);
}

int upgrade(const char *path, const char *headers) {
  char request[1024], answer[1024];
  size_t used = 0;
  int client = enter();
  snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n" UPGRADE "%s\r\n", path, headers);
  say(client, request, strlen(request));
  while (used + 1 < sizeof answer && receive(client, answer + used, 1) == 1) {
    answer[++used] = 0;
    if (strstr(answer, "\r\n\r\n"))
      break;
  }
  if (strstr(answer, " 101 "))
    return client;
  close(client);
  return -1;
}

void say_message(int client, unsigned char kind, const char *text, size_t size) {
  unsigned char head[8] = {kind, (unsigned char)(0x80 | (size < 126 ? size : 126))};
  size_t length = 2;
  if (size >= 126) {
    head[2] = (unsigned char)(size >> 8);
    head[3] = (unsigned char)size;
    length = 4;
  }
  memset(head + length, 0, 4);
  say(client, head, length + 4);
  (void)!send(client, text, size, MSG_NOSIGNAL);
}

bool hear_message(int client, char *text, size_t room) {
  unsigned char head[4];
  if (!hear(client, head, 2) || (head[0] & 15) == 8)
    return false;
  size_t size = head[1] & 127;
  if (size == 126) {
    assert_true(hear(client, head + 2, 2));
    size = (size_t)head[2] << 8 | head[3];
  }
  assert_true(size < room && size < 127 * 512);
  text[size] = 0;
  return hear(client, text, size);
}

void expect_message(int client, const char *words) {
  char text[65536];
  assert_true(hear_message(client, text, sizeof text));
  if (!strstr(text, words))
    fail_msg("%s, not '%s'", text, words);
}

void expect_page(void) {
  expect("<title>reverie</title>", "GET / HTTP/1.1\r\nHost: localhost\r\n" END);
}
