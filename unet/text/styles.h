/* styles.json of a model folder: the styles that a model was trained on, if these are a closed set, and how it was
 * trained.
 *
 *   {"styles": {"oil": ["oil painting", "oil on canvas"], ...}, "moods": {"night": ["at night"], ...}}
 *
 * It maps each style's name to the phrases of a prompt that mean this style. "moods" lists, in the same form,
 * phrases that a prompt may have besides a style. "moods" may be missing, and so may
 *
 *   "default": "photo"     the style that is used for prompts which name none
 *   "strength": "blend"    trained from pure noise only: strength blends the model's picture with the input
 *   "guidance": false      trained with one prompt for each picture: guidance would spoil the pictures
 *   "lattice": 16          a frame shifted by multiples of so many pixels becomes the same picture, shifted
 *   "detail": {"photo": 0.5}   for some styles, how much of the input's fine detail, 0 to 1, their pictures get unless
 *                              the user says otherwise */
#ifndef UNET_TEXT_STYLES_H
#define UNET_TEXT_STYLES_H

#include <stdbool.h>

#include "unet/base/error.h"

struct styles;

/* Reads styles.json. If there is no such file, this succeeds and *styles is NULL. The caller closes *styles. Returns 0,
 * or -1 with err. */
int styles_open(struct styles **styles, const char *path, struct error *err);
void styles_close(struct styles **styles); /* Frees the list. *styles becomes NULL; does nothing if it is NULL. */

int styles_count(const struct styles *styles); /* Returns the number of styles; 0 for NULL. */
const char *styles_name(const struct styles *styles, int index);
/* Returns true if the text contains a phrase of any style or mood, as whole words and ignoring case. Returns true for
 * NULL, because a model without a list accepts any prompt. */
bool styles_match(const struct styles *styles, const char *text);

/* Returns the name of the style that is used for prompts which name none; NULL: the model has no such style. */
const char *styles_default(const struct styles *styles);
/* Returns the prompt that is to be encoded for a text. The caller frees it. NULL: out of memory. Moods are phrases,
 * such as "at night", that a prompt may have besides a style. The text is returned unchanged if it names a style,
 * consists of a mood alone, or is empty. Otherwise the result is the first phrase of the default style, if there is
 * one, followed by the moods that the text names. */
char *styles_prompt(const struct styles *styles, const char *text);

/* Returns how much of the input's fine detail (0 to 1) suits pictures of a prompt that styles_prompt has returned. The
 * file gives a value for each style; styles without a value count as 0. If the prompt names several styles, the
 * smallest value is used; if it names none, that of the default style. The result is 0 if styles is NULL. */
float styles_detail(const struct styles *styles, const char *prompt);
/* Returns the value in "detail" for style `index`; 0: there is none. */
float styles_detail_of(const struct styles *styles, int index);

/* Returns true if the file has "strength": "blend", which means that the model was trained from pure noise only, so
 * that strength must blend its picture with the input. Returns false for NULL. */
bool styles_blends(const struct styles *styles);
/* Returns the number n in "lattice": a frame that is shifted by a multiple of n pixels becomes the same picture,
 * shifted. Returns 0 if the field is missing, and for NULL. */
int styles_lattice(const struct styles *styles);
/* Returns true if the file has "guidance": false, which means that guidance would spoil the model's pictures; false for
 * NULL. */
bool styles_refuses_guidance(const struct styles *styles);

#endif
