/* Talks to the running window through its IPC socket, "ipc.sock" in the clips' folder. */
#include "tests/rigs/live_ipc.h"

#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/screen.h"

static char *ask_ipc(const char *command) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  char *answer = NULL;
  size_t size = 0;
  int length = snprintf(address.sun_path, sizeof address.sun_path, "%s", clip("ipc.sock"));
  assert_true(length < (int)sizeof address.sun_path); /* otherwise TMPDIR is too long */
  int handle = socket(AF_UNIX, SOCK_STREAM, 0);
  assert_int_equal(connect(handle, (struct sockaddr *)&address, sizeof address), 0);
  assert_true(dprintf(handle, "{\"command\":%s}\n", command) > 0);
  FILE *answers = fdopen(handle, "r");
  assert_non_null(answers);
  assert_true(getline(&answer, &size, answers) > 0);
  fclose(answers);
  return answer;
}

void expect_ipc(const char *command, const char *words) {
  char *answer = ask_ipc(command);
  if (!strstr(answer, words))
    fail_msg("%s: %s, not '%s'", command, answer, words);
  free(answer);
}

void wait_ipc(const char *command, const char *words) {
  char *answer = ask_ipc(command);
  for (int waited = 0; !strstr(answer, words) && waited < PATIENCE_MS; waited += LOOK_AGAIN_MS) {
    pause_ms(LOOK_AGAIN_MS);
    free(answer);
    answer = ask_ipc(command);
  }
  if (!strstr(answer, words))
    fail_msg("%s: %s, not '%s'", command, answer, words);
  free(answer);
}

static long count_shown(void) {
  char *answer = ask_ipc("[\"get_property\",\"figures/shown\"]");
  const char *data = strstr(answer, "\"data\":");
  assert_non_null(data);
  long shown = atol(data + strlen("\"data\":"));
  free(answer);
  return shown;
}

void wait_for_pictures(void) {
  enum { MORE = 10 };
  long before = count_shown(), now = before;
  for (int waited = 0; waited < PATIENCE_MS && now < before + MORE; waited += LOOK_AGAIN_MS) {
    pause_ms(LOOK_AGAIN_MS);
    now = count_shown();
  }
  if (now < before + MORE)
    fail_msg("only %ld pictures more", now - before);
}
