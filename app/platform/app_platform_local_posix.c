#include "app/platform/app_platform_local.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAITING_MAX = 8, WISHES_MAX = 80 };

static bool set_address(struct sockaddr_un *address, const char *path) {
  *address = (struct sockaddr_un){.sun_family = AF_UNIX};
  size_t length = strlen(path);
  if (length < sizeof address->sun_path)
    memcpy(address->sun_path, path, length);
  else
    errno = ENAMETOOLONG;
  return length < sizeof address->sun_path;
}

static int make_socket(void) {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* Removes the socket at `path` if no process listens at that socket. Returns 0 if nothing has the name `path`
 * afterwards. */
static int remove_stale(const char *path, const struct sockaddr_un *address) {
  struct stat file;
  if (lstat(path, &file))
    return errno == ENOENT ? 0 : -1;
  if (!S_ISSOCK(file.st_mode)) {
    errno = EEXIST;
    return -1;
  }
  int probe = make_socket();
  if (probe < 0)
    return -1;
  /* the socket is unused only if the connection is refused; any other error, such as EAGAIN, would mean that a process
   * listens but has too many waiting connections */
  bool stale = connect(probe, (const struct sockaddr *)address, sizeof *address) && errno == ECONNREFUSED;
  close(probe);
  if (!stale)
    errno = EADDRINUSE;
  return stale ? unlink(path) : -1;
}

/* Binds the socket to its path. The permissions are set before the socket listens, so that no other user can connect
 * before they are set. */
static int bind_at(int descriptor, const char *path, const struct sockaddr_un *address, struct platform_entry *made) {
  if (bind(descriptor, (const struct sockaddr *)address, sizeof *address))
    return -1;
  if (!chmod(path, 0600) && !platform_look(made, path) && !listen(descriptor, WAITING_MAX))
    return 0;
  int code = errno;
  unlink(path);
  errno = code;
  return -1;
}

/* Listens at the socket, while the folder is locked so that two programs that start at once do not remove each other's
 * socket. */
static int listen_alone(int descriptor, const char *path, const struct sockaddr_un *address,
                        struct platform_entry *made) {
  char folder[sizeof address->sun_path + 1] = ".";
  const char *slash = strrchr(path, '/');
  if (slash)
    memcpy(folder, path, (size_t)(slash - path) + 1);
  intptr_t lock = platform_lock(folder);
  int status = remove_stale(path, address) || bind_at(descriptor, path, address, made) ? -1 : 0, code = errno;
  platform_unlock(lock);
  errno = code;
  return status;
}

int platform_listen(const char *path, struct platform_entry *made) {
  struct sockaddr_un address;
  if (!set_address(&address, path))
    return -1;
  int descriptor = make_socket();
  if (descriptor < 0 || !listen_alone(descriptor, path, &address, made))
    return descriptor;
  int code = errno;
  close(descriptor);
  errno = code;
  return -1;
}

void platform_stop_listening(int descriptor, const char *path, const struct platform_entry *made) {
  struct platform_entry there;
  close(descriptor);
  if (!platform_look(&there, path) && there.volume == made->volume && there.number == made->number)
    unlink(path);
}

int platform_accept(int listener) {
  return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

int64_t platform_receive(int descriptor, void *out, size_t size) {
  return read(descriptor, out, size);
}

int64_t platform_send(int descriptor, const void *data, size_t size) {
  return send(descriptor, data, size, MSG_NOSIGNAL);
}

int platform_make_alarm(int ends[2]) {
  return pipe2(ends, O_CLOEXEC | O_NONBLOCK);
}

void platform_ring(int end) {
  (void)!write(end, "", 1);
}

void platform_clear_alarm(int end) {
  char bytes[64];
  while (read(end, bytes, sizeof bytes) > 0)
    ;
}

void platform_end_alarm(int ends[2]) {
  close(ends[0]);
  close(ends[1]);
}

int platform_wait_for(struct platform_wish *wishes, int count, int wait_ms) {
  struct pollfd polls[WISHES_MAX];
  if (count > WISHES_MAX) {
    errno = EINVAL;
    return -1;
  }
  for (int i = 0; i < count; i++)
    polls[i] = (struct pollfd){.fd = wishes[i].descriptor,
                               .events = (short)((wishes[i].read ? POLLIN : 0) | (wishes[i].write ? POLLOUT : 0))};
  int ready = poll(polls, (nfds_t)count, wait_ms);
  for (int i = 0; i < count; i++) {
    bool gone = ready > 0 && polls[i].revents & (POLLHUP | POLLERR | POLLNVAL);
    wishes[i].read = ready > 0 && (polls[i].revents & POLLIN || gone);
    wishes[i].write = ready > 0 && (polls[i].revents & POLLOUT || gone);
  }
  return ready;
}

void platform_machine_name(char *name, size_t size) {
  if (gethostname(name, size))
    *name = 0;
  name[size - 1] = 0;
}

/* Finds the address from which a datagram to another machine would be sent; connecting a datagram socket sends nothing.
 * 192.0.2.1 is an address that is reserved for examples. */
bool platform_own_address(char *address, size_t size) {
  struct sockaddr_in other = {.sin_family = AF_INET, .sin_port = htons(9)}, own = {0};
  socklen_t length = sizeof own;
  int probe = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  inet_pton(AF_INET, "192.0.2.1", &other.sin_addr);
  bool known = probe >= 0 && !connect(probe, (const struct sockaddr *)&other, sizeof other) &&
               !getsockname(probe, (struct sockaddr *)&own, &length) &&
               inet_ntop(AF_INET, &own.sin_addr, address, (socklen_t)size);
  if (probe >= 0)
    close(probe);
  return known;
}
