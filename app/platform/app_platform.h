/* What the program asks of the operating system beyond unet/base/platform.h: what a name stands for, files beside
 * others, pipes, signals, the terminal, times of day, the process. One file a system: app_platform_posix.c.
 *
 * Names of files are UTF-8, with '/' between their parts. What fails leaves errno. */
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

/* What a name or a descriptor stands for; the same file has the same volume and number. */
struct platform_entry {
  enum entry_kind kind;
  uint64_t volume, number;
  int64_t size;
};

/* Links are followed. Return 0 or -1. */
int platform_look(struct platform_entry *entry, const char *path);
int platform_look_at(struct platform_entry *entry, int descriptor);
bool platform_is_file(const char *path);
bool platform_is_folder(const char *path);
bool platform_can_read(const char *path);
bool platform_can_write(const char *path);

/* What this user may still write where path is. Returns 0 or -1. */
int platform_free_space(const char *path, uint64_t *bytes);
/* Puts what was written to the file on the disk. Returns 0 or -1. */
int platform_save(FILE *file);

/* Calls take for every name that a pattern of *, ? and [] finds, in any order, until it returns other than 0. Returns
 * that, 0, or -1 with ENOMEM. */
int platform_glob(const char *pattern, int (*take)(void *opaque, const char *path), void *opaque);
/* Likewise for the names in a folder, without the folder; nothing where it cannot be read. */
void platform_list(const char *folder, void (*take)(void *opaque, const char *name), void *opaque);
int platform_cut(const char *path, int64_t size);

/* Makes a new file, locked as long as it is open, so that one whose process was killed can be told from one that is
 * being written. path ends with XXXXXX, which becomes a name that there was not. usual: others may read it as any new
 * file; else the user alone may. Returns a descriptor or -1. */
int platform_make_locked(char *path, bool usual);
/* Likewise, of a file that may be there already. Returns -1 with EWOULDBLOCK where another process has it open so. */
int platform_open_locked(const char *path);
/* Gives the file path's owner, as far as that is allowed, and path's mode. Returns 0 or -1. */
int platform_make_like(int descriptor, const char *path);
/* A name for the open file itself, whatever becomes of path, which is its own now. */
void platform_name_open_file(int descriptor, const char *path, char *name, size_t size);
/* Removes a file of this user that platform_make_locked made and no process has open. Returns whether it did. */
bool platform_remove_abandoned(const char *folder, const char *name);

/* Opens a text for reading. Of a pipe, or what else is no file, all is read first, however long that takes to come; a
 * line says that it is waited for. log may be NULL. NULL: failed; EINTR: *stop was set meanwhile; EFBIG: it has no end.
 */
FILE *platform_open_text(const char *path, const atomic_bool *stop, const struct log *log);
/* Opens a file for writing that is empty then. A pipe that nobody reads is not waited for: NULL with ENXIO. */
FILE *platform_open_to_write(const char *path);
/* Says why that failed, from errno. */
const char *platform_why_unwritten(int code);
/* Opens a file of this program's own for appending; makes it where there is none. NULL: failed; EEXIST: a link, or
 * something else than a file with one name, stands there. */
FILE *platform_open_own(const char *path);

/* --- pipes and terminals --- */

/* Whether a computer may be called so: false where its name is known to be nobody's. */
bool platform_may_be_host(const char *name);
/* Opens a named pipe for reading, and does not wait for a writer. Returns a descriptor or -1. */
int platform_open_pipe(const char *path);
/* Likewise for writing; without a reader it fails with ENXIO. A full pipe fails with EAGAIN. */
int platform_open_pipe_to_write(const char *path);
/* Waits so long for something to read. Returns the number of bytes, 0 at the end, -1 (EAGAIN: there was nothing). */
int64_t platform_read_pipe(int descriptor, void *out, size_t size, int wait_ms);
/* Keeps others who ask the same from reading the named pipe of that descriptor, as long as it is open: of two readers
 * each would get a part of what comes. False: another one reads it. True for what is no named pipe. */
bool platform_claim_pipe(int descriptor);
/* Keeps a pipe's end from blocking its writer. Returns whether that is to be undone with platform_block_again. */
bool platform_stop_blocking(int descriptor);
void platform_block_again(int descriptor);
bool platform_is_terminal(int descriptor);

/* --- threads --- */

/* Whether a thread that has something to do comes before others: no, before most, or before all that are usual. */
enum urgency { URGENCY_USUAL, URGENCY_NICE, URGENCY_REAL_TIME };

/* Makes the calling thread urgent as far as the system permits it, or usual again, as it has to be before it ends, has
 * work that takes long, or becomes another program. What it starts meanwhile, threads and processes, is usual. One that
 * was given its place by whoever started the program keeps it. Returns what the thread is now. */
enum urgency platform_be_urgent(bool wanted);
/* What the calling thread is. */
enum urgency platform_urgency(void);
/* A thread of URGENCY_REAL_TIME that has had a processor for 0.3 s without a pause could hold up the machine: all of
 * them are usual then. Returns how many became so. */
int platform_calmed(void);

/* Waits so long at most for a thread to end. Returns false where it does not; then it may be waited for once more. */
bool platform_join(pthread_t thread, int wait_ms);

/* Threads that keep the processors this process may use from sleeping, and make way for all others. */
struct awake;

/* Returns 0, or -1, where no processor is kept awake: EDQUOT: this process may have less time than all of them have (a
 * control group's limit, or RLIMIT_CPU), which that would use up. */
int platform_stay_awake(struct awake **awake);
/* How many it keeps awake; NULL: none. */
int platform_count_awake(const struct awake *awake);
void platform_let_sleep(struct awake **awake);

/* --- the process --- */

/* The first Ctrl-C, or request to end, sets *stop; the second one ends the program at once. Writing to a closed pipe or
 * past a size limit fails. */
void platform_catch_signals(atomic_bool *stop);

/* What is printed, and the program's status, when a library gives up (abort): a known one, whose file's name begins so
 * and which had called what gave up, and any other. */
struct platform_abort {
  const char *library, *line, *other_line;
  int status, other_status;
};
/* The texts must last. Of libraries those are known that are loaded by now. */
void platform_catch_abort(const struct platform_abort *how);

/* The program's own file. Returns whether it is known and fits. */
bool platform_program_path(char *path, size_t size);
/* Sets a variable of the environment, while this process has no other thread: they may be reading it. Returns 0 or
 * -1. */
int platform_set_variable(const char *name, const char *value);
void platform_unset_variable(const char *name);
/* Becomes the program of this path; comes back only when that fails. */
void platform_become(const char *path, char **argv);

/* Whether this program may be started once more, as far as can be known. */
bool platform_can_begin_anew(void);
/* Becomes this program anew, with the same command line and that variable in its environment, in the same process. Of
 * what is open it keeps the standard ones, files, pipes and these descriptors: devices and other connections are closed
 * with the old program. A request to end that comes meanwhile, whichever thread the system gives it to, is for the new
 * one. Comes back when that fails, with errno, or when *stop, of platform_catch_signals, is set, with EINTR. */
void platform_begin_anew(const atomic_bool *stop, const char *variable, const char *value, const int *kept, int count);
/* Starts this program beside this one, with no arguments, that variable in its environment and these descriptors.
 * Nobody waits for it, and Ctrl-C is not for it. Returns 0 or -1. */
int platform_begin_beside(const char *variable, const char *value, const int *kept, int count);
/* Two ends of a connection, each of which hears when the other one is closed. Returns 0 or -1. */
int platform_connect_pair(int ends[2]);
/* Waits so long: 1: the other end has said something; 0; -1: it is closed. */
int platform_hear(int end, int wait_ms);
void platform_say(int end);
void platform_drop(int end); /* closes it */
/* A file without a name, for another program to read: with this text, of size bytes. Returns a descriptor or -1. */
int platform_hold_text(const char *text, size_t size);
/* Its text, with a zero byte behind; free() it. The descriptor is closed. NULL: it is no such file. */
char *platform_take_text(int descriptor, size_t most, size_t *size);

/* Since the process was started, its loading included; good to 10 ms; 0: not known. */
double platform_process_age_ms(void);
/* The most memory that it has had; 0: not known. */
size_t platform_peak_memory(void);
/* Time that the calling thread has had of a processor. */
int64_t platform_thread_cpu_ns(void);
void platform_local_time(struct tm *local);

#endif
