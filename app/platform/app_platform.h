/* The program's interface to the operating system, beyond unet/base/platform.h: files, pipes, signals, the terminal,
 * threads, and the process. The implementation for POSIX systems is app_platform_posix.c and the other *_posix.c;
 * another system needs one of its own.
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

/* --- files and folders --- */

enum entry_kind { ENTRY_FILE, ENTRY_FOLDER, ENTRY_PIPE, ENTRY_OTHER };

/* What is known about the file behind a name or a descriptor. Two names stand for the same file if their volume and
 * number are equal. */
struct platform_entry {
  enum entry_kind kind;
  uint64_t volume, number;
  int64_t size;
  int64_t changed_s; /* when the file's contents were last changed, in seconds since 1970 */
};

/* Functions that describe a file: platform_look by its path, platform_look_at by its descriptor. Both fill *entry and
 * return 0 or -1. The functions after them test a property of the file at a path. Links are followed. */
int platform_look(struct platform_entry *entry, const char *path);
int platform_look_at(struct platform_entry *entry, int descriptor);
bool platform_is_file(const char *path);
bool platform_is_folder(const char *path);
bool platform_can_read(const char *path);
bool platform_can_write(const char *path);

/* Stores in *bytes how many bytes this user may still write on the volume (file system) that contains `path`. Returns 0
 * or -1. */
int platform_free_space(const char *path, uint64_t *bytes);
/* Writes buffered data of the file to the disk. Returns 0 or -1. */
int platform_save(FILE *file);

/* Calls `take` for each path that matches a pattern of *, ? and [], in any order, until `take` returns other than 0.
 * Returns the last result of `take`, 0 if nothing matches, or -1 with ENOMEM. */
int platform_glob(const char *pattern, int (*take)(void *opaque, const char *path), void *opaque);
/* Calls `take` for each name in a folder; the names do not include the folder's own path. Does nothing if the folder
 * cannot be read. */
void platform_list(const char *folder, void (*take)(void *opaque, const char *name), void *opaque);
/* Shortens a file to `size` bytes. Returns 0 or -1. */
int platform_cut(const char *path, int64_t size);

/* Creates a file and locks it while its descriptor is open. The lock ends with the process, even if that is killed, so
 * nobody uses a file without a lock. On volumes without locks the file is not locked. `path` ends with XXXXXX, which is
 * replaced to make an unused name. usual: true: default permissions; false: only this user has access. Returns a
 * descriptor or -1. */
int platform_make_locked(char *path, bool usual);
/* Opens a file and locks it as platform_make_locked does; creates it if it does not exist. Returns a descriptor, or -1
 * with EWOULDBLOCK if another process holds the lock. */
int platform_open_locked(const char *path);
/* Creates a file with exactly this name and the default permissions, and locks it as platform_make_locked does. Returns
 * a descriptor, or -1, with EEXIST if anything has that name, even a link to nothing. */
int platform_make_new_locked(const char *path);
/* Creates a file for writing, with the default permissions; fails with EEXIST if anything has that name. Returns NULL
 * on failure. */
FILE *platform_stream_new(const char *path);
/* Returns true if `path` is an ordinary file of this user that has no further names (hard links) and that no process
 * has locked. */
bool platform_is_abandoned(const char *path);
/* Opens and locks a file for which platform_is_abandoned returns true. Returns a descriptor, whose closing ends the
 * lock, or -1. */
int platform_lock_abandoned(const char *path);
/* Renames a file, but fails with EEXIST if anything has the new name. Returns 0 or -1. */
int platform_move_new(const char *from, const char *to);
/* Returns the path of the file to which a path leads through links, even if there is no such file yet; the caller frees
 * it. NULL: out of memory, or links lead in a circle. */
char *platform_follow_links(const char *path);
/* Gives the open file the owner and group of the file at `path`, if this is permitted, and that file's permissions.
 * Returns 0 or -1. */
int platform_make_like(int descriptor, const char *path);
/* Writes to `name` a name by which this process can open the open file again, even if its current name, `path`, is
 * renamed or removed. */
void platform_name_open_file(int descriptor, const char *path, char *name, size_t size);
/* Removes the file `name` in the folder if it is an ordinary file of this user that no process has locked, such as one
 * that platform_make_locked has made. Returns true if the file was removed. */
bool platform_remove_abandoned(const char *folder, const char *name);

/* Opens a text file for reading. A pipe or device is first read to its end, however long that takes, and a log line
 * says that the program is waiting. `log` may be NULL. Returns NULL on failure; errno is EINTR if *stop was set
 * meanwhile, and EFBIG if a pipe or device delivers more than 64 MiB. */
FILE *platform_open_text(const char *path, const atomic_bool *stop, const struct log *log);
/* Opens a file for writing and empties it. If `path` is a pipe, does not wait for a reader: returns NULL with ENXIO if
 * the pipe has none. */
FILE *platform_open_to_write(const char *path);
/* Returns, as text for users, why platform_open_to_write or writing failed. code: the errno of the failure. */
const char *platform_why_unwritten(int code);
/* Opens a file that belongs to this program, such as its history, for appending. Creates the file if it does not exist.
 * Returns NULL on failure; errno is EEXIST if the name is that of a link, of a file with several names, or of something
 * other than a file. */
FILE *platform_open_own(const char *path);

/* --- named pipes and terminals --- */

/* Returns false only if it is certain that `name` is not the name of a computer. */
bool platform_may_be_host(const char *name);
/* Opens a named pipe for reading without waiting for a writer. Returns a descriptor or -1. */
int platform_open_pipe(const char *path);
/* Opens a named pipe for writing without waiting; fails with ENXIO if it has no reader. Writing to a full pipe fails
 * with EAGAIN. Returns a descriptor or -1. */
int platform_open_pipe_to_write(const char *path);
/* Waits up to wait_ms for data from a pipe and reads it. Returns the number of bytes read, 0 at the end, or -1 (errno
 * EAGAIN: no data came). */
int64_t platform_read_pipe(int descriptor, void *out, size_t size, int wait_ms);
/* Writes to a pipe or device. If it was opened for writing without waiting, writes only as many bytes as it accepts at
 * once. Returns the number of bytes written, or -1 (errno EAGAIN: it accepts nothing now). */
int64_t platform_write_pipe(int descriptor, const void *bytes, size_t size);
/* Reserves a named pipe for this reader as long as the descriptor is open, because two readers would each get a part of
 * the data. Returns false if another process has reserved the pipe in this way, and true if the file is no named
 * pipe. */
bool platform_claim_pipe(int descriptor);
/* If the descriptor is a pipe, makes writes to it fail at once, instead of waiting, while the pipe is full. Returns
 * true if something was changed, which platform_block_again undoes. */
bool platform_stop_blocking(int descriptor);
void platform_block_again(int descriptor);
bool platform_is_terminal(int descriptor);

/* --- urgency of threads, waiting for their end, and keeping the machine awake --- */

/* The scheduling class of a thread: URGENCY_USUAL, the default one; URGENCY_NICE, preferred to most threads (a negative
 * nice value); URGENCY_REAL_TIME, which runs before all threads of the default class. */
enum urgency { URGENCY_USUAL, URGENCY_NICE, URGENCY_REAL_TIME };

/* Gives the calling thread the highest scheduling class that the system permits; wanted false: the default class again.
 * A thread must be in the default class before it ends, computes for long, or becomes another program. Threads and
 * processes that it starts begin in the default class. A class set by nice or chrt is kept. Returns the thread's
 * class. */
enum urgency platform_be_urgent(bool wanted);
/* Returns the scheduling class of the calling thread. */
enum urgency platform_urgency(void);
/* Returns how many threads were moved from the real-time to the default class. If a real-time thread runs for 0.3 s
 * without a pause, all are moved, because such a thread could block the machine. */
int platform_count_demoted(void);

/* Waits up to wait_ms for a thread to end. Returns false if the thread has not ended; the caller may then call the
 * function again. */
bool platform_join(pthread_t thread, int wait_ms);

/* Threads that keep processors from sleeping. They run only while no other thread needs the processor. */
struct awake;

/* Keeps all processors that this process may use from sleeping. Returns 0 or -1. errno is EDQUOT if the processor time
 * of this process is limited (by a control group or RLIMIT_CPU), because keeping processors awake would use that time
 * up. The caller ends it with platform_let_sleep. */
int platform_stay_awake(struct awake **awake);
/* Returns the number of threads, one per processor, that were started to keep processors from sleeping; 0 if `awake` is
 * NULL. Threads that may not have the class SCHED_IDLE have ended at once, but are counted. */
int platform_count_awake(const struct awake *awake);
/* Ends the threads that keep processors from sleeping, and frees *awake, which becomes NULL. Does nothing if *awake is
 * NULL. */
void platform_let_sleep(struct awake **awake);

/* --- the process: its signals, its files, its environment, and its restart --- */

/* Installs signal handlers: the first Ctrl-C, or other signal that asks the program to end, sets *stop; the second one
 * ends the program at once. Writing to a closed pipe or beyond a file size limit becomes an error instead of a
 * signal. */
void platform_catch_signals(atomic_bool *stop);

/* What the program prints, and its exit status, if a library calls abort() because it cannot continue. `line` and
 * `status` are used if the library `library` (the beginning of its file name) made the call; otherwise other_line and
 * other_status. */
struct platform_abort {
  const char *library, *line, *other_line;
  int status, other_status;
};
/* Makes abort() print a message and exit as `how` says. The strings in *how must stay valid. The library how->library
 * must already be loaded. */
void platform_catch_abort(const struct platform_abort *how);

/* Stores the path of the running program's file. Returns true if that path is known and fits into `size` bytes. */
bool platform_program_path(char *path, size_t size);
/* Stores the path of the shared library that contains this function. Returns false if the function is part of the
 * program itself, or if the path is unknown or does not fit. */
bool platform_library_path(char *path, size_t size);
/* Sets an environment variable. Only allowed while this process has one thread, because others could be reading the
 * environment. Returns 0 or -1. */
int platform_set_variable(const char *name, const char *value);
void platform_unset_variable(const char *name);
/* Replaces the program in this process by the program at `path` (exec). Returns only on failure. */
void platform_become(const char *path, char **argv);

/* True if, as far as can be known, platform_begin_anew (a restart of the program) will work. */
bool platform_can_begin_anew(void);
/* Restarts this program in the same process, with the same command line and the given variable in its environment.
 * Standard streams, the descriptors in `kept`, and files and pipes that are not close-on-exec stay open; all other
 * descriptors are closed. A request to end that comes meanwhile is passed to the new program. Returns only on failure:
 * with errno, which is EINTR if *stop (of platform_catch_signals) is set. */
void platform_begin_anew(const atomic_bool *stop, const char *variable, const char *value, const int *kept, int count);
/* Starts a second process of this program, without arguments, with the given variable in its environment and the
 * descriptors in `kept`. The second process ignores Ctrl-C, and this process does not wait for it. Returns 0 or -1. */
int platform_begin_second(const char *variable, const char *value, const int *kept, int count);
/* Makes a connection between two processes: a pair of descriptors, one for each of them. Each process can detect that
 * the other end was closed. Returns 0 or -1. */
int platform_connect_pair(int ends[2]);
/* Waits up to wait_ms for a call of platform_say at the other end of the connection. Returns 1 if there was one, 0 if
 * not, -1 if the other end is closed. */
int platform_hear(int end, int wait_ms);
/* Signals to the other end of the connection: platform_hear returns 1 there, once for each call of this function. Does
 * not wait. */
void platform_say(int end);
void platform_drop(int end); /* Closes this end of the connection. */
/* Makes a file without a name, in memory, with this text in it, to be passed to another program. Returns a descriptor
 * or -1. */
int platform_hold_text(const char *text, size_t size);
/* Returns the text of a file that platform_hold_text made, with a terminating zero byte, and closes the descriptor; the
 * caller frees the text. *size gets its length. NULL: the descriptor is not of such a file, and stays open; or the text
 * is longer than `most` bytes or cannot be read. */
char *platform_take_text(int descriptor, size_t most, size_t *size);

/* Returns the milliseconds since the process was started, including the time to load the program; precise to 10 ms. 0:
 * unknown. */
double platform_process_age_ms(void);
/* Returns the largest amount of memory that the process has used, in bytes. 0: unknown. */
size_t platform_peak_memory(void);
/* Lets the threads of this process share `most` arenas, the parts of memory from which malloc serves threads. Memory
 * that is freed stays in its arena, so that a process with many threads that come and go keeps the more, the more
 * arenas there are. Called before threads are started. Does nothing if the user has said how many there may be
 * (MALLOC_ARENA_MAX, GLIBC_TUNABLES), or if malloc is not glibc's. */
void platform_limit_arenas(int most);
/* Returns the processor time that the calling thread has used, in nanoseconds. */
int64_t platform_thread_cpu_ns(void);
/* Stores the current time in the user's time zone. */
void platform_local_time(struct tm *local);

#endif
