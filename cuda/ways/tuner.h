/* The fastest choices found so far, kept in one file for each GPU. They hold for one driver, for the versions of the
 * libraries, and for the ways' code at the time. */
#ifndef CUDA_WAYS_TUNER_H
#define CUDA_WAYS_TUNER_H

#include "cuda/ways/ways.h"

/* Reads the choices of earlier runs. If dir is NULL or unreadable, the tuner begins empty. */
int tuner_open(struct tuner **tuner, const struct cuda_device *device, const char *dir, struct error *err);
void tuner_close(struct tuner *tuner); /* takes NULL */

/* Finds the choice for a key (text without line breaks). Returns false if there is none. */
bool tuner_find(const struct tuner *tuner, const char *key, struct choice *choice);
/* Stores a choice. final: it is also written to the file. Other choices, which were found while runs disturbed the
 * trials, hold until the tuner is closed, so that all programs of a device do a product in the same way; the next start
 * finds better ones undisturbed. */
void tuner_store(struct tuner *tuner, const char *key, const struct choice *choice, bool final);
/* Writes the file again if choices were stored since the last time. The file is replaced in one step. It keeps the
 * choices that other processes have saved meanwhile, and the tuner reads them. A failure is logged in one line. */
void tuner_save(struct tuner *tuner, const struct log *log);

#endif
