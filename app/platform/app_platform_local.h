/* Sockets that have a name in the file system, waiting for several of them at once, and what this machine is called.
 * One file a system: app_platform_local_posix.c. What fails leaves errno. */
#ifndef APP_PLATFORM_APP_PLATFORM_LOCAL_H
#define APP_PLATFORM_APP_PLATFORM_LOCAL_H

#include "app/platform/app_platform.h"

/* Listens at path, which only this user may connect to. A socket there that nobody listens at any more is replaced;
 * EADDRINUSE: somebody listens there; EEXIST: something else is there; ENAMETOOLONG: path is too long for a socket.
 * *made is what it made. Returns a descriptor or -1. */
int platform_listen(const char *path, struct platform_entry *made);
/* Ends listening and removes path, if it still is what platform_listen made. */
void platform_stop_listening(int descriptor, const char *path, const struct platform_entry *made);
/* The next who connects, without waiting. Returns a descriptor or -1. */
int platform_accept(int listener);

/* Without waiting. Return the number of bytes, 0 at the end of what comes, -1 (EAGAIN: not now). */
int64_t platform_receive(int descriptor, void *out, size_t size);
int64_t platform_send(int descriptor, const void *data, size_t size);

/* Two ends: what one thread writes to the second wakes another that waits for the first. Returns 0 or -1. */
int platform_make_alarm(int ends[2]);
void platform_ring(int end);
/* Takes what was written so far. */
void platform_hush(int end);
void platform_end_alarm(int ends[2]);

struct platform_wish {
  int descriptor;   /* negative: none */
  bool read, write; /* wanted; then: possible, or the other end is gone */
};
/* Waits until one of them is possible, at most wait_ms; negative: for ever. Returns how many are, or -1. */
int platform_wait_for(struct platform_wish *wishes, int count, int wait_ms);

/* This machine's name, "" where it has none. */
void platform_machine_name(char *name, size_t size);
/* The address at which others on its network reach it. Returns whether it has one. */
bool platform_own_address(char *address, size_t size);

#endif
