/* Replaces qr.c in a build without libqrcodegen: there are no codes. */
#include "app/window/qr.h"

bool qr_make(struct qr *qr, const char *text) {
  (void)qr, (void)text;
  return false;
}
