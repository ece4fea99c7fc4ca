/* What the running window answers at its IPC socket, "ipc.sock" in the clips' folder. What is not so fails the test. */
#ifndef TESTS_LIVE_IPC_H
#define TESTS_LIVE_IPC_H

/* Asks with a command in JSON, and looks for words in the answer. */
void expect_ipc(const char *command, const char *words);
/* Asks again and again until the words are there. */
void wait_ipc(const char *command, const char *words);
/* Waits for more pictures than can be under way, so that what is shown then has all that was set before. */
void wait_for_pictures(void);

#endif
