/* styles.json of a model folder: what a model trained on a closed set of styles knows, and how it was trained.
 *
 * {"styles": {"oil": ["oil painting", "oil on canvas"], ...}, "moods": {"night": ["at night"], ...}}: name for people
 * -> phrases that mean it. "moods" may be missing, and so may
 *   "default": "photo"     the style that prompts which name none stand for
 *   "strength": "blend"    trained from pure noise alone: strength blends its picture with the input
 *   "guidance": false      trained for one prompt a picture: guidance spoils it */
#ifndef UNET_TEXT_STYLES_H
#define UNET_TEXT_STYLES_H

#include <stdbool.h>

#include "unet/base/error.h"

struct styles;

/* Reads path. *styles is NULL, and that is no error, where there is no such file. */
int styles_open(struct styles **styles, const char *path, struct error *err);
void styles_close(struct styles **styles); /* stores NULL; takes NULL */

int styles_count(const struct styles *styles); /* 0 for NULL */
const char *styles_name(const struct styles *styles, int index);
/* Whether text contains a phrase of any style or mood: whole words, upper and lower case alike.
 * True for NULL: a model without a list knows no wrong prompt. */
bool styles_match(const struct styles *styles, const char *text);

/* The name of the style that prompts which name none stand for; NULL: there is none. */
const char *styles_default(const struct styles *styles);
/* What is to be encoded for text, allocated; NULL when memory is short. Text that names a style, or nothing but a mood,
 * or nothing at all, is taken as it is. Other text, where there is a default style, becomes that style's first phrase,
 * followed by the moods that it names. */
char *styles_prompt(const struct styles *styles, const char *text);

bool styles_blends(const struct styles *styles);           /* "strength": "blend"; false for NULL */
bool styles_refuses_guidance(const struct styles *styles); /* "guidance": false; false for NULL */

#endif
