/* Configs that web UIs write next to a file of weights: NAME.yaml for NAME.safetensors. This is no YAML parser: it
 * looks for single keys, at any depth and in any style of YAML. */
#ifndef UNET_CHECKPOINT_YAML_H
#define UNET_CHECKPOINT_YAML_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the path of the config next to a file. The caller frees it. NULL: there is none. */
char *yaml_beside(const char *path);
/* Returns the value of a key on the line that ends at `end`, without quotes, and stores its length; NULL: the line does
 * not have the key. The key's case is ignored, and a tag or an anchor before the value is skipped. */
const char *yaml_find(const char *line, const char *end, const char *key, size_t *length);
/* Does the same up to the line's comment; if nothing follows the key, the value on the next line counts. */
const char *yaml_find_below(const char *line, const char *key, size_t *length);
/* Returns true for true, yes and 1; case is ignored. */
bool yaml_is_true(const char *value, size_t length);
/* Returns the end of the line, or the beginning of its comment. */
const char *yaml_line_end(const char *line);
/* Returns the beginning of the next line. */
const char *yaml_next_line(const char *line);
/* Stores the value of the key in a text. Returns false if the text does not have the key. */
bool yaml_bool(const char *text, const char *key, bool *value);

#endif
