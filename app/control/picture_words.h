/* Describes how a picture was made, in the text format that web UIs such as AUTOMATIC1111's write into PNG files: the
 * prompt, a line "Negative prompt: ...", and a line of settings "Steps: 4, Sampler: LCM, CFG scale: 1, Seed: 7, Size:
 * 512x512, Model: ...". */
#ifndef APP_CONTROL_PICTURE_WORDS_H
#define APP_CONTROL_PICTURE_WORDS_H

#include "app/control/parameters.h"

/* Returns the description of a picture made with these values. model: the model's name; width and height: size of the
 * picture in pixels. If prompts are blended, the description contains the one with the largest weight. The caller
 * frees the text. NULL: out of memory. */
char *picture_words(const struct parameters *values, const char *model, int width, int height);

#endif
