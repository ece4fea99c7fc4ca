/* Helpers for tests of the web page's server: a hub, a thread that does the window's work for it, the server, and
 * connections to it. */
#ifndef TESTS_WEB_RIG_H
#define TESTS_WEB_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "app/remote/web.h"

enum { SIDE = 96 };

/* HTTP headers of a request that opens a web socket. */
#define UPGRADE                                                                                                        \
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"                                         \
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: reverie\r\n"
#define END "Connection: close\r\n\r\n"

extern struct hub *hub;
extern struct web *web;
extern int port;

/* Set-ups and tear-down of tests: open the server for this machine only, or for the network. */
int open_here(void **unused);
int open_everywhere(void **unused);
int open_hasty(void **unused); /* set-up of tests: opens the server with time limits of a second or two */
int close_web(void **unused);

/* Returns a connection to the server's port at this address; -1: nobody listens there. */
int knock(const char *address);
/* Returns a connection to the server. */
int enter(void);
/* Sends `size` bytes on a connection. */
void say(int client, const void *bytes, size_t size);
/* Reads `size` bytes from a connection. Returns false if it ends before. */
bool hear(int client, void *bytes, size_t size);

/* Sends bytes on a new connection; if half_closed is true, shuts down its sending side then. Returns the bytes that
 * come back, as a text in a static buffer. */
const char *talk(const void *bytes, size_t size, bool half_closed);
/* Sends a request (format and its arguments). Fails the test unless the answer contains `words`. */
void expect(const char *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fails the test unless the server sends the page. */
void expect_page(void);

/* Opens a web socket at this path. Returns its connection; -1: it was refused. */
int upgrade(const char *path, const char *headers);
/* Sends a message on a web socket, in one frame that is masked with zeros. kind: first byte of the frame, such as 0x81
 * for a text. */
void say_message(int client, unsigned char kind, const char *text, size_t size);
#define TEXT(client, words) say_message(client, 0x81, words, sizeof(words) - 1)
/* Reads a message from a web socket. Returns false if the connection ends. */
bool hear_message(int client, char *text, size_t room);
void expect_message(int client, const char *words);

#endif
