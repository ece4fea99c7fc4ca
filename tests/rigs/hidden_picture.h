/* Frames like those that a GPU makes: the pixels in host memory are invalid until somebody waits for the picture. */
#ifndef TESTS_HIDDEN_PICTURE_H
#define TESTS_HIDDEN_PICTURE_H

#include "unet/base/picture.h"

/* Returns a copy of the frame whose picture is hidden in this way. Its other fields are the same. */
struct frame hidden_copy(const struct frame *frame);
/* Replaces the frame by its hidden_copy and releases the original. */
void hidden_replace(struct frame *frame);

#endif
