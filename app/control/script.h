/* A script keyed by time, as lines of JSON:
 *
 *   {"time": 12.5, "parameter": "strength", "value": 0.8, "ease": "linear"}
 *
 * At so many seconds the parameter of that name in the table has that value. ease says how it comes there from the
 * entry before of the same parameter, or from what it was when the script began: "step" (the default) at that moment,
 * "linear" evenly, "smooth" slowly, quickly, slowly; numbers only. Lines may stand in any order; of two for one moment
 * the later one counts. Any live parameter may be named. */
#ifndef APP_CONTROL_SCRIPT_H
#define APP_CONTROL_SCRIPT_H

#include <stdatomic.h>
#include <stdio.h>

#include "app/control/parameters.h"
#include "unet/base/log.h"

enum { SCRIPT_ENTRIES_MAX = 100000, SCRIPT_LINE_MAX = 16384 };

struct script;

/* Names, types and ranges are checked; what is wrong is said with its line. name: of the file, for messages. */
int script_read(struct script **script, FILE *file, const char *name, struct error *err);
/* Reads the file of this name. A pipe is read to its end first, until *stop. */
int script_open(struct script **script, const char *path, const atomic_bool *stop, const struct log *log,
                struct error *err);
void script_free(struct script **script); /* stores NULL; takes NULL */
/* What entries there are for, by number from 0, with the time of the last of them. False: there are no more. */
bool script_track(const struct script *script, int number, enum parameter *id, int *index, double *last);
double script_length(const struct script *script); /* time of the last entry */

/* The values that the first entries are eased from. */
void script_begin(struct script *script, const struct parameters *values);
/* Sets and marks what has its turn in (before, now], and what is on its way at now; other values stay. before < 0: from
 * the beginning. */
void script_apply(const struct script *script, double before, double now, struct parameters *values);

/* --- recording --- */

struct script_recorder;

/* Takes over the file. Its first lines are the values as they are, at time 0. */
int script_record(struct script_recorder **recorder, FILE *file, const struct parameters *values, struct error *err);
/* What has changed since, at time now; a seed that walks by itself is not written while it does. -1: it cannot be
 * written, or there are SCRIPT_ENTRIES_MAX lines; what has been written stays, and nothing follows. */
int script_note(struct script_recorder *recorder, const struct parameters *values, double now, struct error *err);
/* Stores NULL; takes NULL. -1: the last lines cannot be written. */
int script_close(struct script_recorder **recorder, struct error *err);

#endif
