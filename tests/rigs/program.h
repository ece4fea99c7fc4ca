/* Runs the built program through the shell, as a user does. */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct outcome {
  int status;      /* exit status of the program, or 128 + the number of the signal that has ended it */
  char said[8192]; /* what the program has printed on standard error, without the lines that show progress */
  int lines;       /* number of lines in `said`, without the one that says why a GPU is not used */
  long peak_kb;    /* largest memory of the program, in KiB */
};

/* Sets the path of the program that program_run runs. */
void program_set(const char *path);

/* Runs "reverie ARGUMENTS" through the shell in the clips' folder, with empty standard input. Standard output goes to
 * the file out.txt there, unless the arguments redirect it. */
__attribute__((format(printf, 2, 3))) void program_run(struct outcome *outcome, const char *format, ...);

/* program_start and program_wait together do what program_run does; between them a test can send the program a
 * signal. */
__attribute__((format(printf, 1, 2))) pid_t program_start(const char *format, ...);
void program_wait(struct outcome *outcome, pid_t pid);

/* Returns how often the program that runs has printed these words so far. */
int program_count_said(const char *words);
/* Waits until the program of program_start has printed `words` as many as `times` times, or has ended, or patience_ms
 * milliseconds have passed. Returns true if it has printed them. The caller must call program_wait afterwards. */
bool program_comes_to_say(pid_t pid, const char *words, int times, int patience_ms);

/* Runs the program like program_run. Fails the test unless it ends with this status, and prints 1 to 3 lines (none if
 * the status is 0) that contain the text `wanted` (NULL: any text). */
__attribute__((format(printf, 3, 4))) void program_expect(int status, const char *wanted, const char *format, ...);

/* Set-up and tear-down for cmocka, for tests that need no particular pictures. Between the two calls the program's
 * built-in model is replaced by a tiny one of random numbers, which loads in half the time. */
int program_tiny_model(void **state);
int program_own_model(void **state);

/* The main function of tests that run the program, whose path is the only argument, on clips, with the tiny model.
 * Returns the exit status: the number of tests that failed, 77 if there is no ffmpeg program, or 2 if the arguments are
 * wrong. */
struct CMUnitTest;
int program_run_tests(int argc, char **argv, const struct CMUnitTest *tests, size_t count);

/* Returns true if the program can use the device of this name; if not, prints why. */
bool program_has_device(const char *name);

#endif
