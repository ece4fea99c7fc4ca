/* The built program, run as a user runs it. */
#ifndef TESTS_PROGRAM_H
#define TESTS_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

struct outcome {
  int status;      /* exit status, or 128 + the signal that ended it */
  char said[8192]; /* standard error, without the lines of progress */
  int lines;       /* of it, without the one that says why a machine's GPU is not used */
  long peak_kb;    /* most memory it had */
};

/* What program_run runs; a path. */
void program_set(const char *path);

/* Runs "reverie ARGUMENTS" through the shell in the clips' folder, with nothing on standard input; standard output goes
 * to the file out.txt there unless the arguments say otherwise. */
__attribute__((format(printf, 2, 3))) void program_run(struct outcome *outcome, const char *format, ...);

/* The same in two parts, with time between them to send it a signal. */
__attribute__((format(printf, 1, 2))) pid_t program_start(const char *format, ...);
void program_wait(struct outcome *outcome, pid_t pid);

/* How often it has said these words so far. */
int program_count_said(const char *words);
/* Waits until the program of program_start has said them so often, ends, or has had so long. Returns whether it has
 * said them; program_wait is still to be called. */
bool program_comes_to_say(pid_t pid, const char *words, int times, int patience_ms);

/* Runs it and checks the status, that it said 1 to 3 lines (none for status 0), and that `wanted` is among them (NULL:
 * any). */
__attribute__((format(printf, 3, 4))) void program_expect(int status, const char *wanted, const char *format, ...);

/* For cmocka, before and after tests to which all pictures are alike: in between the built-in model is a tiny one of
 * random numbers, which is there in half the time. */
int program_tiny_model(void **state);
int program_own_model(void **state);

/* Whether the program can use the device of this name; where it cannot, why is printed. */
bool program_has_device(const char *name);

#endif
