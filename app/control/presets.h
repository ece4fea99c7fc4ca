/* Presets are named sets of parameters' values, as JSON:
 *
 *   {"presets": [{"name": "night", "values": {"strength": 0.5, "prompt[]": ["neon", "ink"], "sampler": "lcm"}}]}
 *
 * The names of values are those of the parameter table. NAME[] with a list sets every instance; instances beyond the
 * end of the list get the values that they had when the program started. NAME[2] sets one instance. Numbers and
 * switches are JSON numbers and booleans; sizes ("512x288"), choices and texts are strings; null means that a text is
 * not given. Parameters that a preset does not name stay as they are. A preset that the program saves contains every
 * parameter on which a picture depends, so that it produces exactly the same picture again. */
#ifndef APP_CONTROL_PRESETS_H
#define APP_CONTROL_PRESETS_H

#include "app/control/parameters.h"

struct presets;

/* Parses presets and checks names, types and ranges of all values. text: a JSON text as described above; NULL: *presets
 * is empty. The caller frees *presets with presets_free. Returns 0, or -1 with err set. */
int presets_read(struct presets **presets, const char *text, struct error *err);
void presets_free(struct presets **presets); /* stores NULL; takes NULL */
int presets_count(const struct presets *presets);
/* Returns the name of a preset. number: from 1, in the order of the file. */
const char *presets_name(const struct presets *presets, int number);
/* Sets *changes to the values of preset `number`, each of them marked. start: the values with which the program
 * started, for instances beyond the end of a list. Returns 0, or -1 with err set. */
int presets_values(const struct presets *presets, int number, const struct parameters *start,
                   struct parameters *changes, struct error *err);
/* Appends a preset with the present values. Returns 0, or -1 with err set if memory is short. */
int presets_add(struct presets *presets, const char *name, const struct parameters *values, struct error *err);
/* Returns all presets as a JSON text, which the caller frees; NULL: out of memory. */
char *presets_print(const struct presets *presets);
/* Returns a JSON text with one preset of these values, on a single line, which the caller frees; NULL: out of memory.
 * Snapshots contain it. */
char *presets_print_one(const char *name, const struct parameters *values);

#endif
