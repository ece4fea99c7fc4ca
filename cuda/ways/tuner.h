/* Remembers the fastest choice (way, variant and splits) for each shape of product, in one file for each GPU. A file is
 * used only with the same driver, the same versions of the libraries, and the same source of the ways. */
#ifndef CUDA_WAYS_TUNER_H
#define CUDA_WAYS_TUNER_H

#include "cuda/ways/ways.h"

/* Reads the file of choices in the folder dir. If dir is NULL or the file cannot be read, the tuner begins empty, which
 * is no failure. The caller closes *tuner. */
int tuner_open(struct tuner **tuner, const struct cuda_device *device, const char *dir, struct error *err);
void tuner_close(struct tuner *tuner); /* takes NULL */

/* Stores the choice for a key in *choice. A key describes a product's shape as a text without line breaks. Returns
 * false if there is no choice for it. */
bool tuner_find(const struct tuner *tuner, const char *key, struct choice *choice);
/* Stores a choice. final: it is also written to the file. Other choices, which were found while runs disturbed the
 * trials, hold until the tuner is closed, so that all programs of a device do a product in the same way; the next start
 * finds better ones undisturbed. */
void tuner_store(struct tuner *tuner, const char *key, const struct choice *choice, bool final);
/* Writes the file again if choices were stored since the last time. The file is replaced in one step. It keeps the
 * choices that other processes have saved meanwhile, and the tuner reads them. A failure is logged in one line. */
void tuner_save(struct tuner *tuner, const struct log *log);

#endif
