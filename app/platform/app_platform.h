/* The program's interface to the operating system, beyond unet/base/platform.h: files, pipes, signals, the terminal,
 * threads, and the process. Each system has its own implementation: app_platform_posix.c and the other *_posix.c.
 *
 * File names are UTF-8 with '/' as separator. Functions that fail set errno. Any thread may call them unless noted. */
#ifndef APP_PLATFORM_APP_PLATFORM_H
#define APP_PLATFORM_APP_PLATFORM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "unet/base/log.h"
#include "unet/base/platform.h"

enum { STANDARD_INPUT = 0, STANDARD_OUTPUT = 1, STANDARD_ERROR = 2 };

/* --- files --- */

enum entry_kind { ENTRY_FILE, ENTRY_FOLDER, ENTRY_PIPE, ENTRY_OTHER };

/* Describes the file behind a name or a descriptor. Two names are of the same file if volume and number are equal. */
struct platform_entry {
  enum entry_kind kind;
  uint64_t volume, number;
  int64_t size;
};

/* Describe a file or test a property of it. Links are followed. platform_look and platform_look_at return 0 or -1. */
int platform_look(struct platform_entry *entry, const char *path);
int platform_look_at(struct platform_entry *entry, int descriptor);
bool platform_is_file(const char *path);
bool platform_is_folder(const char *path);
bool platform_can_read(const char *path);
bool platform_can_write(const char *path);

/* Stores in *bytes how many bytes this user may still write on the volume of path. Returns 0 or -1. */
int platform_free_space(const char *path, uint64_t *bytes);
/* Writes buffered data of the file to the disk. Returns 0 or -1. */
int platform_save(FILE *file);

/* Calls take for each name that matches a pattern of *, ? and [], in any order, until take returns other than 0.
 * Returns that value, 0, or -1 with ENOMEM. */
int platform_glob(const char *pattern, int (*take)(void *opaque, const char *path), void *opaque);
/* Calls take for each name in a folder, without the folder's own path. Does nothing if the folder cannot be read. */
void platform_list(const char *folder, void (*take)(void *opaque, const char *name), void *opaque);
/* Cuts a file to `size` bytes. Returns 0 or -1. */
int platform_cut(const char *path, int64_t size);

/* Creates a file that stays locked as long as it is open, so that other processes know a file that nobody uses: it has
 * no lock (its process was killed). path ends with XXXXXX, which is replaced to make an unused name. usual: the file
 * gets the default permissions; otherwise only this user may access it. Returns a descriptor or -1. */
int platform_make_locked(char *path, bool usual);
/* Opens a file and locks it as platform_make_locked does; creates it if it does not exist. Returns a descriptor, or -1
 * with EWOULDBLOCK if another process holds the lock. */
int platform_open_locked(const char *path);
/* Gives the open file the owner and group of path, if permitted, and its mode. Returns 0 or -1. */
int platform_make_like(int descriptor, const char *path);
/* Stores a name by which the open file can be opened again even if path is renamed or removed. path is its current
 * name. */
void platform_name_open_file(int descriptor, const char *path, char *name, size_t size);
/* Removes a file of this user that platform_make_locked made and that no process has open. Returns true if it did. */
bool platform_remove_abandoned(const char *folder, const char *name);

/* Opens a text file for reading. A pipe or device is read to its end first, however long that takes; a log line says
 * that the program waits for it. log may be NULL. Returns NULL on failure; errno is EINTR if *stop was set meanwhile,
 * and EFBIG if the data does not end. */
FILE *platform_open_text(const char *path, const atomic_bool *stop, const struct log *log);
/* Opens a file for writing and empties it. Does not wait for a pipe's reader: returns NULL with ENXIO if there is
 * none. */
FILE *platform_open_to_write(const char *path);
/* Returns the reason why platform_open_to_write or writing failed. code: its errno. */
const char *platform_why_unwritten(int code);
/* Opens a file of this program's own for appending; makes it if there is none. NULL: failed; errno is EEXIST if the
 * name belongs to a link, to a file with further names, or to something that is no file. */
FILE *platform_open_own(const char *path);

/* --- pipes and terminals --- */

/* Returns false only if name is known not to be the name of a computer. */
bool platform_may_be_host(const char *name);
/* Opens a named pipe for reading without waiting for a writer. Returns a descriptor or -1. */
int platform_open_pipe(const char *path);
/* Opens a named pipe for writing without waiting; fails with ENXIO if it has no reader. Writing to a full pipe fails
 * with EAGAIN. Returns a descriptor or -1. */
int platform_open_pipe_to_write(const char *path);
/* Waits up to wait_ms for data. Returns the number of bytes read, 0 at the end, or -1 (errno EAGAIN: no data came). */
int64_t platform_read_pipe(int descriptor, void *out, size_t size, int wait_ms);
/* Claims a named pipe for this reader as long as the descriptor is open, because two readers would each get a part of
 * the data. Returns false if another process that uses this function reads it, and true if the file is no named
 * pipe. */
bool platform_claim_pipe(int descriptor);
/* Makes writing to a pipe non-blocking. Returns true if platform_block_again has to undo it. */
bool platform_stop_blocking(int descriptor);
void platform_block_again(int descriptor);
bool platform_is_terminal(int descriptor);

/* --- threads --- */

/* The scheduling class of a thread: the default one; preferred to most threads (a negative nice value); or real-time,
 * which runs before all threads of the default class. */
enum urgency { URGENCY_USUAL, URGENCY_NICE, URGENCY_REAL_TIME };

/* Gives the calling thread the highest class that the system permits, or the default one again (wanted false). A thread
 * must be in the default class before it ends, computes for long, or becomes another program. Threads and processes
 * that it starts meanwhile are in the default class. A class that was set from outside, by nice or chrt, is kept.
 * Returns the class that the thread has now. */
enum urgency platform_be_urgent(bool wanted);
/* Returns the scheduling class of the calling thread. */
enum urgency platform_urgency(void);
/* Returns how many threads were moved from the real-time to the default class. If one of them runs for 0.3 s without a
 * pause, all are moved, because such a thread could block the machine. */
int platform_count_demoted(void);

/* Waits up to wait_ms for a thread to end. Returns false if it has not; the caller may wait for it again then. */
bool platform_join(pthread_t thread, int wait_ms);

/* Threads that keep processors from sleeping. They run only while no other thread needs the processor. */
struct awake;

/* Keeps all processors awake that this process may use. Returns 0 or -1. errno is EDQUOT if the processor time of this
 * process is limited (by a control group or RLIMIT_CPU), because these threads would use it up. */
int platform_stay_awake(struct awake **awake);
/* Returns the number of processors that are kept awake; 0 for NULL. */
int platform_count_awake(const struct awake *awake);
/* Ends the threads and frees awake. Stores NULL; accepts NULL in *awake. */
void platform_let_sleep(struct awake **awake);

/* --- the process --- */

/* Makes the first Ctrl-C, or other request to end, set *stop; the second one ends the program at once. Writing to a
 * closed pipe or beyond a file size limit becomes an error instead of a signal. */
void platform_catch_signals(atomic_bool *stop);

/* The message and exit status for an abort, which a library may call when it cannot continue: one pair if a function of
 * `library` (the beginning of its file's name) is among the callers, and another otherwise. */
struct platform_abort {
  const char *library, *line, *other_line;
  int status, other_status;
};
/* Makes an abort print and exit as `how` says. The strings must stay valid. The library must already be loaded. */
void platform_catch_abort(const struct platform_abort *how);

/* Stores the path of the program's own file. Returns true if it is known and fits. */
bool platform_program_path(char *path, size_t size);
/* Sets an environment variable. Only allowed while this process has one thread, because others could be reading the
 * environment. Returns 0 or -1. */
int platform_set_variable(const char *name, const char *value);
void platform_unset_variable(const char *name);
/* Replaces this process by the program at path. Returns only on failure. */
void platform_become(const char *path, char **argv);

/* True if, as far as can be known, platform_begin_anew will work. */
bool platform_can_begin_anew(void);
/* Restarts this program in the same process, with the same command line and the given variable in its environment.
 * Standard streams, files, pipes and the descriptors in `kept` stay open; devices and other connections are closed. A
 * request to end that arrives meanwhile, on any thread, is delivered to the new program. Returns on failure, with
 * errno, or if *stop (of platform_catch_signals) is set, with EINTR. */
void platform_begin_anew(const atomic_bool *stop, const char *variable, const char *value, const int *kept, int count);
/* Starts a second process of this program, without arguments, with the given variable in its environment and the
 * descriptors in `kept`. It is not waited for, and it ignores Ctrl-C. Returns 0 or -1. */
int platform_begin_second(const char *variable, const char *value, const int *kept, int count);
/* Makes two connected ends; each one can detect that the other was closed. Returns 0 or -1. */
int platform_connect_pair(int ends[2]);
/* Waits up to wait_ms. Returns 1 if platform_say was called at the other end, 0 if not, -1 if that end is closed. */
int platform_hear(int end, int wait_ms);
/* Makes platform_hear at the other end return 1, once for each call. Does not wait. */
void platform_say(int end);
void platform_drop(int end); /* closes the end */
/* Makes a file without a name that contains text, to be passed to another program. Returns a descriptor or -1. */
int platform_hold_text(const char *text, size_t size);
/* Returns the text of such a file, with a terminating zero byte, and closes the descriptor. The caller frees the text.
 * NULL: it is no such file, and stays open, or it is longer than `most` bytes or cannot be read. */
char *platform_take_text(int descriptor, size_t most, size_t *size);

/* Returns the milliseconds since the process was started, including the time to load it; precise to 10 ms. 0:
 * unknown. */
double platform_process_age_ms(void);
/* Returns the largest amount of memory that the process has used, in bytes. 0: unknown. */
size_t platform_peak_memory(void);
/* Returns the processor time of the calling thread. */
int64_t platform_thread_cpu_ns(void);
/* Stores the current time of the user's time zone. */
void platform_local_time(struct tm *local);

#endif
