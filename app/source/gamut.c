#include "app/source/gamut.h"

#include <math.h>
#include <string.h>

/* Bit patterns of the floats 1 and 2^-24; linear light below 2^-24 counts as black. */
static const uint32_t bits_of_one = 0x3f800000, bits_of_least = 0x33800000;
enum { BITS_DROPPED = 15, CODE_BITS_DROPPED = 2, WHITE = 255 << 8 };

struct chromaticities {
  double red[2], green[2], blue[2], white[2];
};

#define D65                                                                                                            \
  { 0.3127, 0.3290 }
#define ILLUMINANT_C                                                                                                   \
  { 0.310, 0.316 }

static const struct chromaticities bt709 = {{0.640, 0.330}, {0.300, 0.600}, {0.150, 0.060}, D65};

/* Primaries that are wider than BT.709's and are converted. The primaries of older television are not in the list,
 * because they are so close to BT.709's that nobody sees the difference. */
static const struct {
  enum AVColorPrimaries primaries;
  struct chromaticities at;
} wide[] = {
    {AVCOL_PRI_BT470M, {{0.670, 0.330}, {0.210, 0.710}, {0.140, 0.080}, ILLUMINANT_C}},
    {AVCOL_PRI_FILM, {{0.681, 0.319}, {0.243, 0.692}, {0.145, 0.049}, ILLUMINANT_C}},
    {AVCOL_PRI_BT2020, {{0.708, 0.292}, {0.170, 0.797}, {0.131, 0.046}, D65}},
    {AVCOL_PRI_SMPTE431, {{0.680, 0.320}, {0.265, 0.690}, {0.150, 0.060}, {0.314, 0.351}}},
    {AVCOL_PRI_SMPTE432, {{0.680, 0.320}, {0.265, 0.690}, {0.150, 0.060}, D65}},
};

static const struct chromaticities *find_wide(enum AVColorPrimaries primaries) {
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    if (wide[i].primaries == primaries)
      return &wide[i].at;
  return NULL;
}

bool gamut_is_wide(enum AVColorPrimaries primaries, enum AVColorTransferCharacteristic transfer) {
  return find_wide(primaries) && transfer != AVCOL_TRC_SMPTE2084 && transfer != AVCOL_TRC_ARIB_STD_B67;
}

/* --- matrices that convert linear light from one set of primaries to another --- */

typedef double matrix3[3][3];

static void multiply(matrix3 to, matrix3 a, matrix3 b) {
  matrix3 product;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      product[i][j] = a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j];
  memcpy(to, product, sizeof product);
}

static void invert(matrix3 to, matrix3 m) {
  double determinant = 0;
  matrix3 adjugate;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      adjugate[j][i] = m[(i + 1) % 3][(j + 1) % 3] * m[(i + 2) % 3][(j + 2) % 3] -
                       m[(i + 1) % 3][(j + 2) % 3] * m[(i + 2) % 3][(j + 1) % 3];
  for (int j = 0; j < 3; j++)
    determinant += m[0][j] * adjugate[j][0];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      to[i][j] = adjugate[i][j] / determinant;
}

/* Computes the XYZ of a colour with chromaticity `at` (x, y) and luminance Y = 1. */
static void find_xyz(double xyz[3], const double at[2]) {
  xyz[0] = at[0] / at[1];
  xyz[1] = 1;
  xyz[2] = (1 - at[0] - at[1]) / at[1];
}

static void transform(double to[3], matrix3 m, const double from[3]) {
  for (int i = 0; i < 3; i++)
    to[i] = m[i][0] * from[0] + m[i][1] * from[1] + m[i][2] * from[2];
}

/* Computes the matrix from linear R, G, B to XYZ. R = G = B = 1 is the white point with Y = 1. */
static void find_matrix(matrix3 to, const struct chromaticities *at) {
  const double *primary[3] = {at->red, at->green, at->blue};
  double white[3], weight[3];
  matrix3 inverse;
  for (int j = 0; j < 3; j++) {
    double xyz[3];
    find_xyz(xyz, primary[j]);
    for (int i = 0; i < 3; i++)
      to[i][j] = xyz[i];
  }
  find_xyz(white, at->white);
  invert(inverse, to);
  transform(weight, inverse, white);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      to[i][j] *= weight[j];
}

/* Computes the matrix that adapts XYZ colours from the white point `from` (x, y) to BT.709's, by Bradford's method. */
static void adapt_white(matrix3 to, const double from[2]) {
  static double bradford[3][3] = {{0.8951, 0.2664, -0.1614}, {-0.7502, 1.7135, 0.0367}, {0.0389, -0.0685, 1.0296}};
  double xyz[2][3], cones[2][3];
  matrix3 scale = {{0}}, inverse;
  find_xyz(xyz[0], from);
  find_xyz(xyz[1], bt709.white);
  for (int i = 0; i < 2; i++)
    transform(cones[i], bradford, xyz[i]);
  for (int i = 0; i < 3; i++)
    scale[i][i] = cones[1][i] / cones[0][i];
  invert(inverse, bradford);
  multiply(scale, scale, bradford);
  multiply(to, inverse, scale);
}

static void find_conversion(float to[3][3], const struct chromaticities *from) {
  matrix3 in, out, whites;
  find_matrix(in, from);
  adapt_white(whites, from->white);
  multiply(in, whites, in);
  find_matrix(out, &bt709);
  invert(out, out);
  multiply(out, out, in);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      to[i][j] = (float)out[i][j];
}

/* --- transfer curves between codes and linear light --- */

/* Returns the exponent of the display's transfer curve, which for video is that of BT.1886; 0: the curve is that of
 * sRGB. */
static double find_gamma(enum AVColorTransferCharacteristic transfer) {
  switch (transfer) {
  case AVCOL_TRC_IEC61966_2_1:
    return 0;
  case AVCOL_TRC_LINEAR:
    return 1;
  case AVCOL_TRC_GAMMA22:
    return 2.2;
  case AVCOL_TRC_GAMMA28:
    return 2.8;
  case AVCOL_TRC_SMPTE428:
    return 2.6;
  default:
    return 2.4;
  }
}

static double to_light(double code, double gamma) {
  if (gamma > 0)
    return pow(code, gamma);
  return code <= 0.04045 ? code / 12.92 : pow((code + 0.055) / 1.055, 2.4);
}

static double to_code(double light, double gamma) {
  if (gamma > 0)
    return pow(light, 1 / gamma);
  return light <= 0.0031308 ? light * 12.92 : 1.055 * pow(light, 1 / 2.4) - 0.055;
}

static float light_of_bits(uint32_t bits) {
  float light;
  memcpy(&light, &bits, sizeof light);
  return light;
}

void gamut_prepare(struct gamut *gamut, enum AVColorPrimaries primaries, enum AVColorTransferCharacteristic transfer) {
  if (gamut->primaries == primaries && gamut->transfer == transfer)
    return;
  gamut->primaries = primaries;
  gamut->transfer = transfer;
  double gamma = find_gamma(transfer);
  find_conversion(gamut->matrix, find_wide(primaries));
  for (int i = 0; i < GAMUT_LINEAR; i++)
    gamut->linear[i] =
        (float)to_light(((i << CODE_BITS_DROPPED) + 0.5 * ((1 << CODE_BITS_DROPPED) - 1)) / WHITE, gamma);
  for (uint32_t i = 0; i < GAMUT_CODES; i++) {
    double light = light_of_bits(bits_of_least + (i << BITS_DROPPED) + (1u << (BITS_DROPPED - 1)));
    gamut->codes[i] = (uint8_t)lrint(255 * fmin(to_code(light, gamma), 1));
  }
}

/* Returns the 8-bit code for linear light. The table is indexed by the leading bits of the float, so that dark colours
 * have as many steps as bright ones. */
static inline uint8_t code_of(const struct gamut *gamut, float light) {
  uint32_t bits;
  if (!(light >= 0x1p-24f))
    return gamut->codes[0];
  memcpy(&bits, &light, sizeof bits);
  return gamut->codes[((bits < bits_of_one ? bits : bits_of_one) - bits_of_least) >> BITS_DROPPED];
}

void gamut_convert_row(const struct gamut *gamut, const uint16_t *from, uint8_t *to, int width) {
  const float(*m)[3] = gamut->matrix;
  for (int x = 0; x < width; x++, from += 4, to += 4) {
    float r = gamut->linear[from[0] >> CODE_BITS_DROPPED], g = gamut->linear[from[1] >> CODE_BITS_DROPPED],
          b = gamut->linear[from[2] >> CODE_BITS_DROPPED];
    for (int i = 0; i < 3; i++)
      to[i] = code_of(gamut, m[i][0] * r + m[i][1] * g + m[i][2] * b);
    to[3] = (uint8_t)(from[3] >> 8);
  }
}
