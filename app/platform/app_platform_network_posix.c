#include "app/platform/app_platform_network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WAITING_MAX = 64 };

struct place {
  struct sockaddr_storage address;
  socklen_t size;
};

static void set_port(struct place *place, int port) {
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&place->address;
  struct sockaddr_in *v4 = (struct sockaddr_in *)&place->address;
  if (place->address.ss_family == AF_INET6)
    v6->sin6_port = htons((uint16_t)port);
  else
    v4->sin_port = htons((uint16_t)port);
}

static int get_port(const struct place *place) {
  const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&place->address;
  const struct sockaddr_in *v4 = (const struct sockaddr_in *)&place->address;
  return ntohs(place->address.ss_family == AF_INET6 ? v6->sin6_port : v4->sin_port);
}

static void set_place(struct place *place, const struct sockaddr *address, int family) {
  place->size = family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
  memcpy(&place->address, address, place->size);
}

/* Finds an address of the network interface. If the interface has both IPv4 and IPv6 addresses, an IPv4 address is
 * used, which is easier to type. */
static bool find_interface(struct place *place, const char *name) {
  struct ifaddrs *all;
  if (getifaddrs(&all))
    return false;
  for (struct ifaddrs *one = all; one; one = one->ifa_next) {
    int family = one->ifa_addr ? one->ifa_addr->sa_family : AF_UNSPEC;
    if (!strcmp(one->ifa_name, name) && (family == AF_INET || (family == AF_INET6 && !place->size)))
      set_place(place, one->ifa_addr, family);
  }
  freeifaddrs(all);
  return place->size > 0;
}

static bool find_address(struct place *place, const char *host) {
  const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST};
  struct addrinfo *found;
  if (getaddrinfo(host, NULL, &hints, &found))
    return false;
  set_place(place, found->ai_addr, found->ai_family);
  freeaddrinfo(found);
  return true;
}

static int listen_at(struct place *place, int *port) {
  int on = 1, off = 0;
  int descriptor = socket(place->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0)
    return -1;
  set_port(place, *port);
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (place->address.ss_family == AF_INET6)
    setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  if (!bind(descriptor, (const struct sockaddr *)&place->address, place->size) && !listen(descriptor, WAITING_MAX) &&
      !getsockname(descriptor, (struct sockaddr *)&place->address, &place->size)) {
    *port = get_port(place);
    return descriptor;
  }
  int code = errno;
  close(descriptor);
  errno = code;
  return -1;
}

/* Listens at all addresses of this machine. An IPv6 socket also receives IPv4; a system without IPv6 gets an IPv4
 * socket. */
static int listen_everywhere(int *port) {
  struct place v6 = {.size = sizeof(struct sockaddr_in6)}, v4 = {.size = sizeof(struct sockaddr_in)};
  v6.address.ss_family = AF_INET6;
  v4.address.ss_family = AF_INET;
  int descriptor = listen_at(&v6, port);
  return descriptor >= 0 || errno == EADDRINUSE || errno == EACCES ? descriptor : listen_at(&v4, port);
}

int platform_listen_to_network(char *host, size_t size, int *port) {
  struct place place = {0};
  if (!*host)
    return listen_everywhere(port);
  if (!find_address(&place, host) && !find_interface(&place, host)) {
    errno = ENODEV;
    return -1;
  }
  int descriptor = listen_at(&place, port);
  if (descriptor >= 0)
    getnameinfo((const struct sockaddr *)&place.address, place.size, host, (socklen_t)size, NULL, 0, NI_NUMERICHOST);
  return descriptor;
}

void platform_end_sending(int descriptor) {
  shutdown(descriptor, SHUT_WR);
}

bool platform_is_at_end(int descriptor) {
  char byte;
  return recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void platform_end_connection(int descriptor) {
  shutdown(descriptor, SHUT_RDWR);
}

void platform_send_at_once(int descriptor) {
  int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

int platform_random(void *bytes, size_t size) {
  return getrandom(bytes, size, 0) == (ssize_t)size ? 0 : -1;
}
