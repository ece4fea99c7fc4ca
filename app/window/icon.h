/* The program's icon, drawn by code: an eye whose iris has two colours, as in assets/reverie.svg. */
#ifndef APP_WINDOW_ICON_H
#define APP_WINDOW_ICON_H

#include <stdint.h>

enum { ICON_SIDE = 64 };

/* Draws the icon: ICON_SIDE by ICON_SIDE RGBA pixels, 4 bytes each, rows from top to bottom. */
void icon_draw(uint8_t *rgba);

#endif
