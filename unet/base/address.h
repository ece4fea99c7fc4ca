/* Addresses made fit to be shown. Of an address a message, a figure or a report gives scheme, host, port and path. User
 * and password, what stands behind '?' or '#', and the last part of an RTMP path, which is the key of a stream, stay
 * with whoever typed it. */
#ifndef UNET_BASE_ADDRESS_H
#define UNET_BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

struct shown {
  char text[4096];
};

/* Returns the name of a source or an output without what is secret in it: an address ("rtsp://user:password@host/x"),
 * one behind other words ("cache:https://...", "lavfi:movie=http\\://..."), several of them ("concat:A|B"), or a path,
 * which comes back as it is but for its length. */
struct shown address_shown(const char *spec);

/* Returns what a source is called where there is little room: the last part of a path, and an address as
 * address_shown gives it. */
struct shown address_name(const char *spec);

/* Takes what is secret out of all addresses in a line of text, in place. size counts the bytes that text may take: an
 * address can become two bytes longer, and the line's end is cut then. Returns text. */
char *address_conceal(char *text, size_t size);

/* Returns whether text begins with an address, and not with a path. */
bool address_is(const char *text);

#endif
