#include "tests/rigs/rtsp_server.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/rigs/clips.h"

enum { REQUEST_MAX = 4096, NAL_MAX = 60000, TICKS = 3600 /* TICKS: ticks of 90 kHz from one picture to the next */ };

static const char description[] = "v=0\r\no=- 0 0 IN IP4 127.0.0.1\r\ns=test\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
                                  "a=control:*\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\n"
                                  "a=fmtp:96 packetization-mode=1\r\na=control:track1\r\n";

struct session {
  struct rtsp_server *server;
  const struct rtsp_play *play;
  int line, datagrams; /* datagrams: a socket for pictures; -1: they go through line, too */
  struct sockaddr_in to;
  uint16_t number;
};

/* Waits for data on the connection, or its end. Returns false if the server is stopped before that. */
static bool await(const struct rtsp_server *server, int line) {
  struct pollfd ready = {.fd = line, .events = POLLIN};
  while (!server->stop)
    if (poll(&ready, 1, 20) == 1)
      return true;
  return false;
}

static bool put(const struct session *session, const void *bytes, size_t size) {
  return send(session->line, bytes, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* --- pictures --- */

static bool send_unit(struct session *session, const uint8_t *unit, size_t size, uint32_t time, bool last) {
  uint8_t packet[NAL_MAX + 16] = {'$', 0};
  uint16_t length = htons((uint16_t)(size + 12)), number = htons(session->number++);
  time = htonl(time);
  if (size > NAL_MAX)
    return false;
  memcpy(packet + 2, &length, 2);
  packet[4] = 0x80; /* version 2 */
  packet[5] = (uint8_t)(96 | (last ? 0x80 : 0));
  memcpy(packet + 6, &number, 2);
  memcpy(packet + 8, &time, 4);
  memcpy(packet + 16, unit, size);
  if (session->datagrams < 0)
    return put(session, packet, size + 16);
  if (session->play->datagrams_go)
    sendto(session->datagrams, packet + 4, size + 12, 0, (struct sockaddr *)&session->to, sizeof session->to);
  return true;
}

/* Returns the position after the next start code; size if there is none. */
static size_t find_unit(const uint8_t *bytes, size_t size, size_t at) {
  for (; at + 3 < size; at++)
    if (!bytes[at] && !bytes[at + 1] && bytes[at + 2] == 1)
      return at + 3;
  return size;
}

static bool send_pictures(struct session *session) {
  size_t size, next;
  uint32_t time = 0;
  bool sent = true;
  uint8_t *bytes = shell_output(&size, "cat %s", session->play->file);
  for (size_t at = find_unit(bytes, size, 0); at < size && sent; at = next) {
    next = find_unit(bytes, size, at);
    size_t end = next < size ? next - 3 : size;
    int type = bytes[at] & 31;
    bool picture = type >= 1 && type <= 5;
    sent = send_unit(session, bytes + at, end - at, time, picture);
    time += picture ? TICKS : 0;
  }
  free(bytes);
  return sent;
}

/* --- requests --- */

static bool take_request(const struct session *session, char request[REQUEST_MAX]) {
  size_t size = 0;
  for (*request = 0; !strstr(request, "\r\n\r\n"); request[size] = 0) {
    ssize_t got = await(session->server, session->line) ? recv(session->line, request + size, 1, 0) : 0;
    if (got != 1 || ++size == REQUEST_MAX)
      return false;
  }
  return true;
}

static bool answer(const struct session *session, const char *request, const char *status, const char *headers,
                   const char *content) {
  char text[2048];
  const char *number = strstr(request, "CSeq:");
  int length = snprintf(text, sizeof text, "RTSP/1.0 %s\r\nCSeq: %d\r\nSession: 1\r\n%sContent-Length: %zu\r\n\r\n%s",
                        status, number ? atoi(number + 5) : 0, headers, strlen(content), content);
  return put(session, text, (size_t)length);
}

static bool set_up(struct session *session, const char *request) {
  const char *port = strstr(request, "client_port=");
  char headers[128];
  if (!port && session->play->refuses_tcp)
    return answer(session, request, "461 Unsupported Transport", "", "");
  if (!port)
    return answer(session, request, "200 OK", "Transport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n", "");
  session->to = (struct sockaddr_in){
      .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port + 12)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  session->datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  snprintf(headers, sizeof headers, "Transport: RTP/AVP/UDP;unicast;client_port=%d-%d;server_port=40000-40001\r\n",
           atoi(port + 12), atoi(port + 12) + 1);
  return answer(session, request, "200 OK", headers, "");
}

/* Returns true if the client may send further requests. */
static bool serve(struct session *session) {
  char request[REQUEST_MAX];
  if (!take_request(session, request) || !strncmp(request, "TEARDOWN", 8))
    return false;
  if (!strncmp(request, "DESCRIBE", 8))
    return answer(session, request, "200 OK", "Content-Type: application/sdp\r\n", description);
  if (!strncmp(request, "SETUP", 5))
    return set_up(session, request);
  if (!strncmp(request, "PLAY", 4))
    return answer(session, request, "200 OK", "", "") && send_pictures(session) && session->play->stays;
  return answer(session, request, "200 OK", "Public: DESCRIBE, SETUP, PLAY, TEARDOWN\r\n", "");
}

static void *serve_all(void *opaque) {
  struct rtsp_server *server = opaque;
  for (int number = 0; await(server, server->socket); number++) {
    struct session session = {.server = server,
                              .play = &server->plays[number < server->count ? number : server->count - 1],
                              .line = accept(server->socket, NULL, NULL),
                              .datagrams = -1};
    while (serve(&session))
      ;
    if (session.datagrams >= 0)
      close(session.datagrams);
    close(session.line);
  }
  return NULL;
}

bool rtsp_server_start(struct rtsp_server *server, const struct rtsp_play *plays, int count) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  *server =
      (struct rtsp_server){.plays = plays, .count = count, .socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  if (server->socket < 0 || bind(server->socket, (struct sockaddr *)&address, sizeof address) ||
      getsockname(server->socket, (struct sockaddr *)&address, &size) || listen(server->socket, 8))
    return false;
  server->port = ntohs(address.sin_port);
  return !pthread_create(&server->thread, NULL, serve_all, server);
}

void rtsp_server_end(struct rtsp_server *server) {
  server->stop = true;
  pthread_join(server->thread, NULL);
  close(server->socket);
}
