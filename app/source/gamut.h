/* Converts colours of wider primaries (BT.2020, Display P3 and similar) to BT.709: to linear light, by a matrix, and
 * back to codes. Colours that BT.709 cannot show are clipped. HDR is not converted. */
#ifndef APP_SOURCE_GAMUT_H
#define APP_SOURCE_GAMUT_H

#include <stdbool.h>
#include <stdint.h>

#include <libavcodec/avcodec.h>

enum {
  GAMUT_LINEAR = 1 << 14,     /* entries for 16-bit codes, one for every four */
  GAMUT_CODES = (24 << 8) + 1 /* entries for linear light from 2^-24 to 1, 256 for each doubling */
};

/* Tables of one conversion. Zero-initialise to start. */
struct gamut {
  enum AVColorPrimaries primaries;
  enum AVColorTransferCharacteristic transfer;
  float matrix[3][3];
  float linear[GAMUT_LINEAR];
  uint8_t codes[GAMUT_CODES];
};

/* True if colours of these primaries are to be converted. */
bool gamut_is_wide(enum AVColorPrimaries primaries, enum AVColorTransferCharacteristic transfer);

/* Fills the tables for these primaries and this transfer curve (gamut_is_wide must be true for them). Does nothing if
 * they are filled for the same already. */
void gamut_prepare(struct gamut *gamut, enum AVColorPrimaries primaries, enum AVColorTransferCharacteristic transfer);

/* Converts a row of `width` 16-bit RGBA pixels to 8-bit RGBA ones. The upper 8 bits of a 16-bit value are the value in
 * 8 bits. Alpha is not converted. */
void gamut_convert_row(const struct gamut *gamut, const uint16_t *from, uint8_t *to, int width);

#endif
