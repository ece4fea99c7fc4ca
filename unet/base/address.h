/* Functions that remove passwords and keys from addresses (URLs) before they are shown in messages, measurements and
 * reports. The scheme, host, port and path of an address are shown. User and password, the text after '?' or '#', and
 * the last part of an RTMP path (a stream's key) are not. */
#ifndef UNET_BASE_ADDRESS_H
#define UNET_BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

struct shown {
  char text[4096];
};

/* Returns the name of a source or an output without its secrets. The name may be an address
 * ("rtsp://user:password@host/x"), an address after other words ("cache:https://...", "lavfi:movie=http\\://..."),
 * several addresses ("concat:A|B"), or a path. A path is returned unchanged, but cut if it is too long. */
struct shown address_shown(const char *spec);

/* Returns a short name of a source: the last part of a path, or an address as address_shown returns it. */
struct shown address_name(const char *spec);

/* Removes the secrets from all addresses in a line of text, in place. `size` is the capacity of `text` in bytes: an
 * address may become two bytes longer, and then the line is cut at its end. Returns `text`. */
char *address_conceal(char *text, size_t size);

/* Returns true if `text` begins with an address and not with a path. */
bool address_is(const char *text);

#endif
