/* Local sockets (with a name in the file system), waiting for several descriptors, and the names of this machine. Each
 * system has its own implementation: app_platform_local_posix.c. Functions that fail set errno. */
#ifndef APP_PLATFORM_APP_PLATFORM_LOCAL_H
#define APP_PLATFORM_APP_PLATFORM_LOCAL_H

#include "app/platform/app_platform.h"

/* Listens at path, to which only this user may connect. A socket there that no process listens at is replaced. *made
 * describes the new socket. Returns a descriptor or -1. errno: EADDRINUSE if a process listens there, EEXIST if path is
 * something else, ENAMETOOLONG if it is too long for a socket. */
int platform_listen(const char *path, struct platform_entry *made);
/* Closes the socket, and removes path if it still is the file that platform_listen made. */
void platform_stop_listening(int descriptor, const char *path, const struct platform_entry *made);
/* Returns a descriptor for the next waiting connection, or -1. Does not wait. */
int platform_accept(int listener);

/* Receive or send without waiting. Return the number of bytes, 0 at the end of the data, or -1 (EAGAIN: not possible
 * now). */
int64_t platform_receive(int descriptor, void *out, size_t size);
int64_t platform_send(int descriptor, const void *data, size_t size);

/* Makes two ends for waking a thread: it waits for the first to become readable, and platform_ring(second) makes it so.
 * Returns 0 or -1. */
int platform_make_alarm(int ends[2]);
/* Wakes the waiting thread, given the second end. Any thread; does not wait. */
void platform_ring(int end);
/* Removes all rings so far, so that the first end is not readable any more. */
void platform_clear_alarm(int end);
void platform_end_alarm(int ends[2]);

struct platform_wish {
  int descriptor;   /* negative: this entry is skipped */
  bool read, write; /* in: what to wait for; out: what is possible, also if the other end is closed */
};
/* Waits up to wait_ms milliseconds (negative: without limit) until one of the descriptors is ready, and sets read and
 * write of each entry. Returns how many are ready, or -1. */
int platform_wait_for(struct platform_wish *wishes, int count, int wait_ms);

/* Stores this machine's name, or "" if it has none. */
void platform_machine_name(char *name, size_t size);
/* Stores the address by which other machines of its network reach this one. Returns false if it has none. */
bool platform_own_address(char *address, size_t size);

#endif
