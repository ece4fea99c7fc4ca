/* For tests of the web page's server: a hub with a window's thread, the page, and connections to it. */
#ifndef TESTS_WEB_RIG_H
#define TESTS_WEB_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "app/remote/web.h"

enum { SIDE = 96 };

/* The headers with which a web socket is asked for. */
#define UPGRADE                                                                                                        \
  "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"                                         \
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: reverie\r\n"
#define END "Connection: close\r\n\r\n"

extern struct hub *hub;
extern struct web *web;
extern int port;

/* Set-ups and the tear-down: a page for this machine, or for the network. */
int open_here(void **unused);
int open_everywhere(void **unused);
int open_hasty(void **unused); /* with limits of a second or two */
int close_web(void **unused);

/* Returns a connection to the page's port at an address, or -1 where nobody listens there. */
int knock(const char *address);
/* Returns a connection to the page. */
int enter(void);
void say(int client, const void *bytes, size_t size);
/* Returns false where the connection ends before so many bytes have come. */
bool hear(int client, void *bytes, size_t size);

/* Says bytes on a connection of their own, ends its own half where so told, and returns all that comes, as far as it
 * fits. */
const char *talk(const void *bytes, size_t size, bool half_closed);
/* Fails unless the answer to a request has these words. */
void expect(const char *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Fails unless the page is served. */
void expect_page(void);

/* Returns a web socket, or -1 where it was refused. */
int upgrade(const char *path, const char *headers);
/* Sends a message, masked with zeros, in one frame. */
void say_message(int client, unsigned char kind, const char *text, size_t size);
#define TEXT(client, words) say_message(client, 0x81, words, sizeof(words) - 1)
/* Returns false where the connection ends. */
bool hear_message(int client, char *text, size_t room);
void expect_message(int client, const char *words);

#endif
