#include "app/remote/web_gate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int refuse(const char *text, struct error *err) {
  return error_set(err, STATUS_USAGE, "--web=%.60s: PORT or HOST:PORT is needed, as in 8080 or 0.0.0.0:8080", text);
}

static bool read_port(const char *text, int *port) {
  char *end;
  long number = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
  *port = (int)number;
  return number >= 0 && number <= 65535 && !*end;
}

/* True if `host` consists of digits and dots only, so that it is an IPv4 address and not a name for a name server. */
static bool is_ipv4(const char *host) {
  return *host && !host[strspn(host, "0123456789.")];
}

static bool is_ipv6(const char *host) {
  return strchr(host, ':') && !host[strspn(host, "0123456789abcdefABCDEF:.")];
}

static bool is_loopback(const char *host) {
  return !strcasecmp(host, "localhost") || (is_ipv4(host) && !strncmp(host, "127.", 4)) || !strcmp(host, "::1");
}

/* Splits "HOST", "HOST:PORT" or "[HOST]:PORT". *port points to the port in the text, or is NULL if the text has none.
 * Returns false if the text has another form, or if the host does not fit into `size` bytes. */
static bool split(const char *text, char *host, size_t size, const char **port) {
  const char *begin = text + (*text == '['), *end = *text == '[' ? strchr(text, ']') : strrchr(text, ':');
  /* the host has several colons and no brackets: the whole text is an IPv6 address without a port */
  if (*text != '[' && end && strchr(text, ':') != end)
    end = NULL;
  if (*text == '[' && !end)
    return false;
  size_t length = end ? (size_t)(end - begin) : strlen(begin);
  const char *rest = end ? end + (*text == '[') : "";
  *port = *rest == ':' ? rest + 1 : NULL;
  if (length >= size || (*rest && *rest != ':'))
    return false;
  memcpy(host, begin, length);
  host[length] = 0;
  return true;
}

/* True if the text is an IP address or may be the name of a network interface. */
static bool is_place(const char *host) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
  bool number = !host[strspn(host, "0123456789")];
  return is_ipv6(host) || (!number && *host != '-' && !host[strspn(host, letters)]);
}

int web_read_address(struct web_address *address, const char *text, struct error *err) {
  const char *port;
  *address = (struct web_address){.host = "127.0.0.1", .port = WEB_PORT, .loopback = true, .ipv4 = true};
  if (!*text || read_port(text, &address->port))
    return 0;
  address->port = WEB_PORT;
  if (!split(text, address->host, sizeof address->host, &port) || (port && !read_port(port, &address->port)))
    return refuse(text, err);
  if (!strcasecmp(address->host, "localhost"))
    strcpy(address->host, "127.0.0.1");
  address->loopback = is_loopback(address->host);
  if (!strcmp(address->host, "0.0.0.0") || !strcmp(address->host, "::") || !strcmp(address->host, "*"))
    *address->host = 0;
  else if (!is_place(address->host))
    return error_set(err, STATUS_USAGE,
                     "--web=%.60s: an address of this machine is needed, as in 127.0.0.1, or 0.0.0.0 for all", text);
  address->ipv4 = is_ipv4(address->host);
  return 0;
}

static bool is_machine(const char *host, const char *machine) {
  size_t length = strlen(machine);
  return length && !strncasecmp(host, machine, length) && (!host[length] || !strcasecmp(host + length, ".local"));
}

bool web_host_is_ours(const struct web_address *address, const char *host, const char *machine) {
  char name[256];
  const char *port;
  if (!host || !split(host, name, sizeof name, &port))
    return false;
  if (is_loopback(name))
    return true;
  return !address->loopback && (is_ipv4(name) || is_ipv6(name) || is_machine(name, machine));
}

bool web_origin_is_ours(const char *origin, const char *host) {
  const char *begin = origin ? strstr(origin, "://") : NULL;
  if (!origin)
    return true;
  size_t scheme = begin ? (size_t)(begin - origin) : 0;
  bool web = (scheme == 4 && !strncasecmp(origin, "http", 4)) || (scheme == 5 && !strncasecmp(origin, "https", 5));
  return web && host && !strcasecmp(begin + 3, host);
}

bool web_token_is(const char *token, const char *given) {
  char padded[WEB_TOKEN_LENGTH] = {0};
  size_t length = given ? strlen(given) : 0;
  volatile unsigned char differs = length != WEB_TOKEN_LENGTH;
  memcpy(padded, given ? given : "", length < sizeof padded ? length : sizeof padded);
  for (int i = 0; i < WEB_TOKEN_LENGTH; i++)
    differs |= (unsigned char)(padded[i] ^ token[i]);
  return !differs;
}
