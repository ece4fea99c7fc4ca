#include "tests/cmocka_all.h"

#include "tests/program.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/clips.h"

static char program[PATH_MAX];
static char last_command[2048];

void program_set(const char *path) {
  if (!realpath(path, program)) /* which the shell is to find from another folder */
    fprintf(stderr, "%s: not found\n", path);
}

static pid_t start(const char *format, va_list args) {
  int used =
      snprintf(last_command, sizeof last_command, "cd '%s' && exec >out.txt 2>err.txt </dev/null && ", clip("."));
  char *arguments = last_command + used;
  vsnprintf(arguments, sizeof last_command - (size_t)used, format, args);
  /* "ulimit -f 9; @ render ..." has its own place for the program. */
  char command[8192];
  const char *at = strchr(arguments, '@');
  if (at)
    snprintf(command, sizeof command, "%.*s exec '%s'%s", (int)(at - last_command), last_command, program, at + 1);
  else
    snprintf(command, sizeof command, "%.*s exec '%s' %s", used, last_command, program, arguments);
  pid_t pid = fork();
  if (!pid) {
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
  }
  assert_true(pid > 0);
  return pid;
}

pid_t program_start(const char *format, ...) {
  va_list args;
  va_start(args, format);
  pid_t pid = start(format, args);
  va_end(args);
  return pid;
}

void program_wait(struct outcome *outcome, pid_t pid) {
  int status;
  struct rusage usage;
  *outcome = (struct outcome){0};
  assert_int_equal(wait4(pid, &status, 0, &usage), pid);
  outcome->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome->peak_kb = usage.ru_maxrss;
  FILE *file = fopen(clip("err.txt"), "r");
  assert_non_null(file);
  size_t length = fread(outcome->said, 1, sizeof outcome->said - 1, file);
  fclose(file);
  for (size_t i = 0; i < length; i++)
    outcome->lines += outcome->said[i] == '\n';
  outcome->lines -= strstr(outcome->said, "reverie: not on the GPU: ") != NULL;
}

void program_run(struct outcome *outcome, const char *format, ...) {
  va_list args;
  va_start(args, format);
  pid_t pid = start(format, args);
  va_end(args);
  program_wait(outcome, pid);
}

void program_expect(int status, const char *wanted, const char *format, ...) {
  struct outcome outcome;
  va_list args;
  va_start(args, format);
  pid_t pid = start(format, args);
  va_end(args);
  program_wait(&outcome, pid);
  bool talkative = status ? outcome.lines < 1 || outcome.lines > 3 : outcome.lines > 1;
  if (outcome.status != status || talkative || (wanted && !strstr(outcome.said, wanted)))
    fail_msg("%s\nstatus %d (wanted %d), %d lines, wanted '%s':\n%s", last_command, outcome.status, status,
             outcome.lines, wanted ? wanted : "", outcome.said);
}

bool program_has_device(const char *name) {
  enum { DEVICE_FAILED = 5 };
  struct outcome outcome;
  program_run(&outcome, "render pattern:96x64 null: --size 64x64 --frames 1 --device %s", name);
  if (outcome.status == DEVICE_FAILED)
    fprintf(stderr, "skipped: %s", outcome.said);
  return outcome.status != DEVICE_FAILED;
}
