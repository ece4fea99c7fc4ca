/* Presets are named sets of values, as JSON:
 *
 *   {"presets": [{"name": "night", "values": {"strength": 0.5, "prompt[]": ["neon", "ink"], "sampler": "lcm"}}]}
 *
 * The names of values are those of the parameter table. NAME[] with a list sets every instance; those beyond the list's
 * end get the value that they had when the show began. NAME[2] sets one instance. Numbers and switches are JSON's;
 * sizes ("512x288"), choices and texts are strings; null is no text. A preset changes what it names and nothing else. A
 * preset that is made of present values names all that a picture depends on, so that exactly the same picture comes
 * back. */
#ifndef APP_CONTROL_PRESETS_H
#define APP_CONTROL_PRESETS_H

#include "app/control/parameters.h"

struct presets;

/* Reads presets and checks names, types and ranges of all values. text: the text of such a file; NULL: there are no
 * presets yet. The caller frees *presets with presets_free. */
int presets_read(struct presets **presets, const char *text, struct error *err);
void presets_free(struct presets **presets); /* stores NULL; takes NULL */
int presets_count(const struct presets *presets);
/* Returns the name of a preset; numbers are from 1. */
const char *presets_name(const struct presets *presets, int number);
/* Sets *changes to the preset's values, marked as changes. start has the values that the show began with, for the
 * instances beyond a list's end. */
int presets_values(const struct presets *presets, int number, const struct parameters *start,
                   struct parameters *changes, struct error *err);
/* Adds a preset of these values at the end. */
int presets_add(struct presets *presets, const char *name, const struct parameters *values, struct error *err);
/* Returns the text of such a file, or NULL if there is no memory. The caller frees it. */
char *presets_print(const struct presets *presets);
/* Returns the text of a file with this one preset, on a single line, or NULL if there is no memory. The caller frees
 * it. */
char *presets_print_one(const char *name, const struct parameters *values);

#endif
