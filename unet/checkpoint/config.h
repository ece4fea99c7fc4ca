/* Reads a config.json field by field, and refuses fields that no code has read: each field that is read is removed from
 * the parsed object, and a field that is left at the end is unknown.
 *
 * After the first error all further ones are ignored; config_finish reports it. Missing fields get the default
 * `absent`. */
#ifndef UNET_CHECKPOINT_CONFIG_H
#define UNET_CHECKPOINT_CONFIG_H

#include <stdbool.h>

#include "unet/base/error.h"

/* The largest size of a config file in bytes. */
#define CONFIG_LIMIT ((size_t)1 << 20)

struct cJSON;

struct config {
  struct cJSON *root;
  const char *path;   /* for messages; borrowed */
  const char *inside; /* name of the field that holds this object; NULL: it is the file's outermost object */
  bool failed;
  struct error error;
};

/* Parses the text, which must be one JSON object. config_finish must be called afterwards, even after a failure. */
void config_start(struct config *config, const char *text, const char *path);
/* Reports the first error, or the first field that is left, unless it is null or false or its name begins with "_".
 * Frees everything. */
int config_finish(struct config *config, struct error *err);
/* Ends reading as config_finish does, but accepts any fields that are left. */
int config_finish_open(struct config *config, struct error *err);

/* Copies a field of folder/config.json that is a string; "": there is no such field or no such file. */
void config_peek(const char *folder, const char *key, char *value, int size);

/* Refuses the first field that names a part of a pipeline, [library, class], which is not in this list. The list ends
 * with NULL. */
void config_only_parts(struct config *config, const char *const *known, const char *hint);

/* Records the error "PATH: KEY: VALUE is not supported (HINT)"; hint may be NULL. */
void config_refuse(struct config *config, const char *key, const char *value, const char *hint);
/* Records the error "PATH: KEY: VALUE is not supported (HINT)" with the value that the field has; hint may be NULL. */
void config_refuse_field(struct config *config, const char *key, const char *hint);

bool config_has(const struct config *config, const char *key); /* Returns true if the field is there and not null. */
/* config_int and config_number read a number from min to max, and refuse any other. absent: the value if the field is
 * missing. */
int config_int(struct config *config, const char *key, int absent, int min, int max);
double config_number(struct config *config, const char *key, double absent, double min, double max);
bool config_bool(struct config *config, const char *key, bool absent); /* Reads a boolean; null counts as false. */
/* Copies a string into value, which has `size` bytes. null gives "". */
void config_string(struct config *config, const char *key, const char *absent, char *value, int size);

/* Reads a list of exactly `count` whole numbers, or one number for all. A missing field gives `absent` for all. */
void config_ints(struct config *config, const char *key, int absent, int min, int max, int *values, int count);
/* Reads the numbers of one item: item number `index` of a field that is a list of `items` items, each of which is one
 * number or a list of at least `count` numbers. A field that is a single number counts for every item. The field is not
 * removed, so that the other items can be read. */
void config_item_ints(struct config *config, const char *key, int index, int items, int absent, int min, int max,
                      int *values, int count);
/* Reads a list of exactly `count` booleans, or one for all. Returns true if it was a list. */
bool config_bools(struct config *config, const char *key, bool absent, bool *values, int count);
/* Returns true if the field is a list that contains a list. */
bool config_is_nested(const struct config *config, const char *key);
/* Returns the length of a field that is a list; 1 for any other value, 0 if the field is missing. */
int config_length(const struct config *config, const char *key);
/* Copies string number `index` of a list; "" if it is not a string. The field is not removed. */
void config_item(const struct config *config, const char *key, int index, char *value, int size);

/* Reads a list of exactly `count` numbers from min to max. If the field is missing, the values are those in
 * `absent`. */
void config_numbers(struct config *config, const char *key, const double *absent, double min, double max,
                    double *values, int count);

/* Removes a field that is an object, and starts to read it as a config of its own; an empty one if the field is
 * missing. config_finish_inner must be called for it. Errors name the field before the object's own fields. */
void config_inner(struct config *config, const char *key, struct config *inner);
/* Reports the first error or unknown field of the inner object as one of the outer object. */
void config_finish_inner(struct config *config, struct config *inner);

/* config_only_string and config_only_number refuse a field that has another value than this one. The field may be
 * missing. */
void config_only_string(struct config *config, const char *key, const char *value);
void config_only_number(struct config *config, const char *key, double value);
/* config_only_null refuses these fields unless they are missing, null or false; config_ignore accepts any value. The
 * lists end with NULL. */
void config_only_null(struct config *config, const char *const *keys);
void config_ignore(struct config *config, const char *const *keys);

#endif
