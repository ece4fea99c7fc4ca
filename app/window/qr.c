#include "app/window/qr.h"

#include <qrcodegen/qrcodegen.h>
#include <stdint.h>

bool qr_make(struct qr *qr, const char *text) {
  enum { BYTES = qrcodegen_BUFFER_LEN_FOR_VERSION(QR_VERSION_MAX) };
  uint8_t work[BYTES], code[BYTES];
  if (!qrcodegen_encodeText(text, work, code, qrcodegen_Ecc_MEDIUM, 1, QR_VERSION_MAX, qrcodegen_Mask_AUTO, true))
    return false;
  qr->side = qrcodegen_getSize(code);
  for (int row = 0; row < qr->side; row++)
    for (int column = 0; column < qr->side; column++)
      qr->dark[row][column] = qrcodegen_getModule(code, column, row);
  return true;
}
