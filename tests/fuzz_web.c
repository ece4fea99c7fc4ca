/* Bytes that anybody on the network may send to the web page: HTTP/1.1, HTTP/2, web sockets. They go to the page itself
 * over a connection, and to what reads requests and frames. */
#include "tests/fuzz.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/control/web.h"
#include "app/control/web_frames.h"
#include "app/control/web_http.h"

#define GET(path, rest) "GET " path " HTTP/1.1\r\nHost: localhost\r\n" rest "\r\n"
#define UPGRADE                                                                                                        \
  GET("/socket", "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"                          \
                 "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: reverie\r\n")
#define QUESTION "{\"command\":[\"get_property\",\"strength\"]}"
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define MASK "\0\0\0\0"

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("", GET("/", "") GET("/picture.jpg", "") GET("/page.css", "Connection: close\r\n")),
    FUZZ_SEED("", GET("/", "") GET("/", "Content-Length: 5\r\n")),
    FUZZ_SEED("", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\nbody" GET("/", "")),
    FUZZ_SEED("", "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"),
    FUZZ_SEED("",
              GET("/", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n")
                  PREFACE "\0\0\0\4\0\0\0\0\0\0\0\3\1\4\0\0\0\1\x83\x84\x86\0\0\4\0\0\0\0\0\1body"),
    FUZZ_SEED("", PREFACE "\0\0\0\4\0\0\0\0\0\0\0\3\1\5\0\0\0\1\x82\x84\x86"),
    FUZZ_SEED("", UPGRADE "\x81\xa9" MASK QUESTION "\x89\x84" MASK "ping" UPGRADE),
    FUZZ_SEED("",
              UPGRADE "\x01\x85" MASK "{\"com\x89\x80" MASK "\x80\xa4" MASK "mand\":[\"get_property\",\"strength\"]}"),
    FUZZ_SEED("", UPGRADE "\x81\xfe\xff\xff" MASK "x\x88\x82" MASK "\x03\xe8"),
    FUZZ_SEED("", "CONNECT localhost:80 HTTP/1.1\r\n\r\n" GET("/?token=0123456789abcdef0123456789abcdef", "")),
    FUZZ_SEED("",
              "\r\n\nHEAD / HTTP/1.0\r\nHost: [::1]:8\r\nOrigin: http://[::1]:8\r\nCookie: a=b; reverie_8=c\r\n\r\n"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

enum { PATIENCE_MS = 30000, EACH = 32 };

/* --- what reads --- */

static bool lies_within(const char *text, const char *head, size_t size) {
  return !text || (text >= head && text + strlen(text) < head + size);
}

static void check_request(const uint8_t *data, size_t size) {
  struct web_request request;
  size_t length = web_head_size((const char *)data, size);
  FUZZ_CHECK(length <= size);
  if (!length)
    return;
  for (size_t part = 0; part < length; part++) /* it has one end, however it comes */
    FUZZ_CHECK(!web_head_size((const char *)data, part));
  char *head = malloc(length), value[32];
  FUZZ_CHECK(head);
  memcpy(head, data, length);
  if (!web_request_read(&request, head, length)) {
    const char *const texts[] = {request.method,     request.path,           request.query,           request.host,
                                 request.origin,     request.cookie,         request.connection,      request.upgrade,
                                 request.socket_key, request.socket_version, request.socket_protocols};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
      FUZZ_CHECK(lies_within(texts[i], head, length));
    FUZZ_CHECK(*request.method && *request.path == '/');
    FUZZ_CHECK(!web_request_is_socket(&request) || !request.has_body);
    FUZZ_CHECK(!web_pair(value, sizeof value, request.query, '&', "token") || strlen(value) < sizeof value);
  }
  free(head);
}

/* All that frames say, whatever the pieces are in which they come. */
static uint64_t sum_frames(const uint8_t *data, size_t size, size_t piece) {
  static struct web_frames frames;
  uint64_t sum = 0;
  memset(&frames, 0, sizeof frames);
  for (size_t at = 0, taken; at < size; at += taken) {
    enum web_frames_event event = web_frames_take(&frames, data + at, size - at < piece ? size - at : piece, &taken);
    FUZZ_CHECK(frames.text_size <= MESSAGE_LINE_MAX && frames.control_size <= WEB_CONTROL_MAX);
    if (event == WEB_FRAMES_MORE)
      continue;
    sum = sum * 31 + event + 7 * frames.text_size + 11 * frames.control_size + (uint64_t)frames.code;
    if (event == WEB_FRAMES_WRONG)
      break;
  }
  return sum;
}

/* --- the page --- */

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
  FUZZ_CHECK(!web_open(&web, "127.0.0.1:0", NULL, hub, &err));
  port = atoi(strrchr(web_url(web), ':') + 1);
}

static int enter(void) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
  int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  FUZZ_CHECK(client >= 0 && !connect(client, (const struct sockaddr *)&at, sizeof at));
  return client;
}

/* Returns the number of bytes that come first, 0 at the end. */
static ssize_t hear(int client, char *bytes, size_t size) {
  struct pollfd poll_for = {.fd = client, .events = POLLIN};
  FUZZ_CHECK(poll(&poll_for, 1, PATIENCE_MS) == 1);
  return recv(client, bytes, size, 0);
}

/* Says all of it, ends, and hears what comes until the page ends, too. */
static void talk(const uint8_t *data, size_t size) {
  char answer[4096];
  int client = enter();
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
  check_request(data, size);
  FUZZ_CHECK(sum_frames(data, size, SIZE_MAX) == sum_frames(data, size, 1));
  talk(data, size);
  hub_take(hub, &state, 0);
  if (runs++ % EACH == 0)
    expect_page();
  return 0;
}
