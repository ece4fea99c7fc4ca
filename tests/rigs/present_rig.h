/* A window with SDL's offscreen driver, a present that draws in it, and pictures to draw. */
#ifndef TESTS_PRESENT_RIG_H
#define TESTS_PRESENT_RIG_H

#include "app/window/present.h"
#include "unet/base/picture.h"

enum { WIDTH = 96, HEIGHT = 64 };

/* Pixels of the drawable, from the top row to the bottom. */
typedef uint8_t canvas[HEIGHT][WIDTH][4];

extern struct present *present;
extern canvas shown; /* the pixels that draw has drawn */

/* present_rig_begin is called before all tests, and present_rig_end after them. false: no window can be opened, and the
 * reason was printed. */
bool present_rig_begin(void);
void present_rig_end(void);
/* Set-up and tear-down of each test for cmocka: a present that imports nothing. */
int present_rig_open(void **state);
int present_rig_close(void **state);

struct present_view plain_view(void);
void draw(const struct present_view *view);

/* Puts a new picture into the frame and releases the one that it had. */
void take_picture(struct frame *frame, enum pixel_format format, int width, int height);
/* Fill a picture with samples that are the same each time, or with zeros. */
void fill_random(struct frame *picture, enum pixel_format format, int width, int height);
void fill_dark(struct frame *picture, enum pixel_format format, int width, int height);
/* Returns a pixel of a PIXEL_RGBA frame. Outside the frame it is the nearest pixel at its edge. */
const uint8_t *pixel_of(const struct frame *picture, int x, int y);

#endif
