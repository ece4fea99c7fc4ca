/* Reads a config.json field by field and refuses the fields that no code asked for: each field is taken out of the
 * parsed object, and what is left at the end is a field the network here does not know.
 *
 * The first error sticks; config_finish reports it. Absent fields get their default. */
#ifndef UNET_CHECKPOINT_CONFIG_H
#define UNET_CHECKPOINT_CONFIG_H

#include <stdbool.h>

#include "unet/base/error.h"

/* Bytes that such a file may have. */
#define CONFIG_LIMIT ((size_t)1 << 20)

struct cJSON;

struct config {
  struct cJSON *root;
  const char *path;   /* for messages; borrowed */
  const char *inside; /* the field whose object this is; NULL: the file's own */
  bool failed;
  struct error error;
};

/* Parses text, which must be one JSON object. config_finish must follow in any case. */
void config_start(struct config *config, const char *text, const char *path);
/* Reports the first error, or the first field left that says something (neither null nor false) and does not begin with
 * "_". Frees all. */
int config_finish(struct config *config, struct error *err);
/* As config_finish, for objects that may have any other fields. */
int config_finish_open(struct config *config, struct error *err);

/* What folder/config.json says in a field that is a string, copied; "": nothing, or there is no such file. */
void config_peek(const char *folder, const char *key, char *value, int size);

/* Refuses the first field that names a part as model_index.json does, [library, class], and is not among the known
 * ones. The list ends with NULL. */
void config_only_parts(struct config *config, const char *const *known, const char *hint);

/* Records "PATH: KEY: VALUE is not supported (HINT)"; hint may be NULL. */
void config_refuse(struct config *config, const char *key, const char *value, const char *hint);
/* The same for the value that the field has. */
void config_refuse_field(struct config *config, const char *key, const char *hint);

bool config_has(const struct config *config, const char *key); /* there and not null */
int config_int(struct config *config, const char *key, int absent, int min, int max);
double config_number(struct config *config, const char *key, double absent, double min, double max);
bool config_bool(struct config *config, const char *key, bool absent); /* null is false */
/* value holds size bytes; null gives "". */
void config_string(struct config *config, const char *key, const char *absent, char *value, int size);

/* A list of exactly count whole numbers, or one number for all. absent fills all. */
void config_ints(struct config *config, const char *key, int absent, int min, int max, int *values, int count);
/* As config_ints does, for item number index of a list of count items: one number for all values, or a list of at least
 * so many. A field that is one number is every item. The field stays. */
void config_item_ints(struct config *config, const char *key, int index, int items, int absent, int min, int max,
                      int *values, int count);
/* A list of exactly count truths, or one for all. Returns whether it was a list. */
bool config_bools(struct config *config, const char *key, bool absent, bool *values, int count);
/* Whether it is a list with a list in it. */
bool config_is_nested(const struct config *config, const char *key);
/* Length of a list, 1 for anything else, 0 where there is none. */
int config_length(const struct config *config, const char *key);
/* String number index of a list, copied; "" where it is none. The field stays. */
void config_item(const struct config *config, const char *key, int index, char *value, int size);

/* The same of any numbers, of which there are as many as absent has. */
void config_numbers(struct config *config, const char *key, const double *absent, double min, double max,
                    double *values, int count);

/* Takes out a field that is an object itself, whose own config_finish must follow: it is empty where there is none.
 * Errors name the field before the object's own. */
void config_inner(struct config *config, const char *key, struct config *inner);
/* Reports the inner one's error, or its first unknown field, as the outer one's. */
void config_finish_inner(struct config *config, struct config *inner);

/* Takes a field that may only have this value, or be absent (where absent means the same). */
void config_only_string(struct config *config, const char *key, const char *value);
void config_only_number(struct config *config, const char *key, double value);
/* Fields that may only be absent, null or false; and fields that do not matter here. The lists end with NULL. */
void config_only_null(struct config *config, const char *const *keys);
void config_ignore(struct config *config, const char *const *keys);

#endif
