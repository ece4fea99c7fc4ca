/* For tests of the web page's server: a hub with a thread in the window's place, the page, and connections to it. */
#ifndef TESTS_WEB_RIG_H
#define TESTS_WEB_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "app/remote/web.h"

enum { SIDE = 96 };

/* Headers of a request for a web socket. */
#define UPGRADE                                                                                                        \
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"                                         \
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: reverie\r\n"
#define END "Connection: close\r\n\r\n"

extern struct hub *hub;
extern struct web *web;
extern int port;

/* Set-ups and tear-down: a page for this machine only, or for the network. */
int open_here(void **unused);
int open_everywhere(void **unused);
int open_hasty(void **unused); /* setup of tests: opens the server with time limits of a second or two */
int close_web(void **unused);

/* Returns a connection to the page's port at an address, or -1 if nobody listens there. */
int knock(const char *address);
/* Returns a connection to the page. */
int enter(void);
/* Sends bytes. */
void say(int client, const void *bytes, size_t size);
/* Reads size bytes. Returns false if the connection ends before that. */
bool hear(int client, void *bytes, size_t size);

/* Sends bytes on a new connection, and shuts down its sending side if half_closed. Returns all that comes back, as far
 * as it fits. */
const char *talk(const void *bytes, size_t size, bool half_closed);
/* Fails the test unless the answer to a request has these words. */
void expect(const char *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fails the test unless the page is served. */
void expect_page(void);

/* Returns a web socket, or -1 if it was refused. */
int upgrade(const char *path, const char *headers);
/* Sends a message in one frame, masked with zeros. */
void say_message(int client, unsigned char kind, const char *text, size_t size);
#define TEXT(client, words) say_message(client, 0x81, words, sizeof(words) - 1)
/* Reads a message. Returns false if the connection ends. */
bool hear_message(int client, char *text, size_t room);
void expect_message(int client, const char *words);

#endif
