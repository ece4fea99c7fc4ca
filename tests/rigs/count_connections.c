/* A library to be preloaded into the program (LD_PRELOAD). It adds a line to the file REVERIE_CONNECTIONS for each
 * network connection, to another machine or to this one, and for each name that is looked up. */
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static void note(const char *line) {
  const char *path = getenv("REVERIE_CONNECTIONS");
  int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (file < 0 || write(file, line, strlen(line)) < 0)
    abort();
  close(file);
}

int connect(int socket, const struct sockaddr *address, socklen_t size) {
  static int (*real)(int, const struct sockaddr *, socklen_t);
  if (!real)
    *(void **)&real = dlsym(RTLD_NEXT, "connect");
  if (address->sa_family == AF_INET || address->sa_family == AF_INET6)
    note("connection\n");
  return real(socket, address, size);
}

int getaddrinfo(const char *name, const char *service, const struct addrinfo *wish, struct addrinfo **found) {
  static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
  if (!real)
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
  note("name\n");
  return real(name, service, wish, found);
}
