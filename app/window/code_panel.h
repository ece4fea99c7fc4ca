/* Draws the panel that shows the address of the web page as a QR code, with the address as text below it. */
#ifndef APP_WINDOW_CODE_PANEL_H
#define APP_WINDOW_CODE_PANEL_H

#include "app/window/sheet.h"

/* Draws the panel into *sheet, for a window of this size in pixels. The QR code of the address is left out if it cannot
 * be made, or if its modules (squares) would be smaller than two pixels. The sheet is empty if `address` is "". */
void code_panel_draw(struct sheet *sheet, const struct typeface *face, const char *address, int width, int height);

#endif
