/* Fuzzes the web page with bytes that any machine on the network may send: HTTP/1.1, HTTP/2, web sockets. They go over
 * a real connection to the page. */
#include "tests/fuzz/fuzz.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/remote/web.h"

#define GET(path, rest) "GET " path " HTTP/1.1\r\nHost: localhost\r\n" rest "\r\n"
#define UPGRADE                                                                                                        \
  GET("/socket", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"                          \
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: reverie\r\n")
#define QUESTION "{\"command\":[\"get_property\",\"strength\"]}"
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define MASK "\0\0\0\0"

/* The first byte is the kind: "h": bytes of a connection; "s": bytes of a web socket, after a valid request. */
const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("h", GET("/", "") GET("/picture.jpg", "") GET("/page.css", "Connection: close\r\n")),
    FUZZ_SEED("h", GET("/", "") GET("/", "Content-Length: 5\r\n")),
    FUZZ_SEED("h", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody" GET("/", "")),
    FUZZ_SEED("h", "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"),
    FUZZ_SEED("h",
              GET("/", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n")
                  PREFACE "\0\0\0\4\0\0\0\0\0\0\0\3\1\4\0\0\0\1\x83\x84\x86\0\0\4\0\0\0\0\0\1body"),
    FUZZ_SEED("h", GET("/reverie/lora/1/weight?VALUE", "") GET("/?HOST_INFO&token=x", "Accept: */*\r\n")),
    FUZZ_SEED("h", GET("/", "Accept: application/json\r\n") GET("/scene/1.png?name=%20a", "")),
    FUZZ_SEED("h", PREFACE "\0\0\0\4\0\0\0\0\0\0\0\3\1\5\0\0\0\1\x82\x84\x86"),
    FUZZ_SEED("h", UPGRADE "\x81\xa9" MASK QUESTION "\x89\x84" MASK "ping" UPGRADE),
    FUZZ_SEED("s", "\x81\xa9" MASK QUESTION "\x89\x84" MASK "ping" UPGRADE),
    FUZZ_SEED("s", "\x01\x85" MASK "{\"com\x89\x80" MASK "\x80\xa4" MASK "mand\":[\"get_property\",\"strength\"]}"),
    FUZZ_SEED("s", "\x81\xfe\xff\xff" MASK "x\x88\x82" MASK "\x03\xe8"),
    FUZZ_SEED("h",
              GET("/", "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n") "1;a=b\r\nx\r\n0\r\nX: y\r\n\r\n"),
    FUZZ_SEED("h", "CONNECT localhost:80 HTTP/1.1\r\n\r\n" GET("/?token=0123456789abcdef0123456789abcdef", "")),
    FUZZ_SEED("h",
              "\r\n\nHEAD / HTTP/1.0\r\nHost: [::1]:8\r\nOrigin: http://[::1]:8\r\nCookie: a=b; reverie_8=c\r\n\r\n"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

enum { PATIENCE_MS = 30000, EACH = 32 };

static struct live_state state;
static struct hub *hub;
static struct web *web;
static int port;

static void begin(void) {
  struct parameters values;
  struct error err;
  signal(SIGPIPE, SIG_IGN);
  parameters_init(&values);
  state = (struct live_state){.ready = true, .slot_before = 1};
  settings_begin(&state.settings, &values);
  FUZZ_CHECK(!hub_open(&hub, &state, &err));
  FUZZ_CHECK(!web_open(&web, "127.0.0.1:0", NULL, NULL, hub, &err));
  port = atoi(strrchr(web_url(web), ':') + 1);
}

static int enter(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
  int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  FUZZ_CHECK(client >= 0 && !connect(client, (const struct sockaddr *)&at, sizeof at));
  return client;
}

/* Reads what the page sends next. Returns the number of bytes, 0 at the end. */
static ssize_t hear(int client, char *bytes, size_t size) {
  struct pollfd poll_for = {.fd = client, .events = POLLIN};
  FUZZ_CHECK(poll(&poll_for, 1, PATIENCE_MS) == 1);
  return recv(client, bytes, size, 0);
}

/* Sends all bytes, closes this side of the connection, and reads until the page closes its side. */
static void talk(const uint8_t *data, size_t size, bool in_socket) {
  char answer[4096];
  int client = enter();
  if (in_socket)
    FUZZ_CHECK(send(client, UPGRADE, sizeof UPGRADE - 1, MSG_NOSIGNAL) == sizeof UPGRADE - 1);
  for (size_t at = 0, part; at < size; at += part) {
    part = size - at < 1 + data[at] * 8u ? size - at : 1 + data[at] * 8u;
    if (send(client, data + at, part, MSG_NOSIGNAL) < 0)
      break;
  }
  shutdown(client, SHUT_WR);
  while (hear(client, answer, sizeof answer) > 0)
    ;
  close(client);
}

static void expect_page(void) {
  static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  char answer[16] = "";
  int client = enter();
  FUZZ_CHECK(send(client, request, sizeof request - 1, MSG_NOSIGNAL) == sizeof request - 1);
  FUZZ_CHECK(hear(client, answer, sizeof answer - 1) > 0 && !strncmp(answer, "HTTP/1.1 200", 12));
  close(client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static long runs;
  if (!web)
    begin();
  if (size)
    talk(data + 1, size - 1, *data == 's');
  hub_take(hub, &state, 0);
  if (runs++ % EACH == 0)
    expect_page();
  return 0;
}
