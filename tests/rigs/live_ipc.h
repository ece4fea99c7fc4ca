/* Sends commands to the running live window through its IPC socket, "ipc.sock" in the clips' folder. A wrong answer
 * fails the test. */
#ifndef TESTS_LIVE_IPC_H
#define TESTS_LIVE_IPC_H

/* Sends a command in JSON. Fails the test unless the answer contains `words`. */
void expect_ipc(const char *command, const char *words);
/* Sends a command in JSON again and again until the answer contains `words`. */
void wait_ipc(const char *command, const char *words);
/* Waits for more pictures than can be in flight, so that the picture that is shown then was made with all values set
 * before. */
void wait_for_pictures(void);

#endif
