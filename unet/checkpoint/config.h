/* Reads a config.json field by field, and refuses a file with unknown fields. Each field that is read is removed from
 * the parsed object; a field that is left at the end is unknown.
 *
 * The first error is kept until config_finish reports it; later errors are ignored. A missing field gets the value that
 * the caller passes as `absent`. */
#ifndef UNET_CHECKPOINT_CONFIG_H
#define UNET_CHECKPOINT_CONFIG_H

#include <stdbool.h>

#include "unet/base/error.h"

/* The largest size of a config file in bytes. */
#define CONFIG_LIMIT ((size_t)1 << 20)

struct cJSON;

struct config {
  struct cJSON *root;
  const char *path;   /* path of the file, for messages; borrowed */
  const char *inside; /* name of the field whose value this object is; NULL: this is the file's outermost object */
  bool failed;
  struct error error;
};

/* Parses the text, which must be one JSON object. config_finish must be called when reading is done, even after a
 * failure. */
void config_start(struct config *config, const char *text, const char *path);
/* Reports the first error. If there is none, reports the first field that no code has read, except fields that are null
 * or false and fields whose names begin with "_". Frees everything. Returns 0, or -1 with err, which may be NULL. */
int config_finish(struct config *config, struct error *err);
/* Reports the first error, and frees everything. Unlike config_finish it accepts fields that no code has read.
 * Returns 0, or -1 with err, which may be NULL. */
int config_finish_open(struct config *config, struct error *err);

/* Copies the string field `key` of folder/config.json to `value`; "" if there is no such field or no such file. */
void config_peek(const char *folder, const char *key, char *value, int size);

/* Refuses a pipeline's config if a field names a part, as [library, class], that the list `known` does not have. The
 * list ends with NULL. */
void config_only_parts(struct config *config, const char *const *known, const char *hint);

/* Records the error "PATH: KEY: VALUE is not supported (HINT)"; hint may be NULL. */
void config_refuse(struct config *config, const char *key, const char *value, const char *hint);
/* Records the error "PATH: KEY: VALUE is not supported (HINT)" with the value that the field has; hint may be NULL. */
void config_refuse_field(struct config *config, const char *key, const char *hint);

bool config_has(const struct config *config, const char *key); /* Returns true if the field is there and not null. */
/* config_int reads a whole number and config_number any number, from `min` to `max`; they refuse all other values.
 * absent: the result if the field is missing. */
int config_int(struct config *config, const char *key, int absent, int min, int max);
double config_number(struct config *config, const char *key, double absent, double min, double max);
/* Reads a field that is true or false; null counts as false. absent: the result if the field is missing. */
bool config_bool(struct config *config, const char *key, bool absent);
/* Copies a field that is a string into `value`, which has `size` bytes; null gives "". */
void config_string(struct config *config, const char *key, const char *absent, char *value, int size);

/* Reads a list of exactly `count` whole numbers, or one number that is used for all. If the field is missing, all
 * numbers get the value `absent`. */
void config_ints(struct config *config, const char *key, int absent, int min, int max, int *values, int count);
/* Reads `count` numbers for item `index` of a field. The field is a list of `items` items, or one number that is used
 * for all. An item is one number, which is repeated, or a list of at least `count` numbers. The field stays in the
 * object, so that its other items can be read. */
void config_item_ints(struct config *config, const char *key, int index, int items, int absent, int min, int max,
                      int *values, int count);
/* Reads a list of exactly `count` booleans, or one boolean that is used for all. Returns true if the field was a
 * list. */
bool config_bools(struct config *config, const char *key, bool absent, bool *values, int count);
/* Returns true if the field is a list that contains a list. */
bool config_is_nested(const struct config *config, const char *key);
/* Returns the length of a field that is a list; 1 for any other value, 0 if the field is missing. */
int config_length(const struct config *config, const char *key);
/* Copies string number `index` of a list; "" if it is not a string. The field is not removed. */
void config_item(const struct config *config, const char *key, int index, char *value, int size);

/* Reads a list of exactly `count` numbers from `min` to `max`. If the field is missing or null, the values are copied
 * from `absent`. */
void config_numbers(struct config *config, const char *key, const double *absent, double min, double max,
                    double *values, int count);

/* Removes a field that is an object, and starts to read it as a config of its own. If the field is missing, that config
 * is empty. config_finish_inner must be called afterwards. Error messages put the field's name before names of the
 * object's fields. */
void config_inner(struct config *config, const char *key, struct config *inner);
/* Ends reading of the inner object. Its first error, or first unknown field, becomes an error of the outer object. */
void config_finish_inner(struct config *config, struct config *inner);

/* config_only_string and config_only_number refuse a field whose value is not `value`. The field may be missing. */
void config_only_string(struct config *config, const char *key, const char *value);
void config_only_number(struct config *config, const char *key, double value);
/* config_only_null refuses the named fields unless they are missing, null or false; config_ignore accepts any value of
 * the named fields. The lists end with NULL. */
void config_only_null(struct config *config, const char *const *keys);
void config_ignore(struct config *config, const char *const *keys);

#endif
