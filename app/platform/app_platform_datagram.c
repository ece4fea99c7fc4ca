#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/platform/datagram.h"

_Static_assert(sizeof(struct sockaddr_in6) <= sizeof((struct datagram_address *)0)->bytes, "an address has room");

static int refuse(const char *what, const char *text, struct error *err) {
  return error_set(err, STATUS_USAGE,
                   "%s %.100s: PORT, HOST:PORT or [ADDRESS]:PORT is needed, with a port from 1 to 65535", what, text);
}

/* Splits "HOST:PORT" or "[HOST]:PORT". Returns the text of the port; *host and *length get the host without brackets.
 * NULL: the text has another form. */
static const char *split(const char *text, const char **host, size_t *length) {
  const char *colon = strrchr(text, ':');
  *host = text;
  *length = colon ? (size_t)(colon - text) : 0;
  if (*text == '[') {
    if (!colon || colon[-1] != ']')
      return NULL;
    *host = text + 1;
    *length = (size_t)(colon - text) - 2;
  } else if (memchr(text, ':', *length)) {
    return NULL;
  }
  return colon ? colon + 1 : text;
}

int datagram_find(struct datagram_address *address, const char *text, const char *what, struct error *err) {
  char name[256];
  const char *host;
  char *end = NULL;
  size_t length;
  const char *port = split(text, &host, &length);
  long number = port && isdigit((unsigned char)*port) ? strtol(port, &end, 10) : 0;
  if (number < 1 || number > 65535 || *end || length >= sizeof name || (port != text && !length))
    return refuse(what, text, err);
  snprintf(name, sizeof name, "%.*s", (int)length, host);
  const struct addrinfo hints = {
      .ai_family = length ? AF_UNSPEC : AF_INET, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICSERV};
  struct addrinfo *found;
  int code = getaddrinfo(length ? name : "127.0.0.1", port, &hints, &found);
  if (code)
    return error_set(err, STATUS_USAGE, "%s %.100s: %s", what, text, gai_strerror(code));
  *address = (struct datagram_address){.size = found->ai_addrlen};
  memcpy(address->bytes, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return 0;
}

static const struct sockaddr *as_socket(const struct datagram_address *address) {
  return (const struct sockaddr *)(const void *)address->bytes;
}

/* Returns the IP address in `address`, without the port. *size gets its number of bytes. */
static const void *host_of(const struct datagram_address *address, size_t *size) {
  bool six = as_socket(address)->sa_family == AF_INET6;
  *size = six ? sizeof(struct in6_addr) : sizeof(struct in_addr);
  return address->bytes + (six ? offsetof(struct sockaddr_in6, sin6_addr) : offsetof(struct sockaddr_in, sin_addr));
}

int datagram_port(const struct datagram_address *address) {
  in_port_t port;
  _Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "one place");
  memcpy(&port, address->bytes + offsetof(struct sockaddr_in, sin_port), sizeof port);
  return ntohs(port);
}

struct datagram_address datagram_with_port(const struct datagram_address *address, int port) {
  struct datagram_address other = *address;
  in_port_t network = htons((uint16_t)port);
  memcpy(other.bytes + offsetof(struct sockaddr_in, sin_port), &network, sizeof network);
  return other;
}

const char *datagram_name(const struct datagram_address *address, char name[DATAGRAM_NAME_MAX]) {
  char host[INET6_ADDRSTRLEN] = "";
  size_t size;
  bool six = as_socket(address)->sa_family == AF_INET6;
  inet_ntop(as_socket(address)->sa_family, host_of(address, &size), host, sizeof host);
  snprintf(name, DATAGRAM_NAME_MAX, six ? "[%s]:%d" : "%s:%d", host, datagram_port(address));
  return name;
}

bool datagram_same_host(const struct datagram_address *a, const struct datagram_address *b) {
  size_t first_size, second_size;
  const void *first = host_of(a, &first_size), *second = host_of(b, &second_size);
  return first_size == second_size && !memcmp(first, second, first_size);
}

bool datagram_equal(const struct datagram_address *a, const struct datagram_address *b) {
  return datagram_same_host(a, b) && datagram_port(a) == datagram_port(b);
}

static bool is_everywhere(const struct datagram_address *address) {
  static const unsigned char zeros[sizeof(struct in6_addr)];
  size_t size;
  const void *host = host_of(address, &size);
  return !memcmp(host, zeros, size);
}

/* Returns true if the address is one of this machine's. This is tested by binding a socket, which is possible with such
 * addresses only. */
static bool is_of_this_machine(const struct datagram_address *address) {
  struct datagram_address any_port = datagram_with_port(address, 0);
  int probe = socket(as_socket(address)->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  bool bound = probe >= 0 && !bind(probe, as_socket(&any_port), any_port.size);
  if (probe >= 0)
    close(probe);
  return bound;
}

bool datagram_reaches(const struct datagram_address *address, const struct datagram_address *own) {
  if (datagram_port(address) != datagram_port(own))
    return false;
  return datagram_same_host(address, own) || (is_everywhere(own) && is_of_this_machine(address));
}

int datagram_open(struct datagram_address *address, bool listen) {
  int handle = socket(as_socket(address)->sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  socklen_t size = sizeof address->bytes;
  if (handle < 0 || !listen)
    return handle;
  if (bind(handle, as_socket(address), address->size) ||
      getsockname(handle, (struct sockaddr *)(void *)address->bytes, &size)) {
    int code = errno;
    close(handle);
    errno = code;
    return -1;
  }
  address->size = size;
  return handle;
}

void datagram_close(int handle) {
  if (handle >= 0)
    close(handle);
}

int64_t datagram_receive(int handle, void *bytes, size_t size, struct datagram_address *from, int wait_ms) {
  struct pollfd wanted = {.fd = handle, .events = POLLIN};
  socklen_t length = sizeof from->bytes;
  if (poll(&wanted, 1, wait_ms) != 1)
    return -1;
  *from = (struct datagram_address){0};
  ssize_t got =
      recvfrom(handle, bytes, size, MSG_DONTWAIT | MSG_TRUNC, (struct sockaddr *)(void *)from->bytes, &length);
  from->size = length;
  return got >= 0 && (size_t)got <= size && length && length <= sizeof from->bytes ? got : -1;
}

void datagram_send(int handle, const struct datagram_address *to, const void *bytes, size_t size) {
  if (sendto(handle, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL, as_socket(to), to->size) < 0)
    return; /* a datagram that cannot be sent counts as lost, as any datagram may be lost on the network: no error */
}
