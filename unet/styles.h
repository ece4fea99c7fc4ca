/* styles.json of a model folder: the phrases that a model trained on a closed set of styles knows, so that a prompt
 * which names none of them can be answered with the list.
 *
 * {"styles": {"oil": ["oil painting", "oil on canvas"], ...}, "moods": {"night": ["at night"], ...}}: name for people
 * -> phrases that mean it. "moods" may be missing. */
#ifndef UNET_STYLES_H
#define UNET_STYLES_H

#include <stdbool.h>

#include "error.h"

struct styles;

/* Reads path. *styles is NULL, and that is no error, where there is no such file. */
int styles_open(struct styles **styles, const char *path, struct error *err);
void styles_close(struct styles **styles); /* stores NULL; takes NULL */

int styles_count(const struct styles *styles); /* 0 for NULL */
const char *styles_name(const struct styles *styles, int index);
/* Whether text contains a phrase of any style or mood: whole words, upper and lower case alike.
 * True for NULL: a model without a list knows no wrong prompt. */
bool styles_match(const struct styles *styles, const char *text);

#endif
