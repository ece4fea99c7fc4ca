/* The web page's server as browsers and others meet it, and, where a browser is installed, the page in it. */
#include "tests/cmocka_all.h"

#include <arpa/inet.h>
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
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/control/web.h"
#include "app/control/web_gate.h"

enum { PATIENCE_S = 30, SIDE = 96 };

static const char *browser; /* the script */
static struct live_state state;
static struct hub *hub;
static struct web *web;
static int port;
static pthread_t window;
static atomic_bool window_stop;
static uint8_t pixels[SIDE * SIDE * 4];

/* What the window's thread does. */
static void *window_main(void *unused) {
  struct hub_figures figures = {.ready = true, .fps = 24.5, .latency_ms = 31, .width = SIDE, .height = SIDE};
  (void)unused;
  while (!atomic_load(&window_stop)) {
    hub_take(hub, &state, 0);
    hub_publish(hub, &state.settings.values, &figures);
    usleep(1000);
  }
  return NULL;
}

static int open_web(const char *where) {
  struct parameters values;
  struct error err;
  parameters_init(&values);
  assert_int_equal(parameters_set_text(&values, PARAMETER_PROMPT, 1, "neon", &err), 0);
  state = (struct live_state){.ready = true, .slot_before = 1};
  settings_begin(&state.settings, &values);
  assert_int_equal(hub_open(&hub, &state, &err), 0);
  atomic_store(&window_stop, false);
  assert_int_equal(pthread_create(&window, NULL, window_main, NULL), 0);
  if (web_open(&web, where, NULL, hub, &err))
    fail_msg("%s", err.message);
  port = atoi(strrchr(web_url(web), ':') + 1);
  return 0;
}

static int open_here(void **unused) {
  (void)unused;
  return open_web("127.0.0.1:0");
}

static int open_everywhere(void **unused) {
  (void)unused;
  return open_web("0.0.0.0:0");
}

static int close_web(void **unused) {
  (void)unused;
  web_close(&web);
  atomic_store(&window_stop, true);
  pthread_join(window, NULL);
  hub_close(&hub);
  return 0;
}

static void show_picture(void) {
  for (int i = 0; i < SIDE * SIDE; i++)
    memcpy(pixels + 4 * i, i % SIDE < SIDE / 2 ? "\xff\x20\x20\xff" : "\x20\x20\xff\xff", 4);
  const struct frame picture = {
      .format = PIXEL_RGBA, .width = SIDE, .height = SIDE, .plane = {pixels}, .pitch = {SIDE * 4}};
  hub_show(hub, &picture);
}

/* -1: nobody listens there. */
static int knock(const char *address) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, address, &at.sin_addr);
  int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (!connect(client, (const struct sockaddr *)&at, sizeof at))
    return client;
  close(client);
  return -1;
}

static int enter(void) {
  struct timeval patience = {.tv_sec = PATIENCE_S};
  int client = knock("127.0.0.1");
  assert_true(client >= 0);
  setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return client;
}

static void say(int client, const void *bytes, size_t size) {
  assert_int_equal(send(client, bytes, size, MSG_NOSIGNAL), (ssize_t)size);
}

/* Also where this process was stopped meanwhile, which ends a wait. */
static ssize_t receive(int client, void *bytes, size_t room) {
  ssize_t got;
  do
    got = recv(client, bytes, room, 0);
  while (got < 0 && errno == EINTR);
  return got;
}

static bool hear(int client, void *bytes, size_t size) {
  for (ssize_t got; size; bytes = (char *)bytes + got, size -= (size_t)got)
    if ((got = receive(client, bytes, size)) <= 0)
      return false;
  return true;
}

/* What an HTTP request is answered, as far as it fits. */
static const char *ask(const char *request) {
  static char answer[65536];
  size_t used = 0;
  int client = enter();
  say(client, request, strlen(request));
  for (ssize_t got = 1; got > 0 && used + 1 < sizeof answer; used += got > 0 ? (size_t)got : 0)
    got = receive(client, answer + used, sizeof answer - 1 - used);
  answer[used] = 0;
  close(client);
  return answer;
}

__attribute__((format(printf, 2, 3))) static void expect(const char *words, const char *format, ...) {
  char request[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(request, sizeof request, format, args);
  va_end(args);
  const char *answer = ask(request);
  if (!strstr(answer, words))
    fail_msg("%s -> %.400s, not '%s'", request, answer, words);
}

#define END "Connection: close\r\n\r\n"

/* --- who may come in --- */

static void addresses(void **unused) {
  (void)unused;
  struct web_address address;
  struct error err;
  static const struct {
    const char *text, *host;
    int port;
    bool loopback;
  } good[] = {
      {"", "127.0.0.1", 8080, true},          {"81", "127.0.0.1", 81, true}, {"localhost:81", "127.0.0.1", 81, true},
      {"127.0.0.2", "127.0.0.2", 8080, true}, {"[::1]:81", "::1", 81, true}, {"::1", "::1", 8080, true},
      {"0.0.0.0", "", 8080, false},           {"*:81", "", 81, false},       {"10.0.0.7:81", "10.0.0.7", 81, false},
      {"wlan0:81", "wlan0", 81, false},
  };
  static const char *const bad[] = {"70000", "-1", ":80", "host:x", "host:70000", "a b", "[::1", "http://x:80", "x/y"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    assert_int_equal(web_read_address(&address, good[i].text, &err), 0);
    assert_string_equal(address.host, good[i].host);
    assert_int_equal(address.port, good[i].port);
    assert_int_equal(address.loopback, good[i].loopback);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    if (!web_read_address(&address, bad[i], &err))
      fail_msg("%s is taken", bad[i]);
}

static void names_and_origins(void **unused) {
  (void)unused;
  const struct web_address here = {.host = "127.0.0.1", .loopback = true}, everywhere = {.host = ""};
  static const char *const own[] = {"localhost", "localhost:9", "LOCALHOST:9", "127.0.0.1:9", "[::1]:9"};
  static const char *const network[] = {"10.1.2.3:9", "[fe80::1]:9", "stage", "stage:9", "Stage.local:9"};
  static const char *const foreign[] = {
      "evil.example", "evil.example:9", "127.0.0.1.evil.example", "localhost.evil", "stage.evil", "xstage", "", ":9",
      "[::1"};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    assert_true(web_host_is_ours(&here, own[i], "stage") && web_host_is_ours(&everywhere, own[i], "stage"));
  for (size_t i = 0; i < sizeof network / sizeof *network; i++)
    assert_true(!web_host_is_ours(&here, network[i], "stage") && web_host_is_ours(&everywhere, network[i], "stage"));
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
    assert_false(web_host_is_ours(&everywhere, foreign[i], "stage"));
  assert_false(web_host_is_ours(&everywhere, NULL, "stage"));
  assert_true(web_origin_is_ours(NULL, "localhost:9") && web_origin_is_ours("http://localhost:9", "localhost:9"));
  assert_true(web_origin_is_ours("https://Localhost:9", "localhost:9"));
  assert_false(web_origin_is_ours("http://localhost:8", "localhost:9") || web_origin_is_ours("null", "localhost:9"));
  assert_false(web_origin_is_ours("http://evil.example", "localhost:9") || web_origin_is_ours("", "localhost:9"));
}

static void tokens(void **unused) {
  (void)unused;
  const char *token = "0123456789abcdef0123456789abcdef";
  assert_true(web_token_is(token, token));
  assert_false(web_token_is(token, NULL) || web_token_is(token, "") || web_token_is(token, "0123456789abcdef"));
  assert_false(web_token_is(token, "0123456789abcdef0123456789abcdeg"));
  assert_false(web_token_is(token, "0123456789abcdef0123456789abcdef0"));
}

static void files(void **unused) {
  (void)unused;
  expect("<title>reverie</title>", "GET / HTTP/1.1\r\nHost: localhost\r\n" END);
  expect("frame-ancestors 'none'", "GET /page.js HTTP/1.1\r\nHost: localhost\r\n" END);
  expect("text/css", "GET /page.css HTTP/1.1\r\nHost: localhost\r\n" END);
  expect(" 404", "GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n" END);
  expect(" 204", "GET /picture.jpg HTTP/1.1\r\nHost: localhost\r\n" END);
  expect(" 403", "GET / HTTP/1.1\r\nHost: evil.example\r\n" END);
  expect(" 403", "GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n" END);
  expect(" 405", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n" END);
  show_picture();
  expect("\xff\xd8\xff", "GET /picture.jpg HTTP/1.0\r\nHost: localhost\r\n\r\n");
}

static void strangers_need_the_token(void **unused) {
  (void)unused;
  const char *token = strstr(web_url(web), "token=") + strlen("token=");
  assert_int_equal(strlen(token), WEB_TOKEN_LENGTH);
  expect(" 403", "GET / HTTP/1.1\r\nHost: localhost\r\n" END);
  expect(" 403", "GET /?token=%.31sx HTTP/1.1\r\nHost: localhost\r\n" END, token);
  expect(" 403", "GET /picture.jpg HTTP/1.1\r\nHost: localhost\r\nCookie: reverie_%d=x\r\n" END, port);
  expect("SameSite=Strict", "GET /?token=%s HTTP/1.1\r\nHost: localhost\r\n" END, token);
  expect("<title>reverie</title>", "GET / HTTP/1.1\r\nHost: localhost\r\nCookie: a=b; reverie_%d=%s\r\n" END, port,
         token);
}

/* --- web sockets --- */

#define UPGRADE                                                                                                        \
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"                                         \
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: reverie\r\n"

/* Returns a connection, or -1 where it was refused. */
static int upgrade(const char *path, const char *headers) {
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

/* Masked with zeros, in one frame. */
static void say_message(int client, unsigned char kind, const char *text, size_t size) {
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

/* false: the connection ends. */
static bool hear_message(int client, char *text, size_t room) {
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

static void expect_message(int client, const char *words) {
  char text[65536];
  assert_true(hear_message(client, text, sizeof text));
  if (!strstr(text, words))
    fail_msg("%s, not '%s'", text, words);
}

#define TEXT(client, words) say_message(client, 0x81, words, sizeof(words) - 1)

static void sockets(void **unused) {
  (void)unused;
  int one = upgrade("/socket", "Origin: http://localhost\r\n"), other = upgrade("/socket", "");
  assert_true(one >= 0 && other >= 0);
  TEXT(other, "{\"command\":[\"observe_property\",4,\"strength\"]}");
  expect_message(other, "success");
  expect_message(other, "\"name\":\"strength\",\"data\":0.5");
  TEXT(one, "{\"command\":[\"set_property\",\"strength\",0.75],\"request_id\":2}");
  expect_message(one, "{\"request_id\":2,\"error\":\"success\"}");
  expect_message(other, "\"name\":\"strength\",\"data\":0.75");
  TEXT(one, "{\"command\":[\"set_property\",\"model\",\"/etc/passwd\"]}");
  expect_message(one, "command line");
  TEXT(one, "[[[[[[[[[[[[[[");
  expect_message(one, "deep");
  close(one);
  close(other);
}

static void hostile_sockets(void **unused) {
  (void)unused;
  char large[20000], text[65536];
  memset(large, ' ', sizeof large);
  assert_int_equal(upgrade("/socket", "Origin: http://evil.example\r\n"), -1);
  assert_int_equal(upgrade("/socket", "Origin: null\r\n"), -1);
  assert_int_equal(upgrade("/", ""), -1);
  int client = upgrade("/socket", "");
  say_message(client, 0x81, large, sizeof large);
  assert_false(hear_message(client, text, sizeof text));
  close(client);
  client = upgrade("/socket", "");
  say_message(client, 0x82, "binary", 6);
  assert_false(hear_message(client, text, sizeof text));
  close(client);
  client = upgrade("/socket", "");
  say(client, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 12);
  while (hear_message(client, text, sizeof text))
    ;
  close(client);
  expect("<title>reverie</title>", "GET / HTTP/1.1\r\nHost: localhost\r\n" END);
}

static void sockets_need_the_token(void **unused) {
  (void)unused;
  char cookie[128];
  const char *token = strstr(web_url(web), "token=") + strlen("token=");
  assert_int_equal(upgrade("/socket", ""), -1);
  snprintf(cookie, sizeof cookie, "Cookie: reverie_%d=%s\r\n", port, token);
  int client = upgrade("/socket", cookie);
  assert_true(client >= 0);
  close(client);
}

static void clients_are_counted(void **unused) {
  (void)unused;
  int clients[WEB_CLIENTS_MAX];
  char text[256];
  for (int i = 0; i < WEB_CLIENTS_MAX; i++) {
    clients[i] = upgrade("/socket", "");
    TEXT(clients[i], "{\"command\":[\"get_property\",\"strength\"]}");
    expect_message(clients[i], "success");
  }
  int another = upgrade("/socket", "");
  assert_true(another < 0 || !hear_message(another, text, sizeof text));
  if (another >= 0)
    close(another);
  for (int i = 0; i < WEB_CLIENTS_MAX; i++)
    close(clients[i]);
}

/* Who begins requests and ends none keeps nobody else out. */
static void half_requests(void **unused) {
  (void)unused;
  enum { HALVES = 200 };
  static int halves[HALVES];
  int client = upgrade("/socket", "");
  assert_true(client >= 0);
  for (int i = 0; i < HALVES; i++) {
    halves[i] = knock("127.0.0.1");
    (void)!send(halves[i], "GET / HTTP/1.1\r\nHost: loc", 25, MSG_NOSIGNAL);
  }
  expect("<title>reverie</title>", "GET / HTTP/1.1\r\nHost: localhost\r\n" END);
  TEXT(client, "{\"command\":[\"get_property\",\"strength\"]}");
  expect_message(client, "success");
  for (int i = 0; i < HALVES; i++)
    close(halves[i]);
  close(client);
}

static void a_port_in_use(void **unused) {
  (void)unused;
  struct web *second;
  struct error err;
  char where[32];
  snprintf(where, sizeof where, "%d", port);
  assert_int_equal(web_open(&second, where, NULL, hub, &err), -1);
  assert_non_null(strstr(err.message, "--web="));
  assert_int_equal(web_open(&second, "nosuchinterface:0", NULL, hub, &err), -1);
  assert_int_equal(web_open(&second, "198.51.100.213:0", NULL, hub, &err), -1); /* nobody has that */
}

/* An address is listened at by itself: what reaches the machine at another one is no connection. */
static void one_address_alone(void **unused) {
  (void)unused;
  assert_int_equal(knock("127.0.0.2"), -1);
}

static void everywhere_is_every_address(void **unused) {
  (void)unused;
  int client = knock("127.0.0.2");
  assert_true(client >= 0);
  close(client);
}

/* --- a browser --- */

static void in_a_browser(void **unused) {
  (void)unused;
  char url[WEB_URL_MAX];
  show_picture();
  snprintf(url, sizeof url, "%s", web_url(web));
  pid_t child = fork();
  if (!child) {
    execlp("python3", "python3", "-B", browser, "size", "390", "844", "phone", "open", url, "wait",
           "document.getElementById('figures').textContent.startsWith('24.5')", "wait",
           "document.getElementById('preview').naturalWidth === 96", "drag", "strength", "0.8", "do",
           "document.querySelector('input[aria-label=\"prompt[2]\"]').focus(); document.execCommand('insertText', "
           "false, 'a fox'); document.activeElement.blur()",
           "wait", "values.get('prompt[2]') === 'a fox' && values.get('strength') === 0.8", (char *)NULL);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
    print_message("in a browser: skipped, there is no Chromium\n");
    return;
  }
  assert_int_equal(status, 0);
  struct parameters *values = malloc(sizeof *values);
  assert_non_null(values);
  hub_get_values(hub, values);
  assert_true(values->strength == 0.8);
  assert_string_equal(values->prompt[1].words, "a fox");
  free(values);
}

int main(int argc, char **argv) {
#define HERE(function) cmocka_unit_test_setup_teardown(function, open_here, close_web)
#define EVERYWHERE(function) cmocka_unit_test_setup_teardown(function, open_everywhere, close_web)
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses),
      cmocka_unit_test(names_and_origins),
      cmocka_unit_test(tokens),
      HERE(files),
      EVERYWHERE(strangers_need_the_token),
      HERE(sockets),
      HERE(hostile_sockets),
      EVERYWHERE(sockets_need_the_token),
      HERE(clients_are_counted),
      HERE(half_requests),
      HERE(a_port_in_use),
      HERE(one_address_alone),
      EVERYWHERE(everywhere_is_every_address),
      EVERYWHERE(in_a_browser),
  };
  if (argc != 2)
    return 2;
  browser = argv[1];
  signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
