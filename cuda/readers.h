/* Threads that read pieces of a weight at the same time. One thread brings 2 to 8 GB a second from the system's file
 * cache, checks included, and a GPU takes ten times as much. */
#ifndef CUDA_READERS_H
#define CUDA_READERS_H

enum { READERS_MAX = 8 /* largest number of pieces that are read at the same time */ };

struct readers;

/* Starts the threads. Returns NULL if the machine has one processor, or if no thread can be started. readers_close ends
 * them; `readers` may be NULL. */
struct readers *readers_open(void);
void readers_close(struct readers *readers);

/* Returns how many pieces are read at the same time, from 1 (with NULL) to READERS_MAX. */
int readers_count(const struct readers *readers);

/* Calls read(opaque, i) for each i from 0 to `pieces` - 1, on the threads and on the calling one, and returns when all
 * calls have returned. Only one thread at a time may call this. */
void readers_run(struct readers *readers, int pieces, void (*read)(void *opaque, int piece), void *opaque);

#endif
