/* The configs that web UIs keep beside a file of weights: NAME.yaml of NAME.safetensors. Only single keys are looked
 * for, on any level and in any style of YAML. */
#ifndef UNET_CHECKPOINT_YAML_H
#define UNET_CHECKPOINT_YAML_H

#include <stdbool.h>
#include <stddef.h>

/* The config beside a file, allocated; NULL: there is none. */
char *yaml_beside(const char *path);
/* What a key has on a line that ends at end, without quotes, and its length; NULL: the line has no such key. Case
 * of the key does not matter; a tag or an anchor before the value is left out. */
const char *yaml_find(const char *line, const char *end, const char *key, size_t *length);
/* As yaml_find does, from the line to its comment, or on the next line where nothing stands behind the key. */
const char *yaml_find_below(const char *line, const char *key, size_t *length);
bool yaml_is_true(const char *value, size_t length);
/* The end of a line, or of what stands before its comment. */
const char *yaml_line_end(const char *line);
/* The line behind this one. */
const char *yaml_next_line(const char *line);
/* Stores what a text's key says. False: the text has no such key. */
bool yaml_bool(const char *text, const char *key, bool *value);

#endif
