/* Talks to the running window through its IPC socket, "ipc.sock" in the clips' folder. A wrong answer fails the
 * test. */
#ifndef TESTS_LIVE_IPC_H
#define TESTS_LIVE_IPC_H

/* Sends a command in JSON and expects words in the answer. */
void expect_ipc(const char *command, const char *words);
/* Sends the command again and again until the answer has the words. */
void wait_ipc(const char *command, const char *words);
/* Waits for more pictures than can be on their way, so that the picture shown then reflects all values set before. */
void wait_for_pictures(void);

#endif
