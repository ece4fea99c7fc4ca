/* Functions that depend on the operating system: files, memory, the clock, the machine. Each system has its own files:
 * platform_posix.c or platform_windows.c, and a platform_code_... file that opens shared libraries. Functions that only
 * the program needs are in app/platform. Threads are pthreads on every system.
 *
 * File names are UTF-8, with '/' between their parts. Functions that fail set errno. */
#ifndef UNET_BASE_PLATFORM_H
#define UNET_BASE_PLATFORM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* --- opening, reading and replacing files --- */

/* A file that is open for reading. Several threads may read from it. */
struct platform_file {
  int descriptor;
  bool regular;
  uint64_t size; /* size of the file when it was opened */
};

/* Opens a file without blocking: if it is a pipe, the other end is not waited for. Returns 0, or -1 with descriptor
 * -1. */
int platform_open(struct platform_file *file, const char *path);
void platform_close(struct platform_file *file); /* Closes a file. Does nothing if the file is not open. */
/* Reads `size` bytes from `offset` on, or fewer if the file ends. Returns their number, or -1. */
int64_t platform_read(const struct platform_file *file, uint64_t offset, void *out, size_t size);

/* Returns true if a regular file with this path exists and can be read. */
static inline bool platform_can_read_file(const char *path) {
  struct platform_file file;
  bool regular = !platform_open(&file, path) && file.regular;
  platform_close(&file);
  return regular;
}

/* Opens a file as a stream, with a mode as fopen takes it. NULL with errno set on failure. */
FILE *platform_stream(const char *path, const char *mode);
bool platform_exists(const char *path);
/* Returns the absolute path without links, allocated, or NULL if there is no such file. */
char *platform_real_path(const char *path);

/* Makes a folder that only the user can read. Succeeds if the folder exists. Returns 0 or -1. */
int platform_make_folder(const char *path);
/* Creates a file for writing that only the user can read. An existing file is removed first; no link is followed. */
FILE *platform_create(const char *path);
/* Renames a file atomically: other processes see the old file or the new one. Returns 0 or -1. */
int platform_replace(const char *from, const char *to);
int platform_remove(const char *path);
/* Returns a name, in the same folder as path, that no other process uses now. The name is allocated; NULL: out of
 * memory. */
char *platform_temporary_name(const char *path);

/* Locks the folder against other processes until platform_unlock. If another process holds the lock for more than a
 * second, or if the system cannot lock folders, the caller continues without the lock. Every result may be passed to
 * platform_unlock. */
intptr_t platform_lock(const char *folder);
void platform_unlock(intptr_t lock);

/* --- allocating memory, and reserving addresses for it --- */

/* Allocates `size` bytes, aligned to a power of two. A large block is aligned to large pages, and uses them if the
 * system has some. platform_free frees it, and accepts NULL. */
void *platform_alloc(size_t align, size_t size);
void platform_free(void *data);

/* Reserves addresses for memory that can grow to `most` bytes without moving. Returns NULL on failure. */
void *platform_reserve(size_t most);
/* Makes the first `size` bytes of a reservation usable. Bytes that were usable keep their values, new ones are zero.
 * Returns 0, or -1 with nothing changed. */
int platform_commit(void *reserved, size_t size);
/* Gives memory of a reservation back to the system: the part after its first `size` bytes, up to its first `committed`
 * bytes. */
void platform_uncommit(void *reserved, size_t size, size_t committed);
/* Gives back a reservation of `most` bytes, with its memory. Accepts NULL. */
void platform_release(void *reserved, size_t most);

/* --- copying and closing descriptors of files and of memory --- */

/* Duplicates a descriptor, which programs that this process starts do not inherit. Returns -1 on failure. */
int platform_copy_descriptor(int descriptor);
void platform_close_descriptor(int descriptor);

/* --- code that is opened at run time: shared libraries --- */

/* Stores the absolute path, without links, of a folder: the one with the file that contains this function's code. That
 * is the program's file, or a shared library. Returns false if the path is unknown or does not fit. */
bool platform_own_folder(char *path, size_t size);
/* Opens the shared library with this absolute path, with all libraries that it needs. Its symbols serve no other
 * library. Returns NULL on failure, with the system's reason in `why`. platform_close_code closes it. */
void *platform_open_code(const char *path, char *why, size_t size);
/* Returns the address of the library's function of this name, or NULL. */
void *platform_find_function(void *code, const char *name);
void platform_close_code(void *code);

/* --- locks between threads --- */

/* Initialises a lock that the thread which makes frames shares with other threads. The lock has priority inheritance: a
 * thread that holds it gets the priority of a thread that waits for it, so that other programs do not delay both.
 * pthread_mutex_destroy destroys it. */
void platform_lock_init(pthread_mutex_t *lock);

/* --- the clock, and facts about the machine --- */

/* Returns nanoseconds since a fixed moment before the program began. */
int64_t platform_now_ns(void);
void platform_sleep_ns(int64_t ns);
void platform_sleep_until_ns(int64_t ns); /* Sleeps until the clock platform_now_ns reaches `ns`. */
/* Makes the calling thread's sleeps end on time; otherwise the system may extend them by tens of microseconds. */
void platform_sleep_exactly(void);

/* Stores the processor's name ("AMD EPYC"), or "CPU" if it is unknown. */
void platform_cpu_name(char *name, size_t size);
int platform_processors(void);
/* Asks the system to let this process use the processor's matrix units (AMX), which Linux does only then. Returns false
 * if it refuses: the units are missing, or the system does not know them. */
bool platform_allow_amx(void);
/* Returns true if the machine has a display device (a graphics card, or a card that only computes) of this PCI vendor,
 * with or without a driver. root is put before the system's paths: "" except in tests. */
bool platform_has_display(const char *root, unsigned vendor);
/* Stores the total and the available memory, within the limits of this process's control groups. Cached files that the
 * system can drop count as available. Both are 0 if unknown. */
void platform_memory(size_t *total, size_t *available);

#endif
