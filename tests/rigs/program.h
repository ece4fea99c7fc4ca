/* Runs the built program as a user does. */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

struct outcome {
  int status;      /* exit status, or 128 + the signal that ended it */
  char said[8192]; /* standard error, without the lines of progress */
  int lines;       /* number of its lines, without the one that says why a GPU is not used */
  long peak_kb;    /* most memory that the program had */
};

/* Sets the path of the program that program_run runs. */
void program_set(const char *path);

/* Runs "reverie ARGUMENTS" through the shell in the clips' folder, with empty standard input. Standard output goes to
 * the file out.txt there, unless the arguments redirect it. */
__attribute__((format(printf, 2, 3))) void program_run(struct outcome *outcome, const char *format, ...);

/* Do the same in two parts, so that a test can send the program a signal between them. */
__attribute__((format(printf, 1, 2))) pid_t program_start(const char *format, ...);
void program_wait(struct outcome *outcome, pid_t pid);

/* Returns how often the program has printed these words so far. */
int program_count_said(const char *words);
/* Waits until the program of program_start has printed the words so often, has ended, or patience_ms has passed.
 * Returns true if it has printed them. program_wait must be called afterwards. */
bool program_comes_to_say(pid_t pid, const char *words, int times, int patience_ms);

/* Runs the program. Fails the test unless it ends with this status and prints 1 to 3 lines (none for status 0) that
 * contain `wanted` (NULL: anything). */
__attribute__((format(printf, 3, 4))) void program_expect(int status, const char *wanted, const char *format, ...);

/* Set-up and tear-down for cmocka, for tests that need no particular pictures: in between the built-in model is a tiny
 * one of random numbers, which loads in half the time. */
int program_tiny_model(void **state);
int program_own_model(void **state);

/* Returns true if the program can use the device of this name; if not, prints why. */
bool program_has_device(const char *name);

#endif
