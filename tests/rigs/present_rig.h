/* Helpers for tests of drawing: a window of SDL's offscreen driver, a struct present that draws in it, and pictures to
 * draw. */
#ifndef TESTS_PRESENT_RIG_H
#define TESTS_PRESENT_RIG_H

#include "app/window/present.h"
#include "unet/base/picture.h"

enum { WIDTH = 96, HEIGHT = 64 };

/* RGBA pixels of the window, from the top row to the bottom. */
typedef uint8_t canvas[HEIGHT][WIDTH][4];

extern struct present *present;
extern canvas shown; /* the pixels that draw() has drawn last */

/* present_rig_begin must be called before all tests, and present_rig_end after them. It returns false if no window can
 * be opened, after printing why. */
bool present_rig_begin(void);
void present_rig_end(void);
/* Set-up and tear-down of each test for cmocka: open and close a present that cannot import memory of a GPU. */
int present_rig_open(void **state);
int present_rig_close(void **state);

struct present_view plain_view(void);
void draw(const struct present_view *view);

/* Releases the picture that *frame has, and puts a new one of this format and size into it. */
void take_picture(struct frame *frame, enum pixel_format format, int width, int height);
/* Put a new picture into *picture, with random samples that are the same each time, or with zeros. */
void fill_random(struct frame *picture, enum pixel_format format, int width, int height);
void fill_dark(struct frame *picture, enum pixel_format format, int width, int height);
/* Returns the address of a pixel of a PIXEL_RGBA frame. For a position outside the frame, this is the nearest pixel of
 * the frame. */
const uint8_t *pixel_of(const struct frame *picture, int x, int y);

#endif
