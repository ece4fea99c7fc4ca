/* What is asked of the operating system: files, memory, the clock, the machine. One file a system: platform_posix.c,
 * platform_windows.c; what only the program asks for is in app/platform. Threads are pthreads everywhere.
 *
 * Names of files are UTF-8, with '/' between their parts. What fails leaves errno. */
#ifndef UNET_BASE_PLATFORM_H
#define UNET_BASE_PLATFORM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- files --- */

/* A file that is open for reading. Several threads may read it. */
struct platform_file {
  int descriptor;
  bool regular;
  uint64_t size; /* when it was opened */
};

/* Does not wait for the other end of a pipe. Returns 0, or -1 with descriptor -1. */
int platform_open(struct platform_file *file, const char *path);
void platform_close(struct platform_file *file); /* takes one that is not open */
/* Reads size bytes from offset on, fewer only where the file ends. Returns their number, or -1. */
int64_t platform_read(const struct platform_file *file, uint64_t offset, void *out, size_t size);

/* Whether a regular file is there that can be read. */
static inline bool platform_can_read_file(const char *path) {
  struct platform_file file;
  bool regular = !platform_open(&file, path) && file.regular;
  platform_close(&file);
  return regular;
}

/* fopen. */
FILE *platform_stream(const char *path, const char *mode);
bool platform_exists(const char *path);
/* The whole path with no links in it, allocated; NULL: nothing is there. */
char *platform_real_path(const char *path);

/* Makes a folder for the user alone; one that is there is fine. Returns 0 or -1. */
int platform_make_folder(const char *path);
/* Creates a file for writing that only the user can read. A file of this name is removed first; no link is followed. */
FILE *platform_create(const char *path);
/* Names a file anew, in one step: others see the old file or the new one. Returns 0 or -1. */
int platform_replace(const char *from, const char *to);
int platform_remove(const char *path);
/* A name beside path that no other process takes at this time, allocated; NULL: no memory. */
char *platform_temporary_name(const char *path);

/* Locks the folder against other processes until platform_unlock. Waits at most a second for a process that holds the
 * lock; after that, and where folders cannot be locked, the caller goes on without it. platform_unlock takes every
 * result. */
intptr_t platform_lock(const char *folder);
void platform_unlock(intptr_t lock);

/* --- memory --- */

/* Memory for size bytes, aligned to a power of two; a large block is aligned to large pages, and is in them where there
 * are some. platform_free gives it back, and takes NULL. */
void *platform_alloc(size_t align, size_t size);
void platform_free(void *data);

/* Memory that grows without moving: addresses for most bytes are reserved, and memory is put behind them from the
 * beginning on. */
void *platform_reserve(size_t most); /* NULL: failed */
/* Puts memory, zero at first, behind the first size bytes; what is there stays as it is. Returns 0, or -1 with nothing
 * changed. */
int platform_commit(void *reserved, size_t size);
/* Takes the memory behind the first size bytes away again, of the first `committed`. */
void platform_uncommit(void *reserved, size_t size, size_t committed);
void platform_release(void *reserved, size_t most); /* takes NULL */

/* --- descriptors, of files and of memory --- */

int platform_copy_descriptor(int descriptor); /* another one for the same; -1: failed */
void platform_close_descriptor(int descriptor);

/* --- locks --- */

/* A lock that a thread on which a picture waits shares with others: whoever holds it runs as soon as whoever waits for
 * it would, so that no third program comes between the two. pthread_mutex_destroy undoes it. */
void platform_lock_init(pthread_mutex_t *lock);

/* --- clock and machine --- */

/* Nanoseconds since some moment before the program began. */
int64_t platform_now_ns(void);
void platform_sleep_ns(int64_t ns);
void platform_sleep_until_ns(int64_t ns); /* of platform_now_ns */
/* The calling thread's sleeps end when they are due: the system may else put them off for some tens of us. */
void platform_sleep_exactly(void);

/* "AMD EPYC"; "CPU" where it is not known. */
void platform_cpu_name(char *name, size_t size);
int platform_processors(void);
/* True if the machine has a display device (a graphics card, or a card that only computes) of this PCI vendor, with a
 * driver or without. root is put before the system's own paths: "" but in tests. */
bool platform_has_display(const char *root, unsigned vendor);
/* available: with what the system keeps of files and would give up; both within the limits that are set for this
 * process's control groups. Both 0 where they are not known. */
void platform_memory(size_t *total, size_t *available);

#endif
