#include "app/window/code_panel.h"

#include <string.h>

#include "app/window/qr.h"

/* width of the light margin around a QR code, in modules (squares of the code); without the margin cameras do not find
 * the code */
enum { MARGIN = 4 };

static void draw_code(struct sheet *sheet, const struct qr *qr, int left, int top, int module) {
  const struct color light = {255, 255, 255, 255}, dark = {0, 0, 0, 255};
  int side = (qr->side + 2 * MARGIN) * module;
  sheet_fill(sheet, left, top, side, side, light);
  for (int row = 0; row < qr->side; row++)
    for (int column = 0; column < qr->side; column++)
      if (qr->dark[row][column])
        sheet_fill(sheet, left + (MARGIN + column) * module, top + (MARGIN + row) * module, module, module, dark);
}

void code_panel_draw(struct sheet *sheet, const struct typeface *face, const char *address, int width, int height) {
  const struct color ground = {24, 27, 33, 255};
  struct qr qr = {.side = 0};
  size_t length = strlen(address);
  int size = typeface_size(face), line = typeface_line(face), text_width = typeface_width(face, address, length);
  sheet->width = 0;
  if (!length)
    return;
  int room = (width < height ? width : height) * 7 / 10 - 2 * size - line;
  int module = qr_make(&qr, address) ? room / (qr.side + 2 * MARGIN) : 0;
  int side = module >= 2 ? (qr.side + 2 * MARGIN) * module : 0;
  int wide = side > text_width ? side : text_width;
  if (wide > width - 4 * size)
    wide = width - 4 * size;
  if (!sheet_begin(sheet, wide + 2 * size, side + line + 2 * size, ground))
    return;
  if (side)
    draw_code(sheet, &qr, size + (wide - side) / 2, size, module);
  int left = text_width < wide ? (wide - text_width) / 2 : 0;
  sheet_text(sheet, face, size + left, side + size * 3 / 2, (wide - left) / typeface_advance(face), TONE_PLAIN, address,
             length);
  sheet_end(sheet);
}
