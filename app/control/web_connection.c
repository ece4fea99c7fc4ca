#include "app/control/web_connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform_network.h"

enum {
  /* A client with so much to read yet is not listened to. */
  BACKLOG_ENOUGH = 65536,
  REQUEST_S = 20, /* for a request, and for the next one */
  ANSWER_S = 120, /* for an answer, however slowly it is taken */
  TAKEN_S = 20,   /* for some of what is sent to be taken */
  PING_S = 10,
  HANG_UP_S = 30,
  CLOSING_S = 2,
};

static int64_t seconds(int64_t count) {
  return count * 1000000000;
}

void web_connection_begin(struct web_connection *c, int descriptor, int64_t now_ns) {
  c->descriptor = descriptor;
  c->moved_ns = c->heard_ns = now_ns;
  web_connection_enter(c, WEB_AWAITS, now_ns);
}

void web_connection_end(struct web_connection *c) {
  platform_close_descriptor(c->descriptor);
  free(c->out);
  c->out = NULL;
}

int web_connection_put(struct web_connection *c, const void *bytes, size_t size) {
  if (c->out_size + size > c->out_room) {
    size_t room = 2 * c->out_room > c->out_size + size ? 2 * c->out_room : c->out_size + size;
    unsigned char *more = realloc(c->out, room);
    if (!more)
      return -1;
    c->out = more;
    c->out_room = room;
  }
  if (size)
    memcpy(c->out + c->out_size, bytes, size);
  c->out_size += size;
  return 0;
}

void web_connection_use(struct web_connection *c, size_t size) {
  c->in_size -= size;
  memmove(c->in, c->in + size, c->in_size);
}

void web_connection_enter(struct web_connection *c, enum web_stage stage, int64_t now_ns) {
  c->stage = stage;
  c->since_ns = now_ns;
}

bool web_connection_can_receive(const struct web_connection *c) {
  if (c->stage == WEB_CLOSING)
    return true;
  return c->stage != WEB_ANSWERS && c->in_size < sizeof c->in && c->out_size < BACKLOG_ENOUGH;
}

bool web_connection_receive(struct web_connection *c, int64_t now_ns) {
  if (c->stage == WEB_CLOSING)
    c->in_size = 0;
  int64_t got = platform_receive(c->descriptor, c->in + c->in_size, sizeof c->in - c->in_size);
  if (got < 0)
    return errno == EAGAIN || errno == EINTR;
  c->in_size += (size_t)got;
  c->heard_ns = now_ns;
  return got > 0;
}

/* The stage that follows where all is sent. */
static bool go_on(struct web_connection *c, int64_t now_ns) {
  free(c->out); /* of 64 connections with a large answer each */
  c->out = NULL;
  c->out_room = 0;
  if (c->stage == WEB_ANSWERS)
    web_connection_enter(c, c->keeps ? WEB_AWAITS : WEB_CLOSING, now_ns);
  if (c->stage == WEB_CLOSING && !c->told_end)
    platform_end_sending(c->descriptor);
  c->told_end = c->stage == WEB_CLOSING;
  return true;
}

bool web_connection_send(struct web_connection *c, int64_t now_ns) {
  int64_t sent = c->out_size ? platform_send(c->descriptor, c->out, c->out_size) : 0;
  if (sent < 0)
    return errno == EAGAIN || errno == EINTR;
  c->out_size -= (size_t)sent;
  if (c->out_size)
    memmove(c->out, c->out + sent, c->out_size);
  if (sent || !c->out_size)
    c->moved_ns = now_ns;
  return c->out_size ? true : go_on(c, now_ns);
}

bool web_connection_is_late(const struct web_connection *c, int64_t now_ns) {
  int64_t stage = now_ns - c->since_ns;
  if (c->out_size && now_ns - c->moved_ns > seconds(TAKEN_S))
    return true;
  switch (c->stage) {
  case WEB_AWAITS:
    return stage > seconds(REQUEST_S);
  case WEB_ANSWERS:
    return stage > seconds(ANSWER_S);
  case WEB_CLOSING:
    return stage > seconds(CLOSING_S);
  default:
    return now_ns - c->heard_ns > seconds(HANG_UP_S);
  }
}

bool web_connection_wants_ping(struct web_connection *c, int64_t now_ns) {
  if (c->stage != WEB_SOCKET || now_ns - c->heard_ns < seconds(PING_S) || c->pinged_ns > c->heard_ns)
    return false;
  c->pinged_ns = now_ns;
  return true;
}
