/* styles.json of a model folder: the styles that a model was trained on, if these are a closed set, and how it was
 * trained.
 *
 * {"styles": {"oil": ["oil painting", "oil on canvas"], ...}, "moods": {"night": ["at night"], ...}}
 *
 * It maps names for people to the phrases that mean them. "moods" may be missing, and so may
 *   "default": "photo"     the style that is used for prompts which name none
 *   "strength": "blend"    trained from pure noise only: strength blends the model's picture with the input
 *   "guidance": false      trained with one prompt for each picture: guidance would spoil the pictures
 *   "lattice": 16          its texture repeats after so many pixels: see model_lattice */
#ifndef UNET_TEXT_STYLES_H
#define UNET_TEXT_STYLES_H

#include <stdbool.h>

#include "unet/base/error.h"

struct styles;

/* Reads the file. If there is no such file, this succeeds and *styles is NULL. The caller closes *styles. */
int styles_open(struct styles **styles, const char *path, struct error *err);
void styles_close(struct styles **styles); /* Frees the list. Stores NULL; takes NULL. */

int styles_count(const struct styles *styles); /* Returns the number of styles; 0 for NULL. */
const char *styles_name(const struct styles *styles, int index);
/* Returns true if the text contains a phrase of any style or mood, as whole words and ignoring case. Returns true for
 * NULL, because a model without a list accepts any prompt. */
bool styles_match(const struct styles *styles, const char *text);

/* Returns the name of the default style; NULL: there is none. */
const char *styles_default(const struct styles *styles);
/* Returns the prompt that is to be encoded for a text. The caller frees it. NULL: out of memory. A text that names a
 * style, consists of a mood alone, or is empty is returned unchanged. Any other text is replaced by the first phrase of
 * the default style, if there is one, followed by the moods that the text names. */
char *styles_prompt(const struct styles *styles, const char *text);

bool styles_blends(const struct styles *styles);           /* Returns true for "strength": "blend"; false for NULL. */
int styles_lattice(const struct styles *styles);           /* Returns "lattice"; 0 if it is missing, and for NULL. */
bool styles_refuses_guidance(const struct styles *styles); /* Returns true for "guidance": false; false for NULL. */

#endif
