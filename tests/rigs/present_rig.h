/* A window on SDL's offscreen driver, what draws in it, and pictures to be drawn. */
#ifndef TESTS_PRESENT_RIG_H
#define TESTS_PRESENT_RIG_H

#include "app/window/present.h"
#include "unet/base/picture.h"

enum { WIDTH = 96, HEIGHT = 64 };

/* The drawable's pixels, top row first. */
typedef uint8_t canvas[HEIGHT][WIDTH][4];

extern struct present *present;
extern canvas shown; /* by draw */

/* Before all tests, and after them. false: no window can be opened, which is printed. */
bool present_rig_begin(void);
void present_rig_end(void);
/* For cmocka, around each: a present that imports nothing. */
int present_rig_open(void **state);
int present_rig_close(void **state);

struct present_view plain_view(void);
void draw(const struct present_view *view);

/* In the place of what the frame held. */
void take_picture(struct frame *frame, enum pixel_format format, int width, int height);
/* The same samples each time; zeros. */
void fill_random(struct frame *picture, enum pixel_format format, int width, int height);
void fill_dark(struct frame *picture, enum pixel_format format, int width, int height);
/* Of PIXEL_RGBA, or else the nearest one at its edge. */
const uint8_t *pixel_of(const struct frame *picture, int x, int y);

#endif
