/* Colours of wider primaries than BT.709's (BT.2020, Display P3 and their kin) as colours of BT.709: made linear,
 * multiplied by a matrix, and made what they were. What BT.709 cannot show is cut off. HDR is left as it is. */
#ifndef APP_SOURCE_GAMUT_H
#define APP_SOURCE_GAMUT_H

#include <stdbool.h>
#include <stdint.h>

#include <libavcodec/avcodec.h>

enum {
  GAMUT_LINEAR = 1 << 14,     /* entries for codes of 16 bits */
  GAMUT_CODES = (24 << 8) + 1 /* entries for light from 2^-24 to 1, 256 each time it doubles */
};

/* Zero-initialise to start. */
struct gamut {
  enum AVColorPrimaries primaries;
  enum AVColorTransferCharacteristic transfer;
  float matrix[3][3];
  float linear[GAMUT_LINEAR];
  uint8_t codes[GAMUT_CODES];
};

/* Whether colours of such primaries are to be converted. */
bool gamut_is_wide(enum AVColorPrimaries primaries, enum AVColorTransferCharacteristic transfer);

/* Gets ready for such colours, which are wide. */
void gamut_prepare(struct gamut *gamut, enum AVColorPrimaries primaries, enum AVColorTransferCharacteristic transfer);

/* Converts pixels of red, green, blue and alpha in 16 bits each, of which the upper 8 are those of 8-bit pixels, to
 * such of 8 bits. Alpha stays. */
void gamut_convert_row(const struct gamut *gamut, const uint16_t *from, uint8_t *to, int width);

#endif
