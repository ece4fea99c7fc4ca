/* Replaces qr.c in a build without libqrcodegen: no QR code can be made. */
#include "app/window/qr.h"

bool qr_make(struct qr *qr, const char *text) {
  (void)qr, (void)text;
  return false;
}
