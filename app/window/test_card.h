/* Draws a test card, with which the user pins the picture's corners to a surface and focuses the projector. It shows a
 * grid of squares, circles, the window's border, grey and colour bars, the four corners' numbers, and the display's
 * name with the size in pixels. The processor draws it again only when name, size or selected corner change. */
#ifndef APP_WINDOW_TEST_CARD_H
#define APP_WINDOW_TEST_CARD_H

#include "unet/base/picture.h"

/* A test card. Initialise with zeros; only test_card.c writes the fields. */
struct test_card {
  struct SDL_Surface *surface; /* RGBA pixels; NULL: nothing was drawn yet */
  char name[96];
  int corner;
};

/* Draws the card for a window of this size in pixels. name: name of the display. corner: number of the selected corner,
 * from 1; 0: none. If the card has changed since the last call, returns true and stores its pixels in *frame, valid
 * until the next call; otherwise returns false. If memory is short, nothing changes. */
bool test_card_update(struct test_card *card, const char *name, int width, int height, int corner, struct frame *frame);
void test_card_close(struct test_card *card); /* frees the pixels; the next test_card_update draws the card again */

#endif
