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

/* Reads a script, and checks the names, types and ranges. name: the file's name for messages, which also name the line.
 * The caller frees *script with script_free. Returns 0, or -1 with err set. */
int script_read(struct script **script, FILE *file, const char *name, struct error *err);
/* Opens the file and reads it as script_read does. If it is a pipe, the call waits until the writer has closed it, or
 * until *stop is true. The caller frees *script. log may be NULL. */
int script_open(struct script **script, const char *path, const atomic_bool *stop, const struct log *log,
                struct error *err);
void script_free(struct script **script); /* stores NULL; takes NULL */
/* The script changes certain parameters, which are numbered from 0. Stores the id and index of parameter `number`, and
 * in *last the time of its last entry in seconds. Returns false if there are not so many. */
bool script_track(const struct script *script, int number, enum parameter *id, int *index, double *last);
double script_length(const struct script *script); /* Returns the time of the last entry, in seconds. */

/* Sets the values at time 0, from which eased entries start if their parameter has no earlier entry. */
void script_begin(struct script *script, const struct parameters *values);
/* Sets and marks the values that the script changes between two times in seconds: those of entries with before < time
 * <= now, and those that are being eased at time now. Other values stay. before < 0: includes entries at time 0. */
void script_apply(const struct script *script, double before, double now, struct parameters *values);

/* --- recording --- */

struct script_recorder;

/* Starts a recording into the file, which the recorder owns from now on, also if the call fails. The present values are
 * written as entries at time 0. The caller calls script_close in either case. Returns 0, or -1 with err set. */
int script_record(struct script_recorder **recorder, FILE *file, const struct parameters *values, struct error *err);
/* Writes each value that has changed since it was last written, as an entry at time `now` (seconds since the recording
 * started). seed-position is left out while seed-walk changes it. Returns 0, or -1 with err set if the file cannot be
 * written or has SCRIPT_ENTRIES_MAX lines; the lines written before stay. */
int script_note(struct script_recorder *recorder, const struct parameters *values, double now, struct error *err);
/* Closes the file. Stores NULL; takes NULL. Returns -1 if the last lines cannot be written. */
int script_close(struct script_recorder **recorder, struct error *err);

#endif
