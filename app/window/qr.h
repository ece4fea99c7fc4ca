/* QR codes: squares of dark and light modules that a phone's camera reads as text. */
#ifndef APP_WINDOW_QR_H
#define APP_WINDOW_QR_H

#include <stdbool.h>

/* QR_VERSION_MAX: largest version (a number that decides the size) of a QR code; it has room for 200 bytes of text. */
enum { QR_VERSION_MAX = 10, QR_SIDE_MAX = 4 * QR_VERSION_MAX + 17 };

struct qr {
  int side; /* number of modules in a row, and of rows, without the light margin around the code */
  bool dark[QR_SIDE_MAX][QR_SIDE_MAX]; /* [row][column]: true: the module is dark */
};

/* Makes the code of a text. Returns false if the text is too long, or if the program was built without libqrcodegen. */
bool qr_make(struct qr *qr, const char *text);

#endif
