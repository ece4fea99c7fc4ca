/* Tests the web page's server with clients that are no browsers: bytes that no browser sends, and slow clients. */
#include "tests/rigs/cmocka_all.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/rigs/web_rig.h"

/* Clients that begin a request and never complete it do not keep others out. */
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

static int count(const char *text, const char *word) {
  int number = 0;
  for (; (text = strstr(text, word)); text++)
    number++;
  return number;
}

#define GET(path, rest) "GET " path " HTTP/1.1\r\nHost: localhost\r\n" rest "\r\n"
#define H2_SETTINGS "\0\0\0\4\0\0\0\0\0"
#define H2_POST "\0\0\3\1\4\0\0\0\1\x83\x84\x86\0\0\4\0\0\0\0\0\1body"

/* Whatever protocol a client asks to change to, the connection stays HTTP/1.1. */
static void other_protocols(void **unused) {
  (void)unused;
  static const char *const names[] = {"h2c", "H2C", "h2c, websocket", "websocket, h2c", "TLS/1.0", "", "websocket/13"};
  static const char prior[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" H2_SETTINGS H2_POST;
  char request[1024];
  for (int round = 0; round < 12; round++)
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
      int head = snprintf(request, sizeof request,
                          "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: %s\r\nConnection: Upgrade, HTTP2-Settings\r\n"
                          "HTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
                          names[i]);
      memcpy(request + head, prior, sizeof prior - 1);
      const char *answer = talk(request, (size_t)head + sizeof prior - 1, true);
      assert_non_null(strstr(answer, "HTTP/1.1 200 "));
      assert_null(strstr(answer, " 101 "));
    }
  assert_non_null(strstr(talk(prior, sizeof prior - 1, true), "HTTP/1.1 505 "));
  expect_page();
}

/* Requests sent one after the other without waiting are answered in order, but none after one whose body has not
 * arrived. */
static void pipelined(void **unused) {
  (void)unused;
  static const char three[] = GET("/", "") GET("/page.css", "") GET("/", "Connection: close\r\n") GET("/", "");
  static const char no_body[] = GET("/", "") GET("/", "Content-Length: 5\r\n");
  static const char body[] = GET("/", "Content-Length: 5\r\n") "body!" GET("/", "");
  static const char chunks[] = "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                               "5\r\nhello\r\n0\r\n\r\n" GET("/", "");
  static const char expects[] = GET("/", "Expect: 100-continue\r\nContent-Length: 5\r\n");
  static const char expects_nothing[] = GET("/", "Expect: 100-continue\r\n") GET("/", "");
  assert_int_equal(count(talk(three, sizeof three - 1, false), "HTTP/1.1 200 "), 3);
  assert_int_equal(count(talk(no_body, sizeof no_body - 1, false), "HTTP/1.1 200 "), 2);
  assert_int_equal(count(talk(body, sizeof body - 1, false), "HTTP/1.1 "), 1);
  assert_int_equal(count(talk(chunks, sizeof chunks - 1, false), "HTTP/1.1 405 "), 1);
  assert_int_equal(count(talk(expects, sizeof expects - 1, false), "HTTP/1.1 200 "), 1);
  assert_int_equal(count(talk(expects_nothing, sizeof expects_nothing - 1, true), "HTTP/1.1 200 "), 1);
  expect_page();
}

/* Fails the test unless a HEAD request gets an answer that begins with these words, and no body. */
static void expect_head_alone(const char *path, const char *words) {
  char head[128];
  int size = snprintf(head, sizeof head, "HEAD %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
  const char *answer = talk(head, (size_t)size, true);
  if (strncmp(answer, words, strlen(words)) || strcmp(strstr(answer, "\r\n\r\n"), "\r\n\r\n"))
    fail_msg("HEAD %s: %s", path, answer);
}

static void wrong_heads(void **unused) {
  (void)unused;
  static char large[40000];
  memset(large, 'x', sizeof large);
  memcpy(large, "GET / HTTP/1.1\r\nHost: localhost\r\nX: ", 36);
  assert_non_null(strstr(talk(large, sizeof large, false), "HTTP/1.1 431 "));
  memcpy(large + 17000, "\r\n\r\n", 4);
  assert_non_null(strstr(talk(large, 17004, false), "HTTP/1.1 431 "));
  memcpy(large + 16000, "\r\n\r\n", 4);
  assert_non_null(strstr(talk(large, 16004, true), "HTTP/1.1 200 "));
  memset(large + 5, 'x', sizeof large - 5);
  assert_non_null(strstr(talk(large, sizeof large, false), "HTTP/1.1 414 "));
  static const char zero[] = "GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n";
  assert_non_null(strstr(talk(zero, sizeof zero - 1, true), "HTTP/1.1 403 "));
  expect(" 400", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n");
  expect(" 400", "GET / HTTP/1.1\r\nHost: localhost\r\n folded\r\n\r\n");
  expect(" 400", "GET / HTTP/1.1\r\nno colon\r\n\r\n");
  expect(" 400", "GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
  expect(" 400", "GET /\r\n\r\n");
  assert_string_equal(talk("\x16\x03\x01\x02\r\n\r\n", 8, false), ""); /* the first bytes of TLS */
  expect(" 505", "GET / HTTP/2.0\r\nHost: localhost\r\n\r\n");
  expect("<title>reverie</title>", "\r\n\nGET / HTTP/1.0\nHOST:localhost\n\n");
  expect_head_alone("/", "HTTP/1.1 200 ");
  expect_head_alone("/?HOST_INFO", "HTTP/1.1 200 ");
  expect_head_alone("/nothing", "HTTP/1.1 404 ");
  assert_non_null(
      /* the client has closed its sending side */
      strstr(talk(GET("/", ""), sizeof GET("/", "") - 1, true), "<title>reverie</title>"));
}

/* Expects a frame that closes the web socket with this code; 0: a frame without a code. */
static void expect_closed(int client, unsigned code) {
  unsigned char head[4] = {0};
  assert_true(hear(client, head, code ? 4 : 2) && head[0] == 0x88 && head[1] == (code ? 2 : 0));
  assert_int_equal(head[2] << 8 | head[3], code);
  assert_false(hear(client, head, 1));
  close(client);
}

/* A message in several frames, with a ping between them; frames that arrive together with the request; a second
 * upgrade. */
static void frames_in_pieces(void **unused) {
  (void)unused;
  static const char more[] = "\x01\x89\0\0\0\0{\"command"
                             "\x89\x82\0\0\0\0hi"
                             "\x80\x9e\0\0\0\0\":[\"get_property\",\"strength\"]}";
  char request[1024], answer[512];
  unsigned char pong[4];
  int head = snprintf(request, sizeof request, "GET /socket HTTP/1.1\r\nHost: localhost\r\n" UPGRADE "\r\n"),
      client = enter();
  memcpy(request + head, more, sizeof more - 1);
  say(client, request, (size_t)head + sizeof more - 1);
  for (size_t used = 0; used < 4 || memcmp(answer + used - 4, "\r\n\r\n", 4); used++)
    assert_true(used < sizeof answer && hear(client, answer + used, 1));
  assert_true(hear(client, pong, 4) && !memcmp(pong, "\x8a\2hi", 4));
  expect_message(client, "success");
  say(client, request, (size_t)head);
  expect_closed(client, 1002);
}

static void wrong_frames(void **unused) {
  (void)unused;
  static const struct {
    const char *bytes;
    size_t size;
    unsigned code;
  } wrong[] = {
      {"\x81\1x", 3, 1002},                                            /* the frame is not masked */
      {"\xc1\x81\0\0\0\0x", 7, 1002},                                  /* a reserved bit is set */
      {"\x80\x81\0\0\0\0x", 7, 1002},                                  /* a continuation without a beginning */
      {"\x01\x81\0\0\0\0x\x81\x81\0\0\0\0x", 14, 1002},                /* a second message begins within the first */
      {"\x09\x80\0\0\0\0", 6, 0},                                      /* a ping in several frames */
      {"\x89\xfe\0\x7e\0\0\0\0", 8, 0},                                /* a ping that is too long */
      {"\x83\x80\0\0\0\0", 6, 1002},                                   /* an unknown opcode */
      {"\x82\x80\0\0\0\0", 6, 1003},                                   /* a binary message */
      {"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14, 0},     /* a length of 2^64 bytes */
      {"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0x", 15, 1009}, /* a length of 2^63 bytes */
      {"\x81\xfe\x40\1\0\0\0\0x", 9, 1009},
      {"\x81\x82\0\0\0\0\xc3\x28", 8, 1007}, /* invalid UTF-8 */
      {"\x88\x82\0\0\0\0\x03\xe8", 8, 1000},
      {"\x88\x80\0\0\0\0", 6, 0},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    int client = upgrade("/socket", "");
    assert_true(client >= 0);
    say(client, wrong[i].bytes, wrong[i].size);
    expect_closed(client, wrong[i].code);
  }
  expect_page();
}

/* Clients that send requests forever and read nothing delay nobody, and end nothing. */
static void nobody_reads(void **unused) {
  (void)unused;
  enum { DEAF = 4, TIMES = 3000 };
  static const char list[] = "{\"command\":[\"get_property\",\"parameter-list\"]}";
  unsigned char frame[6 + sizeof list] = {0x81, 0x80 | (sizeof list - 1)};
  int deaf[DEAF + 1];
  memcpy(frame + 6, list, sizeof list - 1);
  for (int i = 0; i < DEAF; i++) {
    deaf[i] = upgrade("/socket", "");
    for (int n = 0; n < TIMES && send(deaf[i], frame, sizeof frame - 1, MSG_NOSIGNAL | MSG_DONTWAIT) > 0; n++)
      ;
  }
  deaf[DEAF] = enter();
  for (int n = 0; n < TIMES && send(deaf[DEAF], GET("/page.js", ""), sizeof GET("/page.js", "") - 1,
                                    MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
       n++)
    ;
  int client = upgrade("/socket", "");
  TEXT(client, "{\"command\":[\"get_property\",\"strength\"]}");
  expect_message(client, "success");
  expect_page();
  close(client);
  for (int i = 0; i <= DEAF; i++)
    close(deaf[i]);
}

static atomic_bool talks;

static void *talk_for_ever(void *opaque) {
  static unsigned char frames[1 << 20];
  for (size_t at = 0; at + 6 <= sizeof frames; at += 6)
    memcpy(frames + at, "\x8a\x80\0\0\0\0", 6);
  while (atomic_load(&talks) && send(*(int *)opaque, frames, sizeof frames / 6 * 6, MSG_NOSIGNAL) > 0)
    ;
  return NULL;
}

/* A client that sends pongs without end, faster than they can be read, delays neither other clients nor the closing of
 * the page. */
static void nobody_ends(void **unused) {
  (void)unused;
  pthread_t thread;
  int client = upgrade("/socket", "");
  atomic_store(&talks, true);
  assert_int_equal(pthread_create(&thread, NULL, talk_for_ever, &client), 0);
  for (int i = 0; i < 20; i++)
    expect_page();
  assert_true(web_close(&web, 10000));
  atomic_store(&talks, false);
  pthread_join(thread, NULL);
  close(client);
}

/* Sends a piece again and again. Returns whether the page closes the connection. */
static bool is_closed(int client, const char *piece) {
  char bytes[4096];
  for (int i = 0; i < 1000; i++) {
    struct pollfd wish = {.fd = client, .events = POLLIN};
    if (poll(&wish, 1, 100) > 0 && recv(client, bytes, sizeof bytes, 0) <= 0)
      return true;
    if (*piece && send(client, piece, strlen(piece), MSG_NOSIGNAL) < 0)
      return true;
  }
  return false;
}

/* Clients that delay the page are disconnected after time limits: one that sends nothing, one that sends very slowly,
 * one that requests nothing after an answer, and a web socket that does not answer a ping. */
static void limits_hold(void **unused) {
  (void)unused;
  static const char *const begun[] = {"", "GET / HTTP/1.1\r\nHost: x\r\n", "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"};
  static const char *const pieces[] = {"", "A: b\r\n", ""};
  for (int i = 0; i < 3; i++) {
    int client = enter();
    say(client, begun[i], strlen(begun[i]));
    if (!is_closed(client, pieces[i]))
      fail_msg("connection %d is open for ever", i);
    close(client);
  }
  int silent = upgrade("/socket", "");
  assert_true(silent >= 0);
  assert_true(is_closed(silent, ""));
  close(silent);
  expect_page();
}

/* A client that requests much at once, and reads it, gets all of it. */
static void much_at_once(void **unused) {
  (void)unused;
  enum { TIMES = 100 };
  int client = upgrade("/socket", "");
  assert_true(client >= 0);
  for (int n = 0; n < TIMES; n++)
    TEXT(client, "{\"command\":[\"get_property\",\"parameter-list\"]}");
  for (int n = 0; n < TIMES; n++)
    expect_message(client, "success");
  close(client);
}

static void ip_version_6(void **unused) {
  (void)unused;
  struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
  struct error err;
  struct web *other;
  char answer[16] = "";
  int client = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (client < 0 || bind(client, (const struct sockaddr *)&at, sizeof at)) {
    print_message("IPv6: skipped, this machine has none\n");
    return;
  }
  assert_int_equal(web_open(&other, "[::1]:0", NULL, NULL, hub, &err), 0);
  const char *url = web_url(other);
  assert_true(!strncmp(url, "http://[::1]:", 13));
  at.sin6_port = htons((uint16_t)atoi(url + 13));
  assert_int_equal(connect(client, (const struct sockaddr *)&at, sizeof at), 0);
  say(client, "GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n", 31);
  assert_true(hear(client, answer, 12) && !strcmp(answer, "HTTP/1.1 200"));
  close(client);
  assert_true(web_close(&other, 60000));
}

int main(void) {
#define HERE(function) cmocka_unit_test_setup_teardown(function, open_here, close_web)
  const struct CMUnitTest tests[] = {
      HERE(half_requests),
      HERE(other_protocols),
      HERE(pipelined),
      HERE(wrong_heads),
      HERE(frames_in_pieces),
      HERE(wrong_frames),
      HERE(nobody_reads),
      HERE(nobody_ends),
      HERE(much_at_once),
      HERE(ip_version_6),
      cmocka_unit_test_setup_teardown(limits_hold, open_hasty, close_web),
  };
  signal(SIGPIPE, SIG_IGN);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
