/* The tuner: a table with the fastest choice (way, variant and splits) for each shape of product, kept in one file for
 * each GPU. A file is used only with the same driver, the same versions of the libraries, and the same source code of
 * the ways. */
#ifndef CUDA_WAYS_TUNER_H
#define CUDA_WAYS_TUNER_H

#include "cuda/ways/ways.h"

/* Opens a tuner, and reads the file of choices in the folder `dir`. If dir is NULL or there is no such file, the table
 * is empty at first, which is no failure. The caller closes *tuner, also after a failure. */
int tuner_open(struct tuner **tuner, const struct cuda_device *device, const char *dir, struct error *err);
void tuner_close(struct tuner *tuner); /* frees the tuner; `tuner` may be NULL */

/* tuner_write returns, as a text like that of the file, the choices that programs of this process use (tuner_find,
 * tuner_store), sorted by their keys. The caller frees it; NULL: out of memory.
 *
 * tuner_take replaces all choices by those of such a text. From then on nothing is timed or saved, and tuner_is_given
 * returns true. If the text is for another GPU or other versions, tuner_take returns false and changes nothing. */
char *tuner_write(struct tuner *tuner);
bool tuner_take(struct tuner *tuner, const char *text);
bool tuner_is_given(const struct tuner *tuner);

/* Stores the choice for a key in *choice, and records that a program uses it. The key is a product's shape as a text of
 * one line. Returns false if the table has no choice for it. */
bool tuner_find(struct tuner *tuner, const char *key, struct choice *choice);
/* Returns true if the table has a choice of this way. */
bool tuner_has(const struct tuner *tuner, const struct way *way);
/* Stores a choice in the table. final: true: it is also saved in the file; false: runs disturbed its timing, so it only
 * holds until the tuner is closed. Until then all programs of a device do the product in the same way; the next start
 * of the program times it again. */
void tuner_store(struct tuner *tuner, const char *key, const struct choice *choice, bool final);
/* Notes how many seconds a candidate for a key's product took; negative: it could not be timed. */
void tuner_note(struct tuner *tuner, const char *key, const struct choice *choice, double seconds);
/* Returns a text for people: the versions that choices depend on, and a line for each note. The caller frees it; NULL:
 * out of memory. */
char *tuner_times(const struct tuner *tuner);
/* Saves the table in the file if final choices were stored since the last time. Choices that other processes have saved
 * meanwhile are read before, so that they are kept. The file is replaced in one step. A failure is logged in one
 * line. */
void tuner_save(struct tuner *tuner, const struct log *log);

#endif
