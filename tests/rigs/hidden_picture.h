/* Frames like those of a GPU: the host's part of the picture is invalid until somebody waits for it. */
#ifndef TESTS_HIDDEN_PICTURE_H
#define TESTS_HIDDEN_PICTURE_H

#include "unet/base/picture.h"

/* Returns a copy of the frame with a hidden picture. Its other fields stay the same. */
struct frame hidden_copy(const struct frame *frame);
/* Replaces the frame by such a copy and releases the original. */
void hidden_replace(struct frame *frame);

#endif
