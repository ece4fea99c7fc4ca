/* Local sockets (with a name in the file system), waiting for several descriptors, and the names of this machine. The
 * implementation for POSIX systems is app_platform_local_posix.c; another system needs one of its own. Functions that
 * fail set errno. */
#ifndef APP_PLATFORM_APP_PLATFORM_LOCAL_H
#define APP_PLATFORM_APP_PLATFORM_LOCAL_H

#include "app/platform/app_platform.h"

/* Makes a socket at `path`, to which only this user may connect, and listens at it. An existing socket is replaced if
 * no process listens at it. *made describes the new socket. Returns a descriptor or -1. errno: EADDRINUSE if a process
 * listens at the existing socket, EEXIST if `path` is the name of something else, ENAMETOOLONG if `path` is too long
 * for a socket. */
int platform_listen(const char *path, struct platform_entry *made);
/* Closes the listening socket. Removes the file at `path` if it is still the socket that platform_listen has made. */
void platform_stop_listening(int descriptor, const char *path, const struct platform_entry *made);
/* Returns a descriptor for the next connection that waits to be accepted, or -1. Does not wait. */
int platform_accept(int listener);

/* Two functions that receive or send bytes without waiting. They return the number of bytes, 0 at the end of the data,
 * or -1 (EAGAIN: it would have to wait). */
int64_t platform_receive(int descriptor, void *out, size_t size);
int64_t platform_send(int descriptor, const void *data, size_t size);

/* Makes a pair of descriptors (an alarm) for waking a thread: the thread waits until ends[0] is readable, and
 * platform_ring(ends[1]) makes it readable. Returns 0 or -1. */
int platform_make_alarm(int ends[2]);
/* Wakes the thread that waits for an alarm; end: the second descriptor of platform_make_alarm. Any thread may call this
 * function; it does not wait. */
void platform_ring(int end);
/* Resets an alarm, so that it wakes a thread again only at the next platform_ring. end: the first descriptor of
 * platform_make_alarm, which is not readable afterwards. */
void platform_clear_alarm(int end);
void platform_end_alarm(int ends[2]);

struct platform_wish {
  int descriptor; /* the descriptor to wait for; negative: this entry is skipped */
  /* read: the caller sets it to true to wait until the descriptor can be read; platform_wait_for sets it to true if it
   * can be read or the other end is closed, else to false. write: the same for writing. */
  bool read, write;
};
/* Waits up to wait_ms milliseconds (negative: without limit) until one of the descriptors is ready, and sets read and
 * write of each entry. Returns how many entries are ready, 0 after wait_ms, or -1; errno is EINVAL if there are more
 * than 80 entries. */
int platform_wait_for(struct platform_wish *wishes, int count, int wait_ms);

/* stores this machine's name, or "" if it has none */
void platform_machine_name(char *name, size_t size);
/* Stores the address by which other machines of the network reach this one. Returns false if there is none. */
bool platform_own_address(char *address, size_t size);

#endif
