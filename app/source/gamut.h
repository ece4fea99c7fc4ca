/* Converts colours with wider primaries than BT.709's (BT.2020, Display P3 and similar) to BT.709. Codes become linear
 * light, a matrix converts it to BT.709's primaries, and the result becomes codes again. Colours that BT.709 cannot
 * show are clipped. HDR is not converted. */
#ifndef APP_SOURCE_GAMUT_H
#define APP_SOURCE_GAMUT_H

#include <stdbool.h>
#include <stdint.h>

#include <libavcodec/avcodec.h>

enum {
  /* number of entries of the table from 16-bit codes to linear light, one for every four codes */
  GAMUT_LINEAR = 1 << 14,
  /* number of entries of the table from linear light (2^-24 to 1) to 8-bit codes, 256 for each doubling */
  GAMUT_CODES = (24 << 8) + 1
};

/* Tables for converting colours of one set of primaries and one transfer curve. Zero-initialise to start. */
struct gamut {
  enum AVColorPrimaries primaries;
  enum AVColorTransferCharacteristic transfer;
  float matrix[3][3];
  float linear[GAMUT_LINEAR];
  uint8_t codes[GAMUT_CODES];
};

/* True if colours with these primaries are to be converted; false for the transfer curves of HDR (PQ and HLG). */
bool gamut_is_wide(enum AVColorPrimaries primaries, enum AVColorTransferCharacteristic transfer);

/* Fills the tables for these primaries and this transfer curve (gamut_is_wide must be true for them). Does nothing if
 * they are already filled for these. */
void gamut_prepare(struct gamut *gamut, enum AVColorPrimaries primaries, enum AVColorTransferCharacteristic transfer);

/* Converts a row of `width` 16-bit RGBA pixels to 8-bit RGBA ones. The upper 8 bits of a 16-bit value are the value in
 * 8 bits. Alpha is not converted. */
void gamut_convert_row(const struct gamut *gamut, const uint16_t *from, uint8_t *to, int width);

#endif
