/* What was found to be fastest, kept in a file for each GPU: choices hold for a driver, for library versions, and for
 * what the ways were when they were timed. */
#ifndef CUDA_WAYS_TUNER_H
#define CUDA_WAYS_TUNER_H

#include "cuda/ways/ways.h"

/* Reads what earlier runs found. dir NULL or unreadable: starts empty. */
int tuner_open(struct tuner **tuner, const struct cuda_device *device, const char *dir, struct error *err);
void tuner_close(struct tuner *tuner); /* takes NULL */

/* The choice kept for a key (a line's worth of text without line breaks), or false. */
bool tuner_find(const struct tuner *tuner, const char *key, struct choice *choice);
/* final: it goes into the file, too. Others, found while something disturbed the trials, hold for as long as the tuner
 * is open, so that all programs of a device do a product alike; the next start is quiet and finds better. */
void tuner_store(struct tuner *tuner, const char *key, const struct choice *choice, bool final);
/* Writes the file again when something was stored since. The file is replaced in one step; it keeps what other
 * processes have saved meanwhile, which the tuner then knows too. A failure is one log line. */
void tuner_save(struct tuner *tuner, const struct log *log);

#endif
