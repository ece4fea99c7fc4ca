#include "tests/rigs/cmocka_all.h"

#include "tests/rigs/program.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/rigs/clips.h"

static char program[PATH_MAX];
static char last_command[2048];
static bool tiny_model;
static char own_data_dir[PATH_MAX]; /* value of REVERIE_DATA_DIR before the tests changed it; "": it was not set */

/* A background job of a shell ignores some of these signals, and the program would inherit that. */
static void restore_signals(void) {
  static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
    signal(ending[i], SIG_DFL);
}

void program_set(const char *path) {
  restore_signals();
  if (!realpath(path, program)) /* an absolute path, because the shell runs in another folder */
    fprintf(stderr, "%s: not found\n", path);
}

static pid_t start(const char *format, va_list args) {
  int used =
      snprintf(last_command, sizeof last_command, "cd '%s' && exec >out.txt 2>err.txt </dev/null && ", clip("."));
  char *arguments = last_command + used;
  vsnprintf(arguments, sizeof last_command - (size_t)used, format, args);
  /* a command such as "ulimit -f 9; @ render ..." has the program's path in place of @ */
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

/* Returns true for a line about a render's progress. The number of such lines depends on the machine. */
static bool is_progress(const char *line) {
  const char *word = line + strspn(line, "0123456789");
  return word > line && (!strncmp(word, " of ", 4) || !strncmp(word, " frames so far", 14));
}

/* Returns true for the line that oneDNN is missing, which appears for each device that is opened. */
static bool is_of_the_build(const char *line) {
  return strstr(line, "reverie: cpu: built without oneDNN") != NULL;
}

static void read_said(struct outcome *outcome) {
  char line[2048];
  size_t used = 0;
  FILE *file = fopen(clip("err.txt"), "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file) && used < sizeof outcome->said - 1)
    if (!is_progress(line) && !is_of_the_build(line))
      used += (size_t)snprintf(outcome->said + used, sizeof outcome->said - used, "%s", line);
  fclose(file);
  for (const char *at = outcome->said; (at = strchr(at, '\n')); at++)
    outcome->lines++;
  outcome->lines -= strstr(outcome->said, "reverie: not on the GPU: ") != NULL;
}

void program_wait(struct outcome *outcome, pid_t pid) {
  int status;
  struct rusage usage;
  *outcome = (struct outcome){0};
  assert_int_equal(wait4(pid, &status, 0, &usage), pid);
  outcome->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome->peak_kb = usage.ru_maxrss;
  read_said(outcome);
}

int program_count_said(const char *words) {
  char *said = (char *)shell_output(NULL, "cat err.txt");
  int count = 0;
  for (const char *at = said; (at = strstr(at, words)); at++)
    count++;
  free(said);
  return count;
}

/* The output is read once more after the program's end, because its last lines come just before that. */
bool program_comes_to_say(pid_t pid, const char *words, int times, int patience_ms) {
  enum { LOOK_AGAIN_MS = 30 };
  siginfo_t gone = {0};
  for (int waited = 0; waited < patience_ms && !gone.si_pid; waited += LOOK_AGAIN_MS) {
    if (program_count_said(words) >= times)
      return true;
    waitid(P_PID, (id_t)pid, &gone, WEXITED | WNOHANG | WNOWAIT);
    usleep(LOOK_AGAIN_MS * 1000);
  }
  return program_count_said(words) >= times;
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

#define DATA_DIR "REVERIE_DATA_DIR"

int program_tiny_model(void **state) {
  (void)state;
  const char *own = getenv(DATA_DIR);
  if (tiny_model)
    return 0;
  tiny_model = true;
  snprintf(own_data_dir, sizeof own_data_dir, "%s", own ? own : "");
  shell("mkdir -p tiny/mini && ln -sfn \"$REVERIE_GOLDENS/turbo\" tiny/mini/model && "
        "ln -sfn " SAMPLE " tiny/sample.mp4 && "
        "test -e tiny/mini/model/.");
  return setenv(DATA_DIR, clip("tiny"), 1);
}

int program_own_model(void **state) {
  (void)state;
  if (!tiny_model)
    return 0;
  tiny_model = false;
  return *own_data_dir ? setenv(DATA_DIR, own_data_dir, 1) : unsetenv(DATA_DIR);
}

int program_run_tests(int argc, char **argv, const struct CMUnitTest *tests, size_t count) {
  if (argc != 2 || !clips_open())
    return argc == 2 ? 77 : 2;
  program_set(argv[1]);
  int failed = _cmocka_run_group_tests("tests", tests, count, program_tiny_model, program_own_model);
  clips_close();
  return failed;
}

bool program_has_device(const char *name) {
  enum { DEVICE_FAILED = 5 };
  struct outcome outcome;
  program_run(&outcome, "render pattern:96x64 null: --size 64x64 --frames 1 --device %s", name);
  if (outcome.status == DEVICE_FAILED)
    fprintf(stderr, "skipped: %s", outcome.said);
  return outcome.status != DEVICE_FAILED;
}
