/* Tests streams from servers that send too much, fall silent, disconnect, return, or change the format: the newest
 * frame comes at once, and the source does not end. */
#include "tests/rigs/cmocka_all.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libavutil/log.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/reading.h"
#include "unet/base/platform.h"

enum { FRAMES = 50, LATE = FRAMES - 5, HESITATION_MS = 180 };

/* --- a server of one client at a time --- */

struct reply {
  const char *head, *file; /* head: first lines of the answer; file: what follows. NULL: nothing is sent. */
  bool stays;              /* after all is sent, the server keeps the connection open and is silent */
  bool has_parts;          /* the server sends only the part of the file that is asked for */
  bool hesitates;          /* the server pauses before each line of the head */
};

struct server {
  pthread_t thread;
  int port, socket;
  bool speaks_http; /* true: the client sends first, as in HTTP */
  const struct reply *replies;
  int count; /* number of replies; the last one is also for all later clients */
  atomic_int served;
  atomic_bool stop;
};

#define TS_HEAD "HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\nConnection: close\r\n\r\n"

/* Waits until the connection has data or is closed; returns false if the server is stopped before. */
static bool await(struct server *server, int line) {
  struct pollfd ready = {.fd = line, .events = POLLIN};
  while (!server->stop)
    if (poll(&ready, 1, 20) == 1)
      return true;
  return false;
}

static bool put(struct server *server, int line, const char *bytes, size_t size) {
  while (size) {
    ssize_t sent = send(line, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN)
      return false;
    if (sent < 0) {
      if (server->stop)
        return false;
      usleep(1000);
      continue;
    }
    bytes += sent;
    size -= (size_t)sent;
  }
  return true;
}

/* Reads the request; *from becomes the offset in the file that it asks for. */
static bool take_request(struct server *server, int line, size_t *from) {
  char request[4096] = "";
  for (size_t size = 0; !strstr(request, "\r\n\r\n"); request[size] = 0) {
    if (!await(server, line))
      return false;
    ssize_t got = recv(line, request + size, sizeof request - 1 - size, 0);
    if (got <= 0)
      return false;
    size += (size_t)got;
  }
  const char *range = strstr(request, "Range: bytes=");
  *from = range ? strtoul(range + 13, NULL, 10) : 0;
  return true;
}

/* Sends the head with pauses between lines that are longer than the silence that is allowed later. */
static bool put_head(struct server *server, const struct reply *reply, int line, const char *head) {
  for (const char *end; reply->hesitates && (end = strchr(head, '\n')); head = end + 1) {
    usleep(HESITATION_MS * 1000);
    if (!put(server, line, head, (size_t)(end + 1 - head)))
      return false;
  }
  return put(server, line, head, strlen(head));
}

static void answer(struct server *server, const struct reply *reply, int line) {
  size_t size = 0, from = 0;
  char head[256] = "";
  if (server->speaks_http && !take_request(server, line, &from))
    return;
  char *bytes = reply->file ? (char *)shell_output(&size, "cat %s", reply->file) : NULL;
  if (reply->has_parts)
    snprintf(head, sizeof head,
             "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %zu-%zu/%zu\r\nContent-Length: %zu\r\n"
             "Accept-Ranges: bytes\r\n\r\n",
             from, size - 1, size, size - from);
  else if (reply->head)
    snprintf(head, sizeof head, "%s", reply->head);
  if (put_head(server, reply, line, head) && bytes)
    put(server, line, bytes + from, size - from);
  free(bytes);
  char rest[512];
  while (reply->stays && await(server, line))
    if (recv(line, rest, sizeof rest, 0) <= 0)
      break;
}

static void *serve(void *opaque) {
  struct server *server = opaque;
  while (await(server, server->socket)) {
    int line = accept(server->socket, NULL, NULL), number = server->served;
    answer(server, &server->replies[number < server->count ? number : server->count - 1], line);
    server->served++;
    close(line);
  }
  return NULL;
}

static int open_port(int kind, int *port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int opened = socket(AF_INET, kind | SOCK_CLOEXEC, 0);
  if (opened < 0 || bind(opened, (struct sockaddr *)&address, sizeof address) ||
      getsockname(opened, (struct sockaddr *)&address, &size) || (kind == SOCK_STREAM && listen(opened, 8))) {
    print_message("no local network here\n");
    skip();
  }
  *port = ntohs(address.sin_port);
  return opened;
}

static void server_start(struct server *server, bool speaks_http, const struct reply *replies, int count) {
  *server = (struct server){.speaks_http = speaks_http, .replies = replies, .count = count};
  server->socket = open_port(SOCK_STREAM, &server->port);
  assert_int_equal(pthread_create(&server->thread, NULL, serve, server), 0);
}

static void server_end(struct server *server) {
  server->stop = true;
  pthread_join(server->thread, NULL);
  close(server->socket);
}

/* Six minutes of video are sent at once: the last frame comes at once, with its time of arrival. */
static void newest_frame_at_once(void **state) {
  (void)state;
  static const struct {
    const char *scheme;
    struct reply reply;
  } cases[] = {
      {"http", {TS_HEAD, "slower.ts", true, false}},
      {"tcp", {NULL, "slower.ts", true, false}},
      {"http",
       {"HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=ffmpeg\r\n\r\n", "slow.mjpeg", true,
        false}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct server server;
    struct reading reading;
    struct source_info info;
    server_start(&server, !strcmp(cases[i].scheme, "http"), &cases[i].reply, 1);
    int64_t begun_ns = platform_now_ns();
    reading_start(&reading, cases[i].scheme, server.port, 0, NULL);
    struct frame last = wait_for_number(&reading, LATE);
    assert_true(last.captured_ns >= begun_ns && last.captured_ns <= platform_now_ns());
    assert_true(reader_get_info(reading.reader, &info));
    assert_true(info.realtime && info.returns && info.width == 64 && info.height == 48);
    assert_int_equal(reading_end(&reading, NULL), 0);
    server_end(&server);
  }
}

/* A file over HTTP that can be sought, or has a known length, is played at its own speed. */
static void file_over_http_is_paced(void **state) {
  (void)state;
  static const struct reply replies[] = {{NULL, "slow.ts", false, true}};
  struct server server;
  struct source *source;
  struct source_info info;
  struct error err;
  char spec[64];
  server_start(&server, true, replies, 1);
  snprintf(spec, sizeof spec, "http://127.0.0.1:%d/clip.ts", server.port);
  if (source_open(&source, spec, &(struct source_options){.live = true, .read_timeout = 2}, &err))
    fail_msg("%s", err.message);
  source_get_info(source, &info);
  assert_true(!info.realtime && !info.returns && info.duration > 20);
  source_close(&source);
  server_end(&server);
}

/* Render reads every frame of a pipe; live takes the newest. */
static void pipe_is_a_stream_when_live(void **state) {
  (void)state;
  shell("mkfifo pipe");
  for (int live = 0; live < 2; live++) {
    struct source *source;
    struct source_info info;
    struct error err;
    shell("cat slow.ts >pipe &");
    if (source_open(&source, clip("pipe"), &(struct source_options){.live = live}, &err))
      fail_msg("%s", err.message);
    source_get_info(source, &info);
    assert_true(info.realtime == live && !info.returns);
    source_close(&source);
  }
}

/* After silence, a disconnection, and a change of size and format in the same connection or the next, the source goes
 * on. */
static void stream_goes_on(void **state) {
  (void)state;
  static const struct reply replies[] = {{TS_HEAD, "quick.ts", true, false},
                                         {NULL, NULL, false, false},
                                         {TS_HEAD, "changed.ts", false, false},
                                         {TS_HEAD, "slow.ts", true, false}};
  struct server server;
  struct reading reading;
  struct reader_status status;
  struct source_info info;
  server_start(&server, true, replies, 4);
  reading_start(&reading, "http", server.port, 0.3, NULL);
  wait_for_number(&reading, LATE);
  wait_for_loss(&reading, &status);
  assert_true(status.opened);
  assert_non_null(strstr(status.reason, "nothing came for 0.3 s"));
  assert_int_equal(wait_for_width(&reading, LATE, 96).height, 80);
  assert_true(reader_get_info(reading.reader, &info));
  assert_true(info.width == 96 && info.height == 80);
  wait_for_width(&reading, LATE, 64);
  assert_int_equal(reading_end(&reading, NULL), 0);
  server_end(&server);
}

/* Connecting may take longer than the silence that is allowed later, which is counted only from then on. */
static void connects_slowly(void **state) {
  (void)state;
  static const struct reply reply = {TS_HEAD, "slow.ts", true, false, true};
  struct server server;
  struct reading reading;
  server_start(&server, true, &reply, 1);
  reading_start(&reading, "http", server.port, 0.5, NULL);
  wait_for_number(&reading, LATE);
  assert_int_equal(reading_end(&reading, NULL), 0);
  server_end(&server);
}

/* A new size in the middle of a connection is accepted; a new codec counts as silence, and is found when the stream is
 * opened again. */
static void change_in_mid_stream(void **state) {
  (void)state;
  static const struct reply replies[][2] = {
      {{TS_HEAD, "sizes.ts", true, false}, {NULL, NULL, true, false}},
      {{TS_HEAD, "codecs.ts", true, false}, {TS_HEAD, "changed.ts", true, false}}};
  for (int i = 0; i < 2; i++) {
    struct server server;
    struct reading reading;
    struct source_info info;
    server_start(&server, true, replies[i], 2);
    reading_start(&reading, "http", server.port, i ? 0.3 : 600, NULL);
    assert_int_equal(wait_for_width(&reading, LATE, 96).height, 80);
    assert_true(reader_get_info(reading.reader, &info));
    assert_true(info.width == 96 && info.height == 80);
    assert_int_equal(reading_end(&reading, NULL), 0);
    server_end(&server);
  }
}

/* Waits for a sender that has not started yet. */
static void sender_comes_late(void **state) {
  (void)state;
  int port, other;
  struct reading reading;
  struct reader_status status;
  size_t size;
  close(open_port(SOCK_DGRAM, &port)); /* finds a port that is free */
  reading_start(&reading, "udp", port, 0.3, NULL);
  wait_for_loss(&reading, &status);
  assert_false(status.opened);
  assert_non_null(strstr(status.reason, "nothing came for 0.3 s"));
  int sender = open_port(SOCK_DGRAM, &other);
  struct sockaddr_in to = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  char *bytes = (char *)shell_output(&size, "cat slow.ts");
  for (int i = 0; i < 400 && !status.opened; i++) {
    for (size_t at = 0; at + 1316 <= size; at += 1316) {
      sendto(sender, bytes + at, 1316, 0, (struct sockaddr *)&to, sizeof to);
      usleep(200);
    }
    reader_get_status(reading.reader, &status);
  }
  assert_true(status.opened);
  const struct mail *mail;
  assert_int_equal(mailbox_take(&reading.mailbox, &mail, PATIENCE_MS), 1);
  free(bytes);
  close(sender);
  assert_int_equal(reading_end(&reading, NULL), 0);
}

/* A server that refuses the connection may start later; an unknown host, a missing page and a file without video are
 * errors. */
static void mistakes_are_told_from_absence(void **state) {
  (void)state;
  static const struct reply not_found = {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", NULL, false, false},
                            busy = {"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", NULL, false,
                                    false},
                            page = {"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 35\r\n\r\n",
                                    "page.html", false, false};
  struct source_options live = {.live = true, .read_timeout = 2};
  struct source *source;
  struct error err;
  int port;
  char spec[64];
  close(open_port(SOCK_STREAM, &port));
  snprintf(spec, sizeof spec, "tcp://127.0.0.1:%d", port);
  assert_int_equal(source_open(&source, spec, &live, &err), SOURCE_NOT_YET);
  assert_non_null(strstr(err.message, "refused"));
  assert_int_equal(source_open(&source, "http://no such host/a.ts", &live, &err), -1);
  assert_non_null(strstr(err.message, "no computer"));
  assert_int_equal(source_open(&source, "nonsense://127.0.0.1/a.ts", &live, &err), -1);
  const struct {
    const struct reply *reply;
    int code;
  } cases[] = {{&not_found, -1}, {&busy, SOURCE_NOT_YET}, {&page, -1}};
  for (int i = 0; i < 3; i++) {
    struct server server;
    server_start(&server, true, cases[i].reply, 1);
    snprintf(spec, sizeof spec, "http://127.0.0.1:%d/", server.port);
    int code = source_open(&source, spec, &live, &err);
    if (code != cases[i].code)
      fail_msg("%d: %s", code, err.message);
    assert_int_equal(err.status, STATUS_INPUT);
    server_end(&server);
  }
}

/* An error in one source of a list does not end it: the next one is waited for. */
static void mistake_in_a_list(void **state) {
  (void)state;
  static const struct reply reply = {TS_HEAD, "slow.ts", true, false, false};
  struct server server;
  struct source *none = NULL;
  struct reading reading = {.spec = "nonsense://127.0.0.1/a.ts", .options = {.live = true}};
  struct reader_status status = {0};
  char next[64];
  server_start(&server, true, &reply, 1);
  snprintf(next, sizeof next, "http://127.0.0.1:%d", server.port);
  mailbox_init(&reading.mailbox);
  assert_int_equal(reader_start_list(&reading.reader, &none, reading.spec, &reading.options, &reading.mailbox, NULL),
                   0);
  while (!status.stands) {
    usleep(1000);
    reader_get_status(reading.reader, &status);
  }
  assert_int_equal(reader_switch(reading.reader, &none, next, &reading.options, READER_NOW, NULL), 0);
  wait_for_number(&reading, LATE);
  assert_int_equal(reading_end(&reading, NULL), 0);
  server_end(&server);
}

/* The reader can be stopped whatever it is waiting for. */
static void can_always_be_left(void **state) {
  (void)state;
  static const struct reply silent = {NULL, NULL, true, false}, half = {TS_HEAD, "slow.ts", true, false};
  const struct reply *replies[] = {&silent, &half};
  for (int i = 0; i < 2; i++) {
    struct server server;
    struct reading reading;
    server_start(&server, true, replies[i], 1);
    reading_start(&reading, "http", server.port, 0, NULL);
    if (i == 1)
      wait_for_number(&reading, LATE);
    else
      usleep(100000);
    int64_t begun_ns = platform_now_ns();
    assert_int_equal(reading_end(&reading, NULL), 0);
    assert_true(platform_now_ns() - begun_ns < (int64_t)10 * 1000000000);
    server_end(&server);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(newest_frame_at_once),
      cmocka_unit_test(file_over_http_is_paced),
      cmocka_unit_test(pipe_is_a_stream_when_live),
      cmocka_unit_test(stream_goes_on),
      cmocka_unit_test(change_in_mid_stream),
      cmocka_unit_test(sender_comes_late),
      cmocka_unit_test(mistakes_are_told_from_absence),
      cmocka_unit_test(can_always_be_left),
      cmocka_unit_test(connects_slowly),
      cmocka_unit_test(mistake_in_a_list),
  };
  av_log_set_level(AV_LOG_QUIET);
  if (!clips_open())
    return 77;
  make_greys("64x48:r=2,format=yuv420p", FRAMES, "-c:v mpeg2video -qscale 1 -g 5 slow.ts");
  /* A file whose frames would come every eight seconds if it were played at its own speed. */
  shell(FFMPEG "-i slow.ts -c copy -bsf:v setts=pts=16*PTS:dts=16*DTS slower.ts");
  make_greys("64x48:r=25,format=yuv420p", FRAMES, "-c:v mpeg2video -qscale 1 -g 5 quick.ts");
  make_greys("64x48:r=2,format=yuvj420p", FRAMES, "-c:v mjpeg -qscale 1 -f mpjpeg slow.mjpeg");
  make_greys("96x80:r=25,format=yuv420p", FRAMES, "-c:v libx264 -qp 0 -g 5 -bf 0 changed.ts");
  make_greys("64x48:r=25,format=yuv420p", FRAMES, "-c:v libx264 -qp 0 -g 5 -bf 0 small.ts");
  shell("cat small.ts changed.ts >sizes.ts; cat quick.ts changed.ts >codecs.ts");
  shell("echo '<html><body>no video</body></html>' >page.html");
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
