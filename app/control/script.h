/* A script is a file that sets parameters at given times. It consists of lines of JSON:
 *
 *   {"time": 12.5, "parameter": "strength", "value": 0.8, "ease": "linear"}
 *
 * "time" is in seconds: at this time the parameter has this value. "ease" tells how a number changes to this value
 * from the value in the previous line (by time) that sets the same parameter, or from its value when the script begins:
 * "step" (the default) changes it at that moment, "linear" evenly, "smooth" slowly at both ends. Lines may be in
 * any order; of two for the same moment the later line counts. Any parameter that can change while frames run may
 * be named. */
#ifndef APP_CONTROL_SCRIPT_H
#define APP_CONTROL_SCRIPT_H

#include <stdatomic.h>
#include <stdio.h>

#include "app/control/parameters.h"
#include "unet/base/log.h"

enum { SCRIPT_ENTRIES_MAX = 100000, SCRIPT_LINE_MAX = 16384 };

struct script;

/* Reads a script (entries that set parameters at given times), and checks the names, types and ranges. name: the file's
 * name for messages, which also name the line. The caller frees *script with script_free. Returns 0, or -1 with err
 * set. */
int script_read(struct script **script, FILE *file, const char *name, struct error *err);
/* Opens the file and reads it as script_read does. If the file is a pipe, the call waits until the writer has closed
 * the pipe, or until *stop is true. The caller frees *script. log may be NULL. Returns 0, or -1 with err set. */
int script_open(struct script **script, const char *path, const atomic_bool *stop, const struct log *log,
                struct error *err);
void script_free(struct script **script); /* frees the script; *script becomes NULL; does nothing if it is NULL */
/* Describes parameter number `number`, from 0, of those that the script changes: stores its id and index, and in *last
 * the time in seconds of the last line of the script that sets it. Returns false if the script changes fewer
 * parameters. */
bool script_track(const struct script *script, int number, enum parameter *id, int *index, double *last);
/* returns the time of the script's last entry (a line of the file), in seconds */
double script_length(const struct script *script);

/* Tells the script which values parameters have at time 0. An entry (a line of the script) that changes its parameter
 * gradually starts from this value if the parameter has no earlier entry. */
void script_begin(struct script *script, const struct parameters *values);
/* Sets in *values, and marks as set, the values that the script changes between two times in seconds: those of entries
 * with before < time <= now, and those that are changing gradually at time now. Other values are not touched. before <
 * 0: entries at time 0 are included. */
void script_apply(const struct script *script, double before, double now, struct parameters *values);

/* --- recording a script while the user changes values --- */

struct script_recorder;

/* Starts to record changes of parameters to the file, which the recorder owns from now on, also if the call fails. The
 * present values are written as entries at time 0, except those that decide which engine is opened or name files to be
 * read. The caller calls script_close in either case. Returns 0, or -1 with err set. */
int script_record(struct script_recorder **recorder, FILE *file, const struct parameters *values, struct error *err);
/* Records each value that has changed since it was last written, as an entry (a line of the script) for time `now`
 * (seconds since the recording started). seed-position is left out while seed-walk changes it. Returns 0, or -1 with
 * err set if the file cannot be written or has SCRIPT_ENTRIES_MAX lines; the lines written before remain. */
int script_note(struct script_recorder *recorder, const struct parameters *values, double now, struct error *err);
/* Closes the recorded file. *recorder becomes NULL; does nothing if it is NULL. Returns 0, or -1 with err if the last
 * lines cannot be written. */
int script_close(struct script_recorder **recorder, struct error *err);

#endif
