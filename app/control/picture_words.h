/* Describes how a picture was made in the words that programs for still pictures share: the prompt, "Negative prompt:",
 * and a line of "Steps: 4, Sampler: LCM, CFG scale: 1, Seed: 7, Size: 512x512, Model: ...". */
#ifndef APP_CONTROL_PICTURE_WORDS_H
#define APP_CONTROL_PICTURE_WORDS_H

#include "app/control/parameters.h"

/* Returns the description of a picture of this size, made by the model of this name. Of a blend it names the prompt
 * with the largest share. The caller frees it. NULL: no memory. */
char *picture_words(const struct parameters *values, const char *model, int width, int height);

#endif
