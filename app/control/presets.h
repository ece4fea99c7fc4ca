/* Named sets of values, as JSON:
 *
 *   {"presets": [{"name": "night", "values": {"strength": 0.5, "prompt[]": ["neon", "ink"], "sampler": "lcm"}}]}
 *
 * Names of values are those of the parameter table. NAME[] with a list sets every instance, those beyond its end to
 * what they were when the show began; NAME[2] sets one. Numbers and switches are JSON's; sizes ("512x288"), choices and
 * texts are strings, and null is no text. A preset changes what it names and nothing else; one that is made of values
 * names all that a picture depends on, so that the picture comes back to the bit. */
#ifndef APP_CONTROL_PRESETS_H
#define APP_CONTROL_PRESETS_H

#include "app/control/parameters.h"

struct presets;

/* Names, types and ranges of all values are checked. text: of such a file; NULL: there are none yet. */
int presets_read(struct presets **presets, const char *text, struct error *err);
void presets_free(struct presets **presets); /* stores NULL; takes NULL */
int presets_count(const struct presets *presets);
/* number: from 1. */
const char *presets_name(const struct presets *presets, int number);
/* The caller gets what the preset names as marked changes. start has the values that the show began with, for the
 * instances beyond a list's end. */
int presets_values(const struct presets *presets, int number, const struct parameters *start,
                   struct parameters *changes, struct error *err);
/* One more, at the end. */
int presets_add(struct presets *presets, const char *name, const struct parameters *values, struct error *err);
/* Text of such a file, or NULL for lack of memory; free() it. */
char *presets_print(const struct presets *presets);
/* Likewise, with one preset, all in one line. */
char *presets_print_one(const char *name, const struct parameters *values);

#endif
