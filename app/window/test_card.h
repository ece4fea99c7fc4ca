/* Draws a test card, on which corners are pinned and a projector is focused: a grid of squares, circles, the border of
 * the window, grey and colour bars, the four corners' numbers, and the name of the display with the size in pixels. The
 * processor draws it when one of these changes. */
#ifndef APP_WINDOW_TEST_CARD_H
#define APP_WINDOW_TEST_CARD_H

#include "unet/base/picture.h"

/* A test card. Initialise with zeros; only test_card.c writes the fields. */
struct test_card {
  struct SDL_Surface *surface; /* RGBA pixels; NULL: nothing was drawn yet */
  char name[96];
  int corner;
};

/* Draws the card for a window of this size in pixels. name: name of the display. corner: number of the corner that is
 * shown as chosen, from 1; 0: none. If the card has changed since the last call, returns true, and in *frame its
 * pixels, which are valid until the next call; otherwise returns false. If memory is short, nothing changes. */
bool test_card_update(struct test_card *card, const char *name, int width, int height, int corner, struct frame *frame);
void test_card_close(struct test_card *card); /* frees the pixels; the next test_card_update draws the card again */

#endif
