/* A script sets parameters at given times. It is lines of JSON:
 *
 *   {"time": 12.5, "parameter": "strength", "value": 0.8, "ease": "linear"}
 *
 * At this time in seconds the parameter has this value. "ease" tells how a number gets there from the parameter's entry
 * before, or from its value at the script's beginning: "step" (the default) changes it at that moment, "linear" evenly,
 * "smooth" slowly at both ends. Lines may be in any order; of two for the same moment the later line counts. Any
 * parameter that can change while frames run may be named. */
#ifndef APP_CONTROL_SCRIPT_H
#define APP_CONTROL_SCRIPT_H

#include <stdatomic.h>
#include <stdio.h>

#include "app/control/parameters.h"
#include "unet/base/log.h"

enum { SCRIPT_ENTRIES_MAX = 100000, SCRIPT_LINE_MAX = 16384 };

struct script;

/* Reads a script and checks names, types and ranges; an error names the line. name: the file's name, for messages. The
 * caller frees *script with script_free. */
int script_read(struct script **script, FILE *file, const char *name, struct error *err);
/* Opens and reads the file of this name. A pipe is read to its end first; *stop true ends that. */
int script_open(struct script **script, const char *path, const atomic_bool *stop, const struct log *log,
                struct error *err);
void script_free(struct script **script); /* stores NULL; takes NULL */
/* Returns true if the script has a parameter of this number, counted from 0, and which one it is, with the time of its
 * last entry. */
bool script_track(const struct script *script, int number, enum parameter *id, int *index, double *last);
double script_length(const struct script *script); /* Returns the time of the last entry, in seconds. */

/* Sets the values that the first entries are eased from. */
void script_begin(struct script *script, const struct parameters *values);
/* Sets and marks the values of entries in (before, now], and of eases that are under way at time now; other values
 * stay. Times are in seconds. before < 0: from the beginning. */
void script_apply(const struct script *script, double before, double now, struct parameters *values);

/* --- recording --- */

struct script_recorder;

/* Begins to record into the file, which the recorder takes over, also on failure. The first lines are the present
 * values, at time 0. The caller calls script_close after a failure, too. */
int script_record(struct script_recorder **recorder, FILE *file, const struct parameters *values, struct error *err);
/* Writes the values that have changed since, at time now. The seed's position is not written while the seed walks by
 * itself. Returns -1 if the file cannot be written or has SCRIPT_ENTRIES_MAX lines; what has been written stays. */
int script_note(struct script_recorder *recorder, const struct parameters *values, double now, struct error *err);
/* Closes the file. Stores NULL; takes NULL. Returns -1 if the last lines cannot be written. */
int script_close(struct script_recorder **recorder, struct error *err);

#endif
