#include "tests/rigs/screen.h"

#include "tests/rigs/cmocka_all.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

struct screen screen;

bool screen_open(const char *const server[]) {
  int numbers[2];
  if (pipe(numbers))
    return false;
  pid_t parent = getpid();
  screen.server = fork();
  if (!screen.server) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(numbers[1], 3) < 0)
      _exit(127);
    int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
    execvp(server[0], (char *const *)server);
    _exit(127);
  }
  close(numbers[1]);
  char name[16] = ":";
  struct pollfd ready = {.fd = numbers[0], .events = POLLIN};
  size_t used = 1;
  while (used + 1 < sizeof name && !strchr(name, '\n') && poll(&ready, 1, PATIENCE_MS) == 1 &&
         read(numbers[0], name + used, 1) == 1)
    used++;
  close(numbers[0]);
  if (!strchr(name, '\n'))
    return false;
  screen.number = atoi(name + 1);
  snprintf(name, sizeof name, ":%d", screen.number);
  return setenv("DISPLAY", name, 1) == 0;
}

void screen_close(void) {
  if (screen.server <= 0)
    return;
  kill(screen.server, SIGTERM);
  waitpid(screen.server, NULL, 0);
}

void screen_make_still(void) {
  shell(FFMPEG "-ss 2 -i " SAMPLE " -frames:v 1 "
               "-vf 'crop=ih:ih,scale=256:256:flags=area' still.png");
  shell(FFMPEG "-loop 1 -r 15 -i still.png -t 2 -c:v ffv1 -pix_fmt yuv420p still.mkv");
}

bool screen_open_xvfb(void) {
  /* -r turns key repeat off: on a busy machine a key may be held so long that it would repeat */
  static const char *const server[] = {"Xvfb",       "-displayfd", "3",        "-screen", "0", "1920x800x24",
                                       "+extension", "GLX",        "-noreset", "-r",      NULL};
  return screen_open(server);
}

int screen_begin(void) {
  unsetenv("WAYLAND_DISPLAY");
  unsetenv("SDL_VIDEODRIVER");
  if (system("command -v Xvfb xdotool ffplay >/dev/null") || !clips_open())
    return SCREEN_MISSING;
  if (!screen_open_xvfb()) {
    fprintf(stderr, "Xvfb does not start\n");
    screen_end();
    return 1;
  }
  screen_make_still();
  return 0;
}

void screen_end(void) {
  screen_close();
  clips_close();
}

void pause_ms(int ms) {
  usleep((useconds_t)ms * 1000);
}

void wait_said(const char *words) {
  if (program_comes_to_say(screen.program, words, 1, PATIENCE_MS))
    return;
  char *said = (char *)shell_output(NULL, "cat err.txt");
  fail_msg("never said '%s', but: %s", words, said);
}

void start_window(const char *arguments) {
  shell("mkdir -p shots");
  shell(": >err.txt"); /* the last program's output must not be taken for this one's */
  screen.program = program_start("@ live %s", arguments);
  wait_said("first picture");
  shell("xdotool windowfocus --sync $(xdotool search --sync --name '^reverie$')");
}

void press(const char *keys) {
  shell("xdotool key --delay 20 %s", keys);
}

void finish(struct outcome *outcome) {
  pid_t pid = screen.program;
  screen.program = 0;
  program_wait(outcome, pid);
}

void quit_window(void) {
  struct outcome outcome;
  press("ctrl+q");
  finish(&outcome);
  if (outcome.status || !strstr(outcome.said, " skipped, "))
    fail_msg("status %d after Ctrl-Q: %s", outcome.status, outcome.said);
}

void expect_window(const char *filter, bool alike, double limit, const char *picture, const char *its_filter) {
  double similar = 0;
  for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_AGAIN_MS) {
    grab("now.png");
    similar = similarity("now.png", filter, picture, its_filter);
    if (alike ? similar >= limit : similar < limit)
      return;
    pause_ms(LOOK_AGAIN_MS);
  }
  fail_msg("the window (%s) is %.4f alike to %s (%s); wanted: %s %g", filter, similar, picture, its_filter,
           alike ? "at least" : "below", limit);
}

void wait_for(const char *command) {
  for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_AGAIN_MS) {
    char *found = (char *)shell_output(NULL, "{ %s; } >found.txt 2>&1 && echo yes || true", command);
    bool yes = *found;
    free(found);
    if (yes)
      return;
    pause_ms(LOOK_AGAIN_MS);
  }
  fail_msg("never came true: %s", command);
}

int screen_end_program(void **state) {
  (void)state;
  if (screen.program > 0) {
    kill(screen.program, SIGKILL);
    waitpid(screen.program, NULL, 0);
    screen.program = 0;
  }
  return 0;
}

static int count_saved(void) {
  char *count = (char *)shell_output(NULL, "grep -c 'saved .*png' err.txt || true");
  int saved = atoi(count);
  free(count);
  return saved;
}

void take_snapshot(void) {
  int before = count_saved();
  press("s");
  for (int waited = 0; waited < PATIENCE_MS && count_saved() == before; waited += LOOK_AGAIN_MS)
    pause_ms(LOOK_AGAIN_MS);
}

void save(void) {
  shell("rm -rf shots && mkdir shots");
  take_snapshot();
  shell("mv shots/reverie-*.png shot.png && rmdir shots");
}
