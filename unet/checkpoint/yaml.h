/* Configs that web UIs write next to a file of weights: NAME.yaml for NAME.safetensors. There is no YAML parser here:
 * the functions look for single keys, at any depth and in any style of YAML. */
#ifndef UNET_CHECKPOINT_YAML_H
#define UNET_CHECKPOINT_YAML_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the path of the config next to a file. The caller frees it. NULL: there is none, or memory is short. */
char *yaml_beside(const char *path);
/* Finds a key on the line that ends at `end`. Returns its value without quotes, and stores the value's length; NULL:
 * the line does not have the key. Upper and lower case of the key are the same. A tag or an anchor (YAML's marks
 * "!!str", "&name") before the value is skipped. */
const char *yaml_find(const char *line, const char *end, const char *key, size_t *length);
/* Finds a key on the line that begins at `line`. Returns its value up to the line's end or comment; if nothing follows
 * the key, the value is that on the next line. *length is 0 if there is no value there either. NULL: the line does not
 * have the key. */
const char *yaml_find_below(const char *line, const char *key, size_t *length);
/* Returns true if the value is the word true, yes or 1, in upper or lower case. */
bool yaml_is_true(const char *value, size_t length);
/* Returns the end of the line, or the beginning of its comment. */
const char *yaml_line_end(const char *line);
/* Returns the beginning of the next line. */
const char *yaml_next_line(const char *line);
/* Finds the key in the text of a config, and stores its value. Returns false if the text does not have the key. */
bool yaml_bool(const char *text, const char *key, bool *value);

#endif
