/* What a picture was made with, in the words that programs for still pictures have agreed on: the prompt, "Negative
 * prompt:", and a line of "Steps: 4, Sampler: LCM, CFG scale: 1, Seed: 7, Size: 512x512, Model: ...". */
#ifndef APP_CONTROL_PICTURE_WORDS_H
#define APP_CONTROL_PICTURE_WORDS_H

#include "app/control/parameters.h"

/* Of a picture of this size; model: its name. The prompt is the one that has the largest share. Allocated; NULL: no
 * memory. */
char *picture_words(const struct parameters *values, const char *model, int width, int height);

#endif
