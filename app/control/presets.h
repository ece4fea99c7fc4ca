/* Presets are named sets of parameters' values, as JSON:
 *
 *   {"presets": [{"name": "night", "values": {"strength": 0.5, "prompt[]": ["neon", "ink"], "sampler": "lcm"}}]}
 *
 * The names of values are those of the parameter table. NAME[] with a list sets every instance; instances beyond the
 * end of the list get the values that they had when the program started. NAME[2] sets one instance. Numbers and
 * switches are JSON numbers and booleans; sizes ("512x288"), choices and texts are strings; null means that a text is
 * not given. A preset may also have a member "fade": the seconds, 0 to 600, within which the values change to those of
 * the preset; and a member "source": the source that is shown with it, by its name in the list of sources or the last
 * part of that name. Parameters that a preset does not name stay as they are. A preset that the program saves contains
 * every parameter on which a picture depends, so that it produces exactly the same picture again. */
#ifndef APP_CONTROL_PRESETS_H
#define APP_CONTROL_PRESETS_H

#include "app/control/parameters.h"

struct presets;

enum { PRESET_SOURCE_MAX = 1024 }; /* room for the name of a preset's source, in bytes */

/* Parses presets and checks names, types and ranges of all values. text: JSON in the form that the top of this file
 * describes; NULL: *presets is empty. The caller frees *presets with presets_free. Returns 0, or -1 with err set. */
int presets_read(struct presets **presets, const char *text, struct error *err);
void presets_free(struct presets **presets); /* frees the presets; *presets becomes NULL; does nothing if it is NULL */
int presets_count(const struct presets *presets);
/* Returns the name of a preset. number: from 1, in the order of the file. */
const char *presets_name(const struct presets *presets, int number);
/* Returns the seconds within which the values change to those of a preset (its member "fade"); negative: the preset has
 * no such member. */
double presets_fade(const struct presets *presets, int number);
/* Returns the number (from 1) of the first preset of this name; 0: there is none. */
int presets_find(const struct presets *presets, const char *name);
/* Returns the name of the source that a preset has (its member "source"), valid as long as the presets; NULL: none. */
const char *presets_source(const struct presets *presets, int number);
/* Sets the values of preset `number` (from 1) in *changes, and marks them as set. A preset may have a list for a
 * parameter with instances, such as prompt[]; instances beyond the list's end get their value in `start`, the values at
 * the program's start. Returns 0, or -1 with err set. */
int presets_values(const struct presets *presets, int number, const struct parameters *start,
                   struct parameters *changes, struct error *err);
/* Appends a preset with this name and these values. Returns 0, or -1 with err set if memory is short. */
int presets_add(struct presets *presets, const char *name, const struct parameters *values, struct error *err);
/* Adds to the last preset the member "picture": path of its small picture, relative to the folder of the presets'
 * file. */
void presets_add_picture(struct presets *presets, const char *path);
/* Returns the list of presets for clients as JSON, which the caller frees. Each object has the members number, name,
 * fade (if the preset has one) and picture (true if it has one). NULL: out of memory. */
char *presets_list(const struct presets *presets);
/* Returns a JSON list with the path of each preset's small picture, which the caller frees; "" for a preset without a
 * picture, or whose picture lies outside the folder of the presets' file. path: path of the presets' file. NULL: out
 * of memory. */
char *presets_pictures(const struct presets *presets, const char *path);
/* Copies the members of the JSON object `json` to the top level of the presets' file, where the member "presets" is;
 * other members of the file stay as they are. Returns 0, or -1 with err set. */
int presets_set_members(struct presets *presets, const char *json, struct error *err);
/* Returns all presets as a JSON text, which the caller frees; NULL: out of memory. */
char *presets_print(const struct presets *presets);
/* Returns a JSON text with one preset that has these values, on a single line, for a snapshot. The caller frees the
 * text; NULL: out of memory. */
char *presets_print_one(const char *name, const struct parameters *values);

#endif
