/* Tests colours of wider primaries, and colour information in files. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <libavformat/avformat.h>
#include <libavutil/dovi_meta.h>

#include "app/source/exif.h"
#include "app/source/exr.h"
#include "app/source/gamut.h"
#include "app/source/left_out.h"

static struct gamut gamut;

static void convert(const int from[3], uint8_t to[4]) {
  const uint16_t pixel[4] = {(uint16_t)(from[0] << 8), (uint16_t)(from[1] << 8), (uint16_t)(from[2] << 8), 77 << 8};
  gamut_convert_row(&gamut, pixel, to, 1);
  assert_int_equal(to[3], 77);
}

/* Converts as FFmpeg's zscale does: with BT.1886 for transfer functions of video, with sRGB's for that of sRGB. */
static void test_wide_primaries(void **state) {
  (void)state;
  static const struct {
    enum AVColorPrimaries primaries;
    enum AVColorTransferCharacteristic transfer;
    int from[3], to[3];
  } cases[] = {
      {AVCOL_PRI_BT2020, AVCOL_TRC_BT709, {167, 83, 52}, {200, 60, 40}},
      {AVCOL_PRI_BT2020, AVCOL_TRC_BT2020_10, {167, 83, 52}, {200, 60, 40}},
      {AVCOL_PRI_BT2020, AVCOL_TRC_UNSPECIFIED, {0, 255, 0}, {0, 255, 0}},
      {AVCOL_PRI_SMPTE432, AVCOL_TRC_BT709, {185, 72, 52}, {200, 60, 40}},
      {AVCOL_PRI_SMPTE432, AVCOL_TRC_IEC61966_2_1, {185, 71, 50}, {200, 60, 40}},
      {AVCOL_PRI_SMPTE431, AVCOL_TRC_BT709, {189, 73, 52}, {200, 60, 40}},
  };
  uint8_t to[4];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    assert_true(gamut_is_wide(cases[i].primaries, cases[i].transfer));
    gamut_prepare(&gamut, cases[i].primaries, cases[i].transfer);
    convert(cases[i].from, to);
    for (int j = 0; j < 3; j++)
      if (abs(to[j] - cases[i].to[j]) > 2)
        fail_msg("case %zu: %d %d %d, not %d %d %d", i, to[0], to[1], to[2], cases[i].to[0], cases[i].to[1],
                 cases[i].to[2]);
    for (int grey = 0; grey < 256; grey++) { /* the white point is the same in BT.709, so greys stay greys */
      convert((const int[3]){grey, grey, grey}, to);
      if (abs(to[0] - grey) > 1 || abs(to[1] - grey) > 1 || abs(to[2] - grey) > 1)
        fail_msg("case %zu: grey %d becomes %d %d %d", i, grey, to[0], to[1], to[2]);
    }
  }
}

static void test_what_is_not_wide(void **state) {
  (void)state;
  assert_false(gamut_is_wide(AVCOL_PRI_BT709, AVCOL_TRC_BT709));
  assert_false(gamut_is_wide(AVCOL_PRI_UNSPECIFIED, AVCOL_TRC_UNSPECIFIED));
  assert_false(gamut_is_wide(AVCOL_PRI_SMPTE170M, AVCOL_TRC_SMPTE170M));
  assert_false(gamut_is_wide(AVCOL_PRI_BT2020, AVCOL_TRC_SMPTE2084)); /* HDR is not converted by this function */
  assert_false(gamut_is_wide(AVCOL_PRI_BT2020, AVCOL_TRC_ARIB_STD_B67));
}

/* --- lines --- */

static char said[512];
static int lines;

static void hear(void *opaque, enum log_level level, const char *line) {
  (void)opaque;
  (void)level;
  snprintf(said, sizeof said, "%s", line);
  lines++;
}

static void expect_line(AVStream *video, int profile, int compatible, enum AVColorTransferCharacteristic transfer,
                        const char *wanted) {
  const struct log log = {.line = hear};
  AVDOVIDecoderConfigurationRecord dolby = {.dv_profile = (uint8_t)profile,
                                            .dv_bl_signal_compatibility_id = (uint8_t)compatible};
  lines = 0;
  *said = 0;
  video->codecpar->color_trc = transfer;
  if (profile)
    memcpy(av_stream_new_side_data(video, AV_PKT_DATA_DOVI_CONF, sizeof dolby), &dolby, sizeof dolby);
  left_out_tell_video(video, "film", false, "", &log);
  assert_int_equal(lines, wanted ? 1 : 0);
  if (wanted && !strstr(said, wanted))
    fail_msg("%s", said);
}

/* Dolby Vision with a base layer in HDR10 or HLG is described as that. */
static void test_dolby_vision(void **state) {
  (void)state;
  AVFormatContext *film = avformat_alloc_context();
  AVStream *video = avformat_new_stream(film, NULL);
  const struct log log = {.line = hear};
  expect_line(video, 0, 0, AVCOL_TRC_BT709, NULL);
  expect_line(video, 0, 0, AVCOL_TRC_SMPTE2084, "HDR video is taken without tone mapping");
  expect_line(video, 5, 0, AVCOL_TRC_UNSPECIFIED, "Dolby Vision profile 5");
  expect_line(video, 5, 0, AVCOL_TRC_SMPTE2084, "Dolby Vision profile 5");
  expect_line(video, 10, 0, AVCOL_TRC_UNSPECIFIED, "Dolby Vision profile 10");
  expect_line(video, 8, 1, AVCOL_TRC_SMPTE2084, "HDR video");
  expect_line(video, 8, 4, AVCOL_TRC_ARIB_STD_B67, "HDR video");
  expect_line(video, 8, 2, AVCOL_TRC_BT709, NULL);
  lines = 0;
  video->codecpar->color_trc = AVCOL_TRC_SMPTE2084;
  left_out_tell_video(video, "film", true, "", &log);
  assert_true(lines == 1 && strstr(said, "HDR video is mapped to SDR"));
  avformat_free_context(film);
}

/* --- colour information in files --- */

/* Random bytes never cause a read outside of them. */
static void test_bytes_of_any_kind(void **state) {
  (void)state;
  static const enum AVCodecID codecs[] = {AV_CODEC_ID_MJPEG, AV_CODEC_ID_PNG, AV_CODEC_ID_WEBP, AV_CODEC_ID_TIFF};
#define WHOLE(text)                                                                                                    \
  { text, sizeof text - 1 }
  static const struct {
    const char *bytes;
    size_t size;
  } begins[] = {WHOLE("\xff\xd8\xff\xe1\0\x22"
                      "Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"),
                WHOLE("\x89PNG\r\n\x1a\n\0\0\0\x1a"
                      "eXIfII*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"),
                WHOLE("RIFF\0\0\0\0WEBPEXIF\x1a\0\0\0"
                      "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"),
                WHOLE("II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0")};
#undef WHOLE
  for (int kind = 0; kind < 4; kind++) {
    assert_int_equal(exif_orientation(codecs[kind], (const uint8_t *)begins[kind].bytes, begins[kind].size), 6);
    for (int i = 0; i < 20000; i++) {
      size_t size = (size_t)(rand() % 48);
      uint8_t *bytes = malloc(size + 1);
      for (size_t j = 0; j < size; j++)
        bytes[j] = j < begins[kind].size && rand() % 16 ? (uint8_t)begins[kind].bytes[j] : (uint8_t)rand();
      int orientation = exif_orientation(codecs[kind], bytes, size);
      assert_true(orientation == 0 || (orientation >= 2 && orientation <= 8));
      exr_is_whole(bytes, size);
      free(bytes);
    }
  }
}

/* An OpenEXR header of two attributes, a table of offsets of two blocks, and the blocks. */
static void test_exr(void **state) {
  (void)state;
  uint8_t exr[256] = {0x76, 0x2f, 0x31, 0x01, 2};
  size_t at = 8;
  memcpy(exr + at, "compression\0compression\0\1\0\0\0\3", 29);
  at += 29;
  memcpy(exr + at, "dataWindow\0box2i\0\x10\0\0\0\0\0\0\0\0\0\0\0\7\0\0\0\x1f\0\0\0", 37);
  at += 37 + 1; /* 32 rows, 16 in a block */
  exr[at] = (uint8_t)(at + 16);
  exr[at + 8] = (uint8_t)(at + 16 + 12);
  size_t end = at + 16 + 24;
  exr[at + 16 + 4] = exr[at + 28 + 4] = 4;
  assert_true(exr_is_whole(exr, end));
  for (size_t size = 0; size < end; size++)
    assert_false(exr_is_whole(exr, size));
  exr[5] = 2; /* this file is stored as tiles */
  assert_true(exr_is_whole(exr, end - 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wide_primaries),
      cmocka_unit_test(test_what_is_not_wide),
      cmocka_unit_test(test_dolby_vision),
      cmocka_unit_test(test_bytes_of_any_kind),
      cmocka_unit_test(test_exr),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
