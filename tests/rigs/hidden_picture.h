/* Frames as a GPU makes them: the host's part of the picture is poison until somebody waits for it. */
#ifndef TESTS_HIDDEN_PICTURE_H
#define TESTS_HIDDEN_PICTURE_H

#include "unet/base/picture.h"

/* Another frame with these pixels, hidden. What it says beside them stays. */
struct frame hidden_copy(const struct frame *frame);
/* The same in the place of the frame, which is released. */
void hidden_replace(struct frame *frame);

#endif
